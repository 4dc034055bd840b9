/*
 * experts - a mixture-of-experts layer: each process has some experts and a batch of tokens. In
 * each step the rows of tokens go to the experts that they chose, which multiply them, and what
 * comes back is summed with weights. The exchange is weft/ccl.h's: on GPUs all of it goes on one
 * stream, and no host learns a count.
 */
#include "experts.h"
#include "report.h"
#include "router.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char usage[] =
    "usage: [weftrun -n MEMBERS] experts [--tokens N] [--experts N] [--topk N] [--hidden N]\n"
    "                                    [--skew N] [--steps N] [--verify] [--progress]\n"
    "A mixture-of-experts layer: dispatch, experts, combine. Prints the times of both, and how "
    "many\n"
    "rows each expert had in the last step.\n"
    "  --tokens N    of each member, at most 1024 (128)    --experts N   of all, at most 2048 "
    "(64)\n"
    "  --topk N      experts of a token, at most 8 (4)     --hidden N    floats of a row (1024)\n"
    "  --skew N      0: all experts alike; more: the first ones are chosen more often (1)\n"
    "  --steps N     (20)     --verify   compare with a serial router     --progress   say the "
    "step\n";

struct options {
    struct layer layer;
    int steps;
    bool verify, progress, help;
};

/* One member's part; memory of the device, and of the host. */
struct part {
    weft_job *job;
    weft_ccl *ccl;
    weft_ccl_moe *moe;
    struct experts_work work;
    int me;
    float *rows, *weights, *sums, *host; /* host: as many elements as sums */
    int32_t *chosen, *counts, *host_counts;
    double *dispatch_us, *combine_us; /* by step */
    uint64_t wrong;
    bool gpu;
};

static bool read_options(struct options *o, int argc, char **argv, bool speaks)
{
    static const struct option list[] = {{"tokens", 1, NULL, 't'}, {"experts", 1, NULL, 'e'},
                                         {"topk", 1, NULL, 'k'},   {"hidden", 1, NULL, 'i'},
                                         {"skew", 1, NULL, 's'},   {"steps", 1, NULL, 'n'},
                                         {"verify", 0, NULL, 'v'}, {"progress", 0, NULL, 'p'},
                                         {"help", 0, NULL, 'h'},   {NULL, 0, NULL, 0}};
    struct layer *const layer = &o->layer;
    int which;

    *o = (struct options){.steps = 20};
    *layer = (struct layer){.experts = 64, .topk = 4, .tokens = 128, .hidden = 1024, .skew = 1};
    opterr = speaks;
    while ((which = getopt_long(argc, argv, "", list, NULL)) != -1) {
        char *end = "";
        const long n = optarg != NULL ? strtol(optarg, &end, 10) : 1;
        if (which == '?' || *end != 0 || n < (which == 's' ? 0 : 1) || n > 16384)
            return false;
        int *const numbers[] = {&layer->tokens, &layer->experts, &layer->topk,
                                &layer->hidden, &layer->skew,    &o->steps};
        const char *const at = strchr("tekisn", which);
        if (at != NULL)
            *numbers[at - "tekisn"] = (int)n;
        o->verify = o->verify || which == 'v';
        o->progress = o->progress || which == 'p';
        o->help = o->help || which == 'h';
    }
    return optind == argc && layer->topk <= layer->experts && layer->topk <= 8;
}

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static bool open_part(struct part *p, struct layer *layer)
{
    if (weft_ccl_open(p->job, WEFT_COMM_HOST, 0, &p->ccl) != WEFT_OK)
        return false;
    layer->members = weft_ccl_members(p->ccl);
    p->me = weft_ccl_me(p->ccl);
    p->gpu = weft_process_kind(p->job, weft_numbers_of(p->job)->process) == WEFT_KIND_CUDA;
    const size_t tokens = (size_t)layer->tokens, hidden = (size_t)layer->hidden;
    const int each = (layer->experts + layer->members - 1) / layer->members;
    p->work = (struct experts_work){.first = p->me * each,
                                    .experts = each,
                                    .places = layer->members * layer->tokens,
                                    .hidden = layer->hidden};
    const weft_ccl_moe_desc desc = {.experts = layer->experts,
                                    .topk = layer->topk,
                                    .tokens = layer->tokens,
                                    .row_bytes = hidden * sizeof(float)};
    if (weft_ccl_moe_open(p->ccl, &desc, &p->moe) != WEFT_OK)
        return false;
    p->work.rows =
        weft_malloc(p->job, (size_t)each * (size_t)p->work.places * hidden * sizeof(float));
    p->rows = weft_malloc(p->job, tokens * hidden * sizeof(float));
    p->sums = weft_malloc(p->job, tokens * hidden * sizeof(float));
    p->weights = weft_malloc(p->job, tokens * (size_t)layer->topk * sizeof(float));
    p->chosen = weft_malloc(p->job, tokens * (size_t)layer->topk * sizeof(int32_t));
    p->counts = weft_malloc(p->job, (size_t)each * sizeof(int32_t));
    p->work.counts = p->counts;
    p->host = malloc(tokens * (hidden + 8) * sizeof(float));
    p->host_counts = malloc((size_t)each * sizeof(int32_t));
    return p->work.rows != NULL && p->rows != NULL && p->sums != NULL && p->weights != NULL &&
           p->chosen != NULL && p->counts != NULL && p->host != NULL && p->host_counts != NULL;
}

