/*
 * mpi_test.h - what the programs of tests/mpi share: checks that name their line, and end the job.
 */
#ifndef WEFT_TESTS_MPI_TEST_H
#define WEFT_TESTS_MPI_TEST_H

#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In MPI_COMM_WORLD, for all files of a program. */
__attribute__((weak, visibility("hidden"))) int rank, size;

/* The types of counts, and of displacements and offsets. */
#ifdef LARGE_COUNTS
typedef MPI_Count count_t;
typedef MPI_Aint place_t;
#else
typedef int count_t, place_t;
#endif

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: process %d of %d: not true: %s\n", __FILE__, __LINE__, rank,   \
                    size, #condition);                                                             \
            MPI_Abort(MPI_COMM_WORLD, 1);                                                          \
        }                                                                                          \
    } while (0)

/* An error that is returned. */
#define FAILS(error_class, call) CHECK((call) == (error_class))

static inline void begin(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

/* Numbers that both ends of a message can make. */
static inline uint32_t mix(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t x = a * 2654435761u ^ b * 2246822519u ^ c * 3266489917u;

    x ^= x >> 15;
    x *= 2246822519u;
    return x ^ x >> 13;
}

/* on_device.c, in programs that have it. */
extern void on_device_block(void *memory, size_t bytes) __attribute__((weak));

static inline void *memory(size_t bytes)
{
    void *memory = malloc(bytes + 1);

    CHECK(memory != NULL);
    if (on_device_block != NULL)
        on_device_block(memory, bytes + 1);
    return memory;
}

#endif
