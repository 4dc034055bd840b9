/*
 * uts/main.c - counts the nodes of an unbalanced tree, by tasks that spawn tasks. Place 0 makes the
 * first one; the others have only what they take.
 */
#include <weft/task.h>

#include "problem.h"
#include "report.h"
#include "uts.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

WEFT_TASK_IDS(SEARCHES)
WEFT_TASK_KERNEL_DECLARE(uts_tasks);

static const char usage[] =
    "usage: [weftrun -n PLACES] uts [--tree geometric|binomial] [--depth D] "
    "[--ranks N] [--threads N] [--verify]\n";

struct options {
    bool binomial, verify, help;
    int depth, ranks, threads;
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static bool create_first(weft_job *job, const struct node *root)
{
    const weft_task_desc desc = {
        .body = search_id,
        .priority = 1,
        .arguments = root,
        .arguments_bytes = sizeof(*root),
        .datas = 1,
        .data[0] = {.bytes = (UTS_STACK + 2) * sizeof(struct node), .mode = WEFT_TASK_SCRATCH}};
    return weft_task_create(job, &desc, NULL) == WEFT_OK;
}

/* What all places have counted, and how many tasks were taken. */
static bool add_up(weft_job *job, weft_win win, uint64_t *nodes, uint64_t *full, uint64_t *stolen)
{
    const weft_numbers *n = weft_numbers_of(job);
    weft_task_numbers numbers;
    uint64_t mine[3], *const all = calloc(3 * (size_t)n->processes, sizeof(*all));
    bool good = all != NULL && weft_tasks_numbers(job, &numbers) == WEFT_OK &&
                weft_host_get(job, win, n->process, 0, mine, 2 * sizeof(*mine)) == WEFT_OK;

    mine[2] = good ? numbers.taken : 0;
    good = good && weft_host_gather(job, 0, mine, sizeof(mine), all) == WEFT_OK;
    for (int p = 0; good && n->process == 0 && p < n->processes; p++) {
        *nodes += all[3 * p];
        *full += all[3 * p + 1];
        *stolen += all[3 * p + 2];
    }
    free(all);
    return good;
}

static bool report(const struct options *o, const struct tree *tree, struct node *root,
                   uint64_t nodes, uint64_t stolen, double ms)
{
    const uint64_t serial = o->verify ? tree_count_serial(tree, root) : nodes;

    printf("uts: %llu nodes", (unsigned long long)nodes);
    if (o->verify)
        printf(", serial %llu", (unsigned long long)serial);
    printf(", stolen %llu, %.1f ms\n", (unsigned long long)stolen, ms);
    return serial == nodes;
}

static bool run(weft_job *job, const struct options *o)
{
    const bool speaks = weft_numbers_of(job)->process == 0;
    uint64_t *const words = weft_malloc(job, 2 * sizeof(*words));
    uint64_t nodes = 1, full = 0, stolen = 0;
    struct node root;
    struct search search = {.tree = tree_make(o->binomial, (uint32_t)o->depth, &root)};

    if (words == NULL ||
        weft_host_win_create(job, words, 2 * sizeof(*words), &search.count) != WEFT_OK ||
        weft_tasks_begin(job, &uts_tasks, &search, o->threads, o->ranks) != WEFT_OK)
        return false;
    const double began = now_ms();
    const bool created = !speaks || create_first(job, &root);
    const bool finished = created && weft_tasks_finish(job) == WEFT_OK;
    const double ms = now_ms() - began;
    bool good = weft_tasks_end(job) == WEFT_OK && finished &&
                add_up(job, search.count, &nodes, &full, &stolen);
    if (full > 0)
        fprintf(stderr, "uts: the stacks of %llu tasks had more than %d nodes\n",
                (unsigned long long)full, UTS_STACK);
    good = good && full == 0;
    if (good && speaks)
        good = report(o, &search.tree, &root, nodes, stolen, ms);
    good = weft_host_win_free(job, &search.count) == WEFT_OK && good;
    weft_free(job, words);
    return good;
}

static bool read_options(struct options *o, int argc, char **argv, bool speaks)
{
    static const struct option list[] = {{"tree", 1, NULL, 't'},   {"depth", 1, NULL, 'd'},
                                         {"ranks", 1, NULL, 'r'},  {"threads", 1, NULL, 'T'},
                                         {"verify", 0, NULL, 'v'}, {"help", 0, NULL, 'h'},
                                         {NULL, 0, NULL, 0}};
    int which;

    *o = (struct options){.depth = 10, .threads = 32};
    opterr = speaks;
    while ((which = getopt_long(argc, argv, "", list, NULL)) != -1) {
        char *end = "";
        const long n = optarg != NULL && which != 't' ? strtol(optarg, &end, 10) : 1;
        if (which == '?' || *end != 0 || n < 1 || n > 1000000 ||
            (which == 't' && strcmp(optarg, "geometric") != 0 && strcmp(optarg, "binomial") != 0))
            return false;
        o->binomial = which == 't' ? optarg[0] == 'b' : o->binomial;
        o->depth = which == 'd' ? (int)n : o->depth;
        o->ranks = which == 'r' ? (int)n : o->ranks;
        o->threads = which == 'T' ? (int)n : o->threads;
        o->verify = o->verify || which == 'v';
        o->help = o->help || which == 'h';
    }
    return optind == argc;
}

int main(int argc, char **argv)
{
    struct options options;
    weft_job *job;
    bool good = true;

    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return 1;
    const bool speaks = weft_numbers_of(job)->process == 0;
    const bool read = read_options(&options, argc, argv, speaks);
    if (read && !options.help)
        good = run(job, &options);
    else if (speaks)
        fputs(usage, read ? stdout : stderr);
    const bool closed = weft_close(job) == WEFT_OK && report_flushed();
    return !read ? 2 : !closed || !good;
}
