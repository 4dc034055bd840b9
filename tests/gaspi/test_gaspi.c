/*
 * tests/gaspi/test_gaspi.c - every procedure of GASPI with its errors, on any number of processes:
 * cases of this folder, one after the other.
 */
#include "gaspi_test.h"

gaspi_rank_t rank, ranks = 1;
unsigned checks;

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"configuration", configuration},
        {"segments", segments},
        {"transfers", transfers},
        {"no_bytes", no_bytes},
        {"notifications", notifications},
        {"order", order},
        {"queues", queues},
        {"behind_a_barrier", behind_a_barrier},
        {"lists", lists},
        {"collectives", collectives},
        {"groups", groups},
        {"two_threads", two_threads},
        {"passive", passive},
        {"atomics", atomics},
        {"statistics", statistics},
        {"texts", texts},
        {"threads", threads},
        {"no_time", no_time},
        {"made_and_deleted", made_and_deleted},
        {"passive_threads", passive_threads},
        {"at_the_bounds", at_the_bounds},
    };
    gaspi_config_t config;

    configuration_before();
    GOOD(gaspi_proc_init(GASPI_BLOCK));
    GOOD(gaspi_proc_rank(&rank));
    GOOD(gaspi_proc_num(&ranks));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (argc > 1 && strcmp(argv[1], cases[i].name) != 0)
            continue;
        cases[i].run();
        barrier();
    }
    GOOD(gaspi_proc_term(GASPI_BLOCK));
    closed();
    /* And once more, with nothing of before. */
    GOOD(gaspi_proc_init(GASPI_BLOCK));
    barrier();
    queues();
    segments();
    GOOD(gaspi_proc_term(GASPI_BLOCK));
    closed();
    GOOD(gaspi_config_get(&config));
    config.queue_size_max = 1;
    GOOD(gaspi_config_set(config));
    GOOD(gaspi_proc_init(GASPI_BLOCK));
    small_queues();
    GOOD(gaspi_proc_term(GASPI_BLOCK));
    if (rank == 0)
        printf("GASPI on %d processes: %u checks in each passed\n", ranks, checks);
    return 0;
}
