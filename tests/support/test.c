/*
 * support/test.c - the frame around a test body: options, the four ways to run, failures.
 */
#include "support/test.h"

#include "net/peer/inside.h"
#include "runtime/job/job.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

weft_thread_level test_threads = WEFT_THREAD_SINGLE;

struct test_block {
    struct test_block *next;
    enum test_memory kind;
    void *memory;
};

/* The command line. */
struct options {
    const char *program;
    int local; /* processes of the local job; 0: this one is a process of the job */
    uint64_t first_seed;
    long seeds; /* number of random schedules; 0: none */
    int ranks, threads, scale;
    int cpus; /* local processes that are on CPUs, whatever the others are on */
    const char *path;
    const char *only;
};

/* What every process of a local job is given. */
struct launch {
    const struct options *options;
    int (*body)(struct test_env *env);
    uint64_t seed;
    int *argc;
    char **argv;
    int opened; /* local processes that have begun to open the job */
};

static void die(const char *what, const char *detail)
{
    fprintf(stderr, "test: %s %s\n", what, detail);
    exit(TEST_FAILED);
}

/* ---- failures ------------------------------------------------------------------------------- */

/*
 * A job that has failed, and was not meant to, has said why; its calls give nothing any more, and a
 * body that went on would read what they have not written. In random mode the seed is still to be
 * said.
 */
static void end_if_lost(const struct test_env *env)
{
    if (env->job == NULL || env->random || env->expect != WEFT_OK ||
        weft_job_status(env->job) == WEFT_OK)
        return;
    fflush(NULL);
    _exit(TEST_FAILED);
}

void test_failed(struct test_env *env, const char *file, int line, long long got, long long want,
                 const char *text)
{
    const char *base = strrchr(file, '/');

    __atomic_fetch_add(&env->failures, 1, __ATOMIC_RELAXED);
    fprintf(stderr, "FAILED [p%d] %s:%d: %s: got %lld (0x%llx), want %lld (0x%llx)\n",
            env->numbers == NULL ? -1 : env->numbers->process, base == NULL ? file : base + 1, line,
            text, got, (unsigned long long)got, want, (unsigned long long)want);
    end_if_lost(env);
}

static void report_check(struct test_env *env, const struct test_check *check)
{
    if (check->failed == 0)
        return;
    env->failures++;
    fprintf(stderr,
            "FAILED [p%d] rank %d, %.*s:%d: got %lld (0x%llx), want %lld (0x%llx); "
            "%u check(s) failed on this device\n",
            env->numbers->process, check->rank, (int)sizeof(check->file), check->file, check->line,
            (long long)check->got, (unsigned long long)check->got, (long long)check->want,
            (unsigned long long)check->want, check->failed);
}

static void report_run(struct test_env *env, const struct test_check *check)
{
    report_check(env, check);
    if (env->expect == WEFT_OK)
        TEST_EQ(env, check->done, env->numbers->ranks_here);
}

/* ---- what bodies call ----------------------------------------------------------------------- */

bool test_prepare(struct test_env *env, const weft_kernel *kernel)
{
    return TEST_EQ(env, weft_prepare(env->job, kernel, env->threads, env->ranks), WEFT_OK);
}

bool test_run(struct test_env *env, void *user, size_t user_bytes)
{
    struct test_check *check = user;
    const int before = env->failures;

    memset(check, 0, sizeof(*check));
    TEST_EQ(env, weft_run(env->job, user, user_bytes, NULL), env->expect);
    report_run(env, check);
    return env->failures == before;
}

bool test_start(struct test_env *env, void *user, size_t user_bytes)
{
    memset(user, 0, sizeof(struct test_check));
    return TEST_EQ(env, weft_start(env->job, user, user_bytes), WEFT_OK);
}

bool test_finish(struct test_env *env, const void *user)
{
    const int before = env->failures;

    TEST_EQ(env, weft_finish(env->job, NULL), WEFT_OK);
    report_run(env, user);
    return env->failures == before;
}

void *test_memory(struct test_env *env, enum test_memory kind, size_t bytes)
{
    struct test_block *block = malloc(sizeof(*block));

    if (block == NULL)
        die("out of memory", "");
    block->kind = kind;
    if (env->mapped_only && env->numbers->processes > 1 && kind != TEST_HOST)
        block->kind = TEST_MAPPED;
    block->memory = block->kind == TEST_MAPPED ? weft_malloc(env->job, bytes) : NULL;
    if (block->kind == TEST_MAPPED && !TEST(env, block->memory != NULL))
        block->kind = TEST_PLAIN; /* a job that has failed: the body may go on to its end */
    if (block->kind == TEST_HOST)
        block->memory = calloc(1, bytes + 1);
    else if (block->memory == NULL)
        block->memory = env->job->device_ops->host_alloc(env->job->device, bytes + 1);
    if (block->memory == NULL)
        die("out of memory", "");
    if (block->kind == TEST_REGISTERED)
        TEST_EQ(env, weft_register(env->job, block->memory, bytes), WEFT_OK);
    block->next = env->blocks;
    env->blocks = block;
    return block->memory;
}

