/* support/error_cases.c - see the header. */
#include "support/error_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char present[] = "a process of the job is here";
static const char on_cpu[] = ", on a CPU";
static int (*body_of)(struct test_env *env);

int error_case_find(const struct test_env *env, const struct error_row *cases, int count)
{
    int number = 0;

    while (number < count && (env->only == NULL || strcmp(cases[number].name, env->only) != 0))
        number++;
    return number;
}

void error_case_expect(struct test_env *env, const struct error_row *error)
{
    env->expect = error->status;
    fprintf(stderr, "%s%s\n", present,
            weft_process_kind(env->job, env->numbers->process) == WEFT_KIND_CPU ? on_cpu : "");
}

int error_case_run(struct test_env *env, const weft_kernel *kernel, const struct error_row *cases,
                   int count, size_t bytes)
{
    struct error_data data = {.number = (uint32_t)error_case_find(env, cases, count)};

    if (data.number == (uint32_t)count || !test_prepare(env, kernel))
        return TEST_FAILED;
    data.memory = test_memory(env, TEST_MAPPED, (size_t)env->numbers->ranks_here * bytes);
    error_case_expect(env, &cases[data.number]);
    test_run(env, &data, sizeof(data));
    TEST_EQ(env, data.returned, 0);
    return TEST_PASSED;
}

static int child(int argc, char **argv)
{
    return test_main(argc, argv, body_of);
}

/*
 * If the error names a rank, which runs on a CPU in a process of this child, the rank's place in
 * the program follows.
 */
static bool is_placed(const struct error_row *error, const char *text)
{
    char start[64];
    const char *const names[] = {start, NULL}, *const cpus[] = {present, on_cpu, NULL};
    const char *const places[] = {" at ", "/test_", ".c:", NULL}, *const here[] = {present, NULL};

    snprintf(start, sizeof(start), "%s: rank ", weft_status_name(error->status));
    return getenv("WEFT_PROCESS") != NULL || test_lines_with(text, names) == 0 ||
           test_lines_with(text, cpus) != test_lines_with(text, here) ||
           test_lines_with(text, places) > 0;
}

/* Runs a case: its line must be there once for each process. */
static int run_case(const struct error_row *error, int argc, char **argv)
{
    char *arguments[argc + 3], option[] = "--case", name[64], *text;
    const char *const words[] = {weft_status_name(error->status), error->call, error->words, NULL};
    const char *const here[] = {present, NULL};

    memcpy(arguments, argv, (size_t)argc * sizeof(*argv));
    snprintf(name, sizeof(name), "%s", error->name);
    arguments[argc] = option;
    arguments[argc + 1] = name;
    arguments[argc + 2] = NULL;
    setenv("WEFT_TIMEOUT_S", error->status == WEFT_ERR_TIMEOUT ? "2" : "120", 1);
    const int result = test_capture(child, argc + 2, arguments, &text);
    const bool said =
        test_lines_with(text, words) == test_lines_with(text, here) && is_placed(error, text);
    const bool good = result == TEST_SKIPPED || (result == TEST_PASSED && said);
    if (!good)
        fprintf(stderr, "FAILED case %s: exit code %d%s; it printed:\n%s", error->name, result,
                said ? "" : ", and the error was not said once with rank, call, number and place",
                text);
    free(text);
    return good ? 0 : 1;
}

int error_cases_main(int argc, char **argv, const struct error_row *cases, int count,
                     int (*body)(struct test_env *env))
{
    const char *only = NULL;
    int wrong = 0;

    body_of = body;
    for (int i = 1; i + 1 < argc; i++)
        only = strcmp(argv[i], "--case") == 0 ? argv[i + 1] : only;
    for (int i = 0; i < count; i++)
        if (only == NULL || strcmp(only, cases[i].name) == 0)
            wrong += run_case(&cases[i], argc, argv);
    return wrong != 0 ? TEST_FAILED : TEST_PASSED;
}
