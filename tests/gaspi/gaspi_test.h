/*
 * gaspi_test.h - what the programs of tests/gaspi share: checks that name their line and are
 * counted. A check that fails ends the process, and so the job.
 */
#ifndef WEFT_TESTS_GASPI_TEST_H
#define WEFT_TESTS_GASPI_TEST_H

#include <GASPI.h>
#include <GASPI_Ext.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern gaspi_rank_t rank, ranks;
extern unsigned checks;

enum { IDS = 131072, GROUPS = 255 }; /* notifications of a segment, and groups, of test_gaspi */

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: rank %d of %d: not true: %s\n", __FILE__, __LINE__, rank,      \
                    ranks, #condition);                                                            \
            _exit(1);                                                                              \
        }                                                                                          \
        __atomic_fetch_add(&checks, 1, __ATOMIC_RELAXED);                                          \
    } while (0)

/* The call returns that code, and no other. */
#define CODE(code, call)                                                                           \
    do {                                                                                           \
        const gaspi_return_t got = (call);                                                         \
        if (got != (code)) {                                                                       \
            fprintf(stderr, "%s:%d: rank %d of %d: %s: %d (%s), not %s\n", __FILE__, __LINE__,     \
                    rank, ranks, #call, got, gaspi_error_str(got), #code);                         \
            _exit(1);                                                                              \
        }                                                                                          \
        __atomic_fetch_add(&checks, 1, __ATOMIC_RELAXED);                                          \
    } while (0)
#define GOOD(call) CODE(GASPI_SUCCESS, call)

static inline gaspi_rank_t after(gaspi_rank_t of)
{
    return (gaspi_rank_t)((of + 1) % ranks);
}
static inline gaspi_rank_t before(gaspi_rank_t of)
{
    return (gaspi_rank_t)((of + ranks - 1) % ranks);
}

static inline void barrier(void)
{
    GOOD(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK));
}

/* The segment of all, and its memory. */
static inline void *segment(gaspi_segment_id_t id, gaspi_size_t bytes)
{
    gaspi_pointer_t memory;

    GOOD(gaspi_segment_create(id, bytes, GASPI_GROUP_ALL, GASPI_BLOCK, GASPI_MEM_INITIALIZED));
    GOOD(gaspi_segment_ptr(id, &memory));
    return memory;
}
/* When all are done with it. */
static inline void drop(gaspi_segment_id_t id)
{
    barrier();
    GOOD(gaspi_segment_delete(id));
    barrier();
}

/* Waits for that one notification; its value. */
static inline gaspi_notification_t await(gaspi_segment_id_t id,
                                         gaspi_notification_id_t notification)
{
    gaspi_notification_id_t found;
    gaspi_notification_t value;

    GOOD(gaspi_notify_waitsome(id, notification, 1, &found, GASPI_BLOCK));
    CHECK(found == notification);
    GOOD(gaspi_notify_reset(id, notification, &value));
    return value;
}

/* One case a function; the list is in test_gaspi.c. */
void configuration_before(void);
void configuration(void);
void segments(void);
void transfers(void);
void no_bytes(void);
void notifications(void);
void order(void);
void queues(void);
void small_queues(void);
void behind_a_barrier(void);
void lists(void);
void collectives(void);
void groups(void);
void two_threads(void);
void passive(void);
void atomics(void);
void statistics(void);
void texts(void);
void threads(void);
void no_time(void);
void made_and_deleted(void);
void passive_threads(void);
void at_the_bounds(void);
void closed(void);

#endif