bool test_windows_of_malloc(const struct test_env *env)
{
    char *memory = calloc(1, 1);
    const bool may =
        memory != NULL && env->job->device_ops->no_access(env->job->device, memory, 1) == NULL;

    free(memory);
    return may;
}

static void free_memory(struct test_env *env)
{
    while (env->blocks != NULL) {
        struct test_block *block = env->blocks;
        env->blocks = block->next;
        if (block->kind == TEST_REGISTERED)
            TEST_EQ(env, weft_unregister(env->job, block->memory), WEFT_OK);
        if (block->kind == TEST_MAPPED)
            weft_free(env->job, block->memory);
        else if (block->kind == TEST_HOST)
            free(block->memory);
        else
            env->job->device_ops->host_free(env->job->device, block->memory);
        free(block);
    }
}

/* ---- the four ways to run ------------------------------------------------------------------- */

/* A network that the run names is what it is about: something went over it. */
static void check_network(struct test_env *env)
{
    const weft_job *job = env->job;

    if (job->config.net != WEFT_NET_AUTO && env->numbers->processes > 1 &&
        weft_job_status(job) == WEFT_OK)
        TEST(env, weft_load_relaxed_u64(&job->proxy.net->puts) != 0);
}

/* One process of the job. */
static int run_process(void *argument)
{
    struct launch *launch = argument;
    const struct options *options = launch->options;
    char program[] = "test", on_cpu[] = "--weft-device=cpu", *words[] = {program, on_cpu, NULL};
    int count = 2;
    struct test_env env = {0};

    const bool cpu = __atomic_fetch_add(&launch->opened, 1, __ATOMIC_RELAXED) < options->cpus;
    const weft_status status = weft_open_threads(&env.job, cpu ? &count : launch->argc,
                                                 cpu ? words : launch->argv, test_threads);
    if (status != WEFT_OK) {
        fprintf(stderr, "FAILED weft_open: %s: %s\n", weft_status_name(status), weft_error(NULL));
        return TEST_FAILED;
    }
    env.numbers = weft_numbers_of(env.job);
    env.seed = launch->seed;
    env.ranks = options->ranks;
    env.threads = options->threads;
    env.scale = options->scale > 0 ? options->scale : 1;
    env.random = options->seeds > 0;
    env.brief = env.random || options->scale == 0;
    env.mapped_only = strcmp(options->path, "direct") == 0;
    env.only = options->only;
    const int result = launch->body(&env);
    free_memory(&env);
    check_network(&env);
    const weft_numbers numbers = *env.numbers; /* the job's own are gone when it is closed */
    const weft_status closed = weft_close(env.job);
    env.job = NULL;
    env.numbers = &numbers;
    TEST_EQ(&env, closed, env.expect);
    return env.failures > 0 ? TEST_FAILED : result;
}

static int run_seeds(const struct options *options, struct launch *launch)
{
    for (long i = 0; i < options->seeds; i++) {
        char schedule[64];
        launch->seed = options->first_seed + (uint64_t)i;
        launch->opened = 0;
        snprintf(schedule, sizeof(schedule), "random:%llu", (unsigned long long)launch->seed);
        if (setenv("WEFT_CPU_SCHEDULE", schedule, 1) != 0)
            die("setenv:", strerror(errno));
        const int result = weft_local_job(options->local, run_process, launch);
        if (result == TEST_SKIPPED)
            return result;
        if (result != 0) {
            fprintf(stderr,
                    "FAILED with seed %llu; repeat: %s --local %d --ranks %d --scale %d --path %s "
                    "--seeds %llu:1%s%s\n",
                    (unsigned long long)launch->seed, options->program, options->local,
                    options->ranks, options->scale, options->path, (unsigned long long)launch->seed,
                    options->only != NULL ? " --case " : "",
                    options->only != NULL ? options->only : "");
            return TEST_FAILED;
        }
    }
    return TEST_PASSED;
}

/* ---- options -------------------------------------------------------------------------------- */

