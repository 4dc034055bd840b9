/*
 * test_app_local [--seeds FIRST:COUNT] --local N ARGS... - a case study whose processes are threads
 * of one address space, where ThreadSanitizer sees all of them, or, with seeds, fibers on
 * repeatable random schedules, where a store arrives as late as the orders in the code allow. ARGS
 * are the program's own; it is linked with its main renamed.
 */
#include <weft/weft.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int app_main(int argc, char **argv);

struct command {
    int argc;
    char **argv;
};

/* One process; the program may change its arguments. */
static int run_process(void *argument)
{
    const struct command *command = argument;
    char **argv = malloc(((size_t)command->argc + 1) * sizeof(*argv));
    if (argv == NULL)
        return EXIT_FAILURE;
    memcpy(argv, command->argv, ((size_t)command->argc + 1) * sizeof(*argv));
    const int result = app_main(command->argc, argv);
    free(argv);
    return result;
}

static int run_seeds(unsigned long long first, unsigned long long count, int processes,
                     struct command *command)
{
    for (unsigned long long seed = first; seed < first + count; seed++) {
        char schedule[64];
        snprintf(schedule, sizeof(schedule), "random:%llu", seed);
        if (setenv("WEFT_CPU_SCHEDULE", schedule, 1) != 0 ||
            weft_local_job(processes, run_process, command) != 0) {
            fprintf(stderr, "FAILED with seed %llu: repeat with --seeds %llu:1\n", seed, seed);
            return EXIT_FAILURE;
        }
    }
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    unsigned long long first = 0, count = 0;
    int processes = 0, at = 1;

    if (at + 1 < argc && strcmp(argv[at], "--seeds") == 0) {
        if (sscanf(argv[at + 1], "%llu:%llu", &first, &count) != 2 || count == 0)
            at = argc;
        at += 2;
    }
    if (at + 1 < argc && strcmp(argv[at], "--local") == 0 &&
        sscanf(argv[at + 1], "%d", &processes) != 1)
        processes = 0;
    if (processes < 1) {
        fprintf(stderr, "usage: %s [--seeds FIRST:COUNT] --local N ARGS...\n", argv[0]);
        return EXIT_FAILURE;
    }
    at++; /* N's place is the program's name */
    struct command command = {argc - at, argv + at};
    /* A test never hangs, unless the caller says otherwise. */
    if (setenv("WEFT_TIMEOUT_S", "120", 0) != 0)
        return EXIT_FAILURE;
    return count > 0 ? run_seeds(first, count, processes, &command)
                     : weft_local_job(processes, run_process, &command);
}
