/*
 * bench/alloc.cu - a block is taken and given back, size by size: by a host program from its heap
 * (local) or from that in host memory (host), by all ranks at once inside a kernel (kernel), by
 * malloc, by weft_malloc, by all host programs together (team). Each program of a job measures
 * beside the others; process 0 prints its own time.
 */
#include "support/bench.h"

#include <weft/pgas.h>

struct alloc_data {
    weft_gspace *space;
    uint64_t bytes, repeats;
    uint64_t *refused; /* device memory: a word for each rank of the device */
};

WEFT_KERNEL(alloc, struct alloc_data, user)
{
    uint64_t refused = 0;

    weft_enter(self);
    weft_timer_start(self);
    for (uint64_t i = 0; i < user->repeats; i++) {
        const weft_gptr block = weft_local_alloc(self, user->space, user->bytes);
        refused += weft_gptr_is_null(block);
        weft_local_free(self, user->space, block);
    }
    weft_timer_stop(self);
    weft_leave(self);
    if (weft_thread(self) == 0)
        user->refused[weft_rank(self, WEFT_COMM_DEVICE)] = refused;
}

#ifndef __CUDACC__

#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 128, LOCAL = 0, KERNEL, MALLOC, WEFT_MALLOC, TEAM, HOST };

static const char *const forms[] = {"local", "kernel", "malloc", "weft_malloc",
                                    "team",  "host",   NULL};

/* One block of that form, taken and given back by the host program. False: there was none. */
static bool once(weft_job *job, int form, size_t bytes)
{
    weft_gptr block;
    bool taken = true;

    if (form == LOCAL || form == HOST) {
        const weft_gkind kind = form == HOST ? WEFT_GKIND_HOST : WEFT_GKIND_DEVICE;
        return weft_host_local_alloc_kind(job, bytes, kind, &block) == WEFT_OK &&
               weft_host_local_free(job, block) == WEFT_OK;
    }
    if (form == TEAM) {
        weft_gspan span;
        return weft_galloc(job, WEFT_COMM_HOST, bytes, &span) == WEFT_OK &&
               weft_gfree(job, &span) == WEFT_OK;
    }
    void *volatile memory = form == MALLOC ? malloc(bytes) : weft_malloc(job, bytes);
    taken = memory != NULL;
    if (form == MALLOC)
        free(memory);
    else
        weft_free(job, memory);
    return taken;
}

/* Seconds for all repetitions of a size; adds what was refused. */
static weft_status run_kernel(weft_job *job, size_t bytes, uint64_t repeats, uint64_t *words,
                              double *seconds, uint64_t *refused)
{
    struct alloc_data data = {
        .space = weft_pgas_space(job), .bytes = bytes, .repeats = repeats, .refused = words};
    const double *intervals;
    size_t count;
    weft_status status = weft_run(job, &data, sizeof(data), NULL);

    if (status == WEFT_OK)
        status = weft_intervals(job, &intervals, &count);
    if (status == WEFT_OK)
        *seconds = intervals[0] / 1e3;
    for (int i = 0; i < weft_numbers_of(job)->ranks_here && status == WEFT_OK; i++) {
        uint64_t one;
        status = weft_copy(job, &one, words + i, sizeof(one));
        *refused += status == WEFT_OK ? one : 0;
    }
    return status;
}

static weft_status measure(weft_job *job, const struct bench_options *options, uint64_t *words,
                           uint64_t *refused)
{
    weft_status status = WEFT_OK;

    if (weft_numbers_of(job)->process == 0)
        bench_header("bytes", "blocks", "alloc_free_us");
    for (size_t bytes = options->from; bytes <= options->to && status == WEFT_OK; bytes *= 2) {
        const uint64_t repeats = bench_repeats(options, bytes);
        double seconds = 0;
        if (options->form == KERNEL) {
            status = run_kernel(job, bytes, repeats, words, &seconds, refused);
        } else {
            for (uint64_t i = 0; i < bench_warm_up(repeats); i++)
                *refused += !once(job, options->form, bytes);
            status = weft_host_barrier(job);
            const double begun = bench_seconds();
            for (uint64_t i = 0; i < repeats; i++)
                *refused += !once(job, options->form, bytes);
            seconds = bench_seconds() - begun;
        }
        if (status == WEFT_OK && weft_numbers_of(job)->process == 0)
            bench_line(bytes, repeats, seconds / (double)repeats * 1e6);
    }
    return status;
}

int main(int argc, char **argv)
{
    struct bench_options options;
    weft_job *job;
    uint64_t refused = 0, *words = NULL;

    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return EXIT_FAILURE;
    bench_parse(&options, argc, argv, BENCH_HAS_SIZES,
                "Time of taking a block and giving it back. Run alone, or: weftrun -n PROCESSES "
                "bench_alloc",
                forms);
    weft_status status = weft_pgas_open(job);
    if (status == WEFT_OK)
        status = weft_prepare(job, &alloc, THREADS, 0);
    if (status == WEFT_OK) {
        words = weft_malloc(job, (size_t)weft_numbers_of(job)->ranks_here * sizeof(*words));
        status = words != NULL ? measure(job, &options, words, &refused) : WEFT_ERR_MEMORY;
    }
    weft_free(job, words);
    if (status == WEFT_OK)
        status = weft_pgas_close(job);
    const weft_status closed = weft_close(job);
    if (refused != 0)
        fprintf(stderr, "bench: %llu blocks were not to be had: a larger WEFT_HEAP, or --to\n",
                (unsigned long long)refused);
    return status == WEFT_OK && closed == WEFT_OK && refused == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
#endif