/* Reads a number from `min` up that ends at `end`. */
static long long number(const char *option, const char *text, char end, long long min,
                        const char **rest)
{
    char *stop;

    errno = 0;
    const long long value = text == NULL ? 0 : strtoll(text, &stop, 10);
    if (text == NULL || errno != 0 || stop == text || *stop != end || value < min ||
        value > INT_MAX)
        die("a number is wrong for", option);
    if (rest != NULL)
        *rest = stop + 1;
    return value;
}

/* Takes the test's own options out of argv; the rest is left for weft_open. */
static void parse(struct options *options, int *argc, char **argv)
{
    int kept = 1;

    for (int i = 1; i < *argc; i++) {
        const char *value = argv[i + 1]; /* NULL behind the last */
        if (strcmp(argv[i], "--local") == 0) {
            options->local = (int)number("--local", value, 0, 1, NULL);
        } else if (strcmp(argv[i], "--cpus") == 0) {
            options->cpus = (int)number("--cpus", value, 0, 1, NULL);
        } else if (strcmp(argv[i], "--ranks") == 0) {
            options->ranks = (int)number("--ranks", value, 0, 1, NULL);
        } else if (strcmp(argv[i], "--threads") == 0) {
            options->threads = (int)number("--threads", value, 0, 1, NULL);
        } else if (strcmp(argv[i], "--scale") == 0) {
            options->scale = (int)number("--scale", value, 0, 0, NULL);
        } else if (strcmp(argv[i], "--path") == 0 && value != NULL) {
            options->path = value;
        } else if (strcmp(argv[i], "--case") == 0 && value != NULL) {
            options->only = value;
        } else if (strcmp(argv[i], "--seeds") == 0) {
            const char *count;
            options->first_seed = (uint64_t)number("--seeds", value, ':', 0, &count);
            options->seeds = (long)number("--seeds", count, 0, 1, NULL);
        } else {
            argv[kept++] = argv[i];
            continue;
        }
        i++;
    }
    argv[kept] = NULL;
    *argc = kept;
}

int test_main(int argc, char **argv, int (*body)(struct test_env *env))
{
    struct options options = {
        .program = argv[0], .ranks = 4, .threads = 64, .scale = 1, .path = "auto"};
    struct launch launch = {.options = &options, .body = body, .seed = 1};

    parse(&options, &argc, argv);
    /* A test never hangs: a wait of two minutes is an error, unless the caller says otherwise. */
    if (setenv("WEFT_PATH", options.path, 1) != 0 || setenv("WEFT_TIMEOUT_S", "120", 0) != 0)
        die("setenv:", strerror(errno));
    if (options.seeds > 0) {
        options.ranks = options.ranks < 3 ? options.ranks : 3;
        options.local = options.local == 0 ? 1 : options.local;
        return run_seeds(&options, &launch);
    }
    if (options.local > 0)
        return weft_local_job(options.local, run_process, &launch);
    launch.argc = &argc;
    launch.argv = argv;
    return run_process(&launch);
}

/* ---- what a program prints ------------------------------------------------------------------ */

static char *read_all(FILE *file)
{
    if (fseek(file, 0, SEEK_END) != 0)
        die("fseek:", strerror(errno));
    const long bytes = ftell(file);
    char *text = bytes < 0 ? NULL : malloc((size_t)bytes + 1);
    if (text == NULL)
        die("out of memory", "");
    rewind(file);
    const size_t got = fread(text, 1, (size_t)bytes, file);
    text[got] = 0;
    return text;
}

int test_capture(int (*run)(int argc, char **argv), int argc, char **argv, char **text)
{
    FILE *file = tmpfile();
    int status;

    if (file == NULL)
        die("tmpfile:", strerror(errno));
    fflush(NULL);
    const pid_t pid = fork();
    if (pid < 0)
        die("fork:", strerror(errno));
    if (pid == 0) {
        if (dup2(fileno(file), 1) < 0 || dup2(fileno(file), 2) < 0)
            die("dup2:", strerror(errno));
        exit(run(argc, argv));
    }
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            die("waitpid:", strerror(errno));
    }
    *text = read_all(file);
    fclose(file);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int test_lines_with(const char *text, const char *const *words)
{
    int lines = 0;

    while (*text != 0) {
        const char *end = strchrnul(text, '\n');
        char line[1024];
        bool all = true;
        const size_t length =
            (size_t)(end - text) < sizeof(line) - 1 ? (size_t)(end - text) : sizeof(line) - 1;
        memcpy(line, text, length);
        line[length] = 0;
        for (size_t i = 0; words[i] != NULL && all; i++)
            all = strstr(line, words[i]) != NULL;
        lines += all;
        text = *end == 0 ? end : end + 1;
    }
    return lines;
}