/* The step's batch, in device memory. */
static bool fill(struct part *p, const struct layer *layer, int step)
{
    const size_t all = (size_t)layer->tokens * (size_t)layer->hidden;
    const size_t choices = (size_t)layer->tokens * (size_t)layer->topk;
    int32_t *const chosen = (int32_t *)(void *)p->host;

    for (size_t i = 0; i < all; i++)
        p->host[i] = router_element(step, p->me, (int)(i / (size_t)layer->hidden),
                                    (int)(i % (size_t)layer->hidden));
    if (weft_copy(p->job, p->rows, p->host, all * sizeof(float)) != WEFT_OK)
        return false;
    for (size_t i = 0; i < choices; i++)
        p->host[i] = router_weight((int)(i % (size_t)layer->topk));
    if (weft_copy(p->job, p->weights, p->host, choices * sizeof(float)) != WEFT_OK)
        return false;
    for (int t = 0; t < layer->tokens; t++)
        router_choose(layer, step, p->me, t, chosen + (size_t)t * (size_t)layer->topk);
    return weft_copy(p->job, p->chosen, chosen, choices * sizeof(int32_t)) == WEFT_OK;
}

static bool passed(const struct part *p)
{
    return !p->gpu || experts_wait_gpu() == 0;
}

static bool compute(const struct part *p)
{
    if (p->gpu)
        return experts_on_gpu(&p->work) == 0;
    experts_on_cpu(&p->work);
    return true;
}

/* Sums and counts against the serial router. */
static bool verify(struct part *p, const struct layer *layer, int step)
{
    const size_t hidden = (size_t)layer->hidden, all = (size_t)layer->tokens * hidden;
    int32_t *const counts = malloc((size_t)p->work.experts * sizeof(*counts));

    if (counts == NULL || weft_copy(p->job, p->host, p->sums, all * sizeof(float)) != WEFT_OK)
        return false;
    for (size_t i = 0; i < all; i++)
        p->wrong +=
            p->host[i] != router_result(layer, step, p->me, (int)(i / hidden), (int)(i % hidden));
    router_count(layer, step, p->work.first, p->work.experts, counts);
    for (int e = 0; e < p->work.experts; e++)
        p->wrong += counts[e] != p->host_counts[e];
    free(counts);
    return true;
}

