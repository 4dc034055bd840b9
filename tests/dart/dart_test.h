/*
 * dart_test.h - what the programs of tests/dart share: checks that name their line and are counted,
 * and main, which calls run(). Included behind the interface of DART that the program uses. A check
 * that fails ends the process, and so the job.
 */
#ifndef WEFT_TESTS_DART_TEST_H
#define WEFT_TESTS_DART_TEST_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static dart_unit_t unit;
static int units = 1;
static unsigned checks;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: unit %d of %d: not true: %s\n", __FILE__, __LINE__, unit,      \
                    units, #condition);                                                            \
            _exit(1);                                                                              \
        }                                                                                          \
        __atomic_fetch_add(&checks, 1, __ATOMIC_RELAXED);                                          \
    } while (0)

/* The call returns that code, and no other. */
#define CODE(code, call)                                                                           \
    do {                                                                                           \
        const dart_ret_t code_got = (call);                                                        \
        if (code_got != (code)) {                                                                  \
            fprintf(stderr, "%s:%d: unit %d of %d: %s: %d, not %s\n", __FILE__, __LINE__, unit,    \
                    units, #call, (int)code_got, #code);                                           \
            _exit(1);                                                                              \
        }                                                                                          \
        __atomic_fetch_add(&checks, 1, __ATOMIC_RELAXED);                                          \
    } while (0)
#define GOOD(call) CODE(DART_OK, call)
/* The call is refused, which says a line on stderr. */
#define BAD(call) CODE(DART_ERR_INVAL, call)

/* Whether this unit's memory is a GPU's (weftrun --units), which the program cannot load from. */
__attribute__((unused)) static bool on_gpu(void)
{
    const char *const device = getenv("WEFT_DEVICE");

    return device != NULL && strcmp(device, "cuda") == 0;
}

static void run(void);

int main(int argc, char **argv)
{
    size_t size;

    GOOD(dart_init(&argc, &argv));
#ifdef DART_2014_H
    GOOD(dart_myid(&unit));
#else
    dart_global_unit_t me;
    GOOD(dart_myid(&me));
    unit = me.id;
#endif
    GOOD(dart_size(&size));
    units = (int)size;
    run();
    GOOD(dart_barrier(DART_TEAM_ALL));
    GOOD(dart_exit());
    if (unit == 0)
        printf("%s: %d units, %u checks in each passed\n", strrchr(argv[0], '/') + 1, units,
               checks);
    return 0;
}

#endif