/* The layer, once. */
static bool take_step(struct part *p, const struct options *o, int step)
{
    const struct layer *const layer = &o->layer;

    if (!fill(p, layer, step) || weft_host_barrier(p->job) != WEFT_OK)
        return false;
    const double began = now_us();
    if (weft_ccl_dispatch(p->moe, p->rows, p->chosen, layer->tokens, p->work.rows, p->counts, NULL,
                          NULL) != WEFT_OK ||
        !passed(p))
        return false;
    const double dispatched = now_us();
    if (!compute(p) || !passed(p) || weft_host_barrier(p->job) != WEFT_OK)
        return false;
    const double computed = now_us();
    if (weft_ccl_combine(p->moe, p->work.rows, p->weights, WEFT_F32, p->sums, NULL) != WEFT_OK ||
        !passed(p) || weft_ccl_check(p->ccl) != WEFT_OK)
        return false;
    p->dispatch_us[step] = dispatched - began;
    p->combine_us[step] = now_us() - computed;
    return weft_copy(p->job, p->host_counts, p->counts,
                     (size_t)p->work.experts * sizeof(int32_t)) == WEFT_OK &&
           (!o->verify || verify(p, layer, step));
}

static int by_time(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* A character for each expert: the fuller, the more rows of the most that one has. */
static void draw(const struct layer *layer, int each, const int32_t counts[])
{
    static const char shades[] = " .:-=+*#%@";
    int32_t most = 1;

    for (int e = 0; e < layer->experts; e++)
        most = counts[e] > most ? counts[e] : most;
    printf("rows of each expert, %s: 0 to %d\n", shades + 1, (int)most);
    for (int m = 0; m < layer->members; m++) {
        printf("  member %d |", m);
        for (int e = m * each; e < (m + 1) * each && e < layer->experts; e++)
            putchar(counts[e] == 0 ? ' ' : shades[1 + (counts[e] * 8 + most - 1) / most]);
        printf("|\n");
    }
}

/* Process 0 says what all have found. */
static bool report(struct part *p, const struct options *o)
{
    const struct layer *const layer = &o->layer;
    const size_t each = (size_t)p->work.experts, members = (size_t)layer->members;
    int32_t *const counts = calloc(members, each * sizeof(*counts));
    uint64_t *const wrong = calloc(members, sizeof(*wrong));
    const double results = (double)layer->tokens * layer->hidden * o->steps * layer->members;

    if (counts == NULL || wrong == NULL ||
        weft_host_gather(p->job, 0, p->host_counts, each * sizeof(*counts), counts) != WEFT_OK ||
        weft_host_gather(p->job, 0, &p->wrong, sizeof(p->wrong), wrong) != WEFT_OK)
        return false;
    qsort(p->dispatch_us, (size_t)o->steps, sizeof(double), by_time);
    qsort(p->combine_us, (size_t)o->steps, sizeof(double), by_time);
    for (size_t m = 1; m < members; m++)
        wrong[0] += wrong[m];
    if (p->me == 0) {
        printf("experts: %d members, %d experts, top %d, %d tokens of %d floats each, %d steps\n",
               layer->members, layer->experts, layer->topk, layer->tokens, layer->hidden, o->steps);
        printf("dispatch %.1f us, combine %.1f us (medians, with the launch and the wait)\n",
               p->dispatch_us[o->steps / 2], p->combine_us[o->steps / 2]);
        draw(layer, (int)each, counts);
        if (o->verify)
            printf("%.0f results, %llu wrong\n", results, (unsigned long long)wrong[0]);
    }
    const bool good = p->me != 0 || wrong[0] == 0;
    free(counts);
    free(wrong);
    return good;
}

static bool run(weft_job *job, struct options *o)
{
    struct part p = {.job = job};
    bool good = open_part(&p, &o->layer);

    p.dispatch_us = calloc((size_t)o->steps, sizeof(double));
    p.combine_us = calloc((size_t)o->steps, sizeof(double));
    good = good && p.dispatch_us != NULL && p.combine_us != NULL;
    for (int step = 0; step < o->steps && good; step++) {
        good = take_step(&p, o, step);
        if (good && o->progress && p.me == 0)
            fprintf(stderr, "experts: step %d of %d\n", step + 1, o->steps);
    }
    good = good && report(&p, o);
    good = weft_ccl_moe_close(&p.moe) == WEFT_OK && good;
    good = weft_ccl_close(&p.ccl) == WEFT_OK && good;
    free(p.host);
    free(p.host_counts);
    free(p.dispatch_us);
    free(p.combine_us);
    return good;
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
