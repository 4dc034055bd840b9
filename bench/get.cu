/*
 * bench/get.cu - gets and puts by global pointers, one way with their completion, size by size: by
 * a rank, by a host program, by a handle (begun, and waited for), and memcpy beside them. Process 0
 * acts on the last process's part: alone, on its own.
 */
#include "support/bench.h"

#include <weft/pgas.h>

enum { RANK_GET, RANK_PUT, HOST_GET, HOST_PUT, HANDLE_GET, HANDLE_PUT, MEMCPY };

struct get_data {
    weft_gspace *space;
    weft_gptr there;
    unsigned char *here; /* device memory */
    uint64_t bytes, warm_up, repeats;
    uint32_t put, acts;
};

WEFT_KERNEL(transfers, struct get_data, user)
{
    weft_enter(self);
    for (uint64_t i = 0; i < user->warm_up + user->repeats; i++) {
        if (i == user->warm_up)
            weft_timer_start(self);
        if (!user->acts)
            continue;
        if (user->put) {
            weft_gput(self, user->space, user->there, user->here, user->bytes);
            weft_gflush(self, user->space);
        } else {
            weft_gget(self, user->space, user->there, user->here, user->bytes);
        }
    }
    weft_timer_stop(self);
    weft_leave(self);
}

#ifndef __CUDACC__

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 128 };

static const char *const forms[] = {"rank_get",   "rank_put",   "host_get", "host_put",
                                    "handle_get", "handle_put", "memcpy",   NULL};

/* What a process does: its own part, the last one's, and as much memory here. */
struct bench {
    weft_job *job;
    weft_gspan span;
    weft_gptr own, there;
    unsigned char *device, *host, *other;
    int form;
    bool put, acts;
};

static unsigned char byte_of(bool put, size_t i)
{
    return (unsigned char)(i * 31 + (put ? 7 : 101));
}

static weft_status once(const struct bench *b, size_t bytes)
{
    weft_op op;
    weft_status status = WEFT_OK;

    switch (b->form) {
    case HOST_GET:
        return weft_host_gget(b->job, b->there, b->host, bytes);
    case HOST_PUT:
        status = weft_host_gput(b->job, b->there, b->host, bytes);
        return status == WEFT_OK ? weft_host_gflush(b->job) : status;
    case HANDLE_GET:
        status = weft_host_gget_begin(b->job, b->there, b->host, bytes, &op);
        return status == WEFT_OK ? weft_host_op_wait(b->job, op, WEFT_LOCAL) : status;
    case HANDLE_PUT:
        status = weft_host_gput_begin(b->job, b->there, b->host, bytes, &op);
        return status == WEFT_OK ? weft_host_op_wait(b->job, op, WEFT_REMOTE) : status;
    default:
        memcpy(b->host, b->other, bytes);
        __asm__ volatile("" ::: "memory");
        return WEFT_OK;
    }
}

/* Seconds for all repetitions, by ranks or by the host program. */
static weft_status time_of(const struct bench *b, size_t bytes, uint64_t repeats, double *seconds)
{
    const uint64_t warm_up = bench_warm_up(repeats);
    weft_status status = WEFT_OK;

    if (b->form <= RANK_PUT) {
        struct get_data data = {.space = weft_pgas_space(b->job),
                                .there = b->there,
                                .here = b->device,
                                .bytes = bytes,
                                .warm_up = warm_up,
                                .repeats = repeats,
                                .put = b->put,
                                .acts = b->acts};
        const double *intervals;
        size_t count;
        status = weft_run(b->job, &data, sizeof(data), NULL);
        if (status == WEFT_OK)
            status = weft_intervals(b->job, &intervals, &count);
        *seconds = status == WEFT_OK ? intervals[0] / 1e3 : 0;
        return status;
    }
    double begun = 0;
    for (uint64_t i = 0; b->acts && i < warm_up + repeats && status == WEFT_OK; i++) {
        if (i == warm_up)
            begun = bench_seconds();
        status = once(b, bytes);
    }
    *seconds = bench_seconds() - begun;
    return status;
}

/* The bytes that travel, where they come from; nothing where they go to. */
static weft_status fill(const struct bench *b, size_t bytes)
{
    unsigned char *const source = b->put ? b->host : b->other;
    weft_status status;

    memset(b->put ? b->other : b->host, 0, bytes);
    for (size_t i = 0; i < bytes; i++)
        source[i] = byte_of(b->put, i);
    status = weft_host_gput(b->job, b->own, b->other, bytes);
    if (status == WEFT_OK)
        status = weft_host_gflush(b->job);
    if (status == WEFT_OK && b->form <= RANK_PUT)
        status = weft_copy(b->job, b->device, b->host, bytes);
    return status == WEFT_OK ? weft_host_barrier(b->job) : status;
}

/* How many bytes are wrong where they should have come, by the process that has them. */
static weft_status check(const struct bench *b, size_t bytes, uint64_t *wrong)
{
    const bool looks =
        b->put ? weft_numbers_of(b->job)->process + 1 == weft_numbers_of(b->job)->processes
               : b->acts;
    weft_status status = weft_host_barrier(b->job);

    if (!looks || status != WEFT_OK)
        return status;
    if (b->put)
        status = weft_host_gget(b->job, b->own, b->host, bytes);
    else if (b->form == RANK_GET)
        status = weft_copy(b->job, b->host, b->device, bytes);
    for (size_t i = 0; i < bytes; i++)
        *wrong += b->host[i] != byte_of(b->put, i);
    return status;
}

static weft_status measure(struct bench *b, const struct bench_options *options, uint64_t *wrong)
{
    weft_status status = WEFT_OK;

    if (b->acts)
        bench_header("bytes", "repeats", "us");
    for (size_t bytes = options->from; bytes <= options->to && status == WEFT_OK; bytes *= 2) {
        const uint64_t repeats = bench_repeats(options, bytes);
        double seconds = 0;
        status = fill(b, bytes);
        if (status == WEFT_OK)
            status = time_of(b, bytes, repeats, &seconds);
        if (status == WEFT_OK)
            status = check(b, bytes, wrong);
        if (status == WEFT_OK && b->acts)
            bench_line(bytes, repeats, seconds / (double)repeats * 1e6);
        if (status == WEFT_OK)
            status = weft_host_barrier(b->job);
    }
    return status;
}

static weft_status open_all(struct bench *b, const struct bench_options *options)
{
    const weft_numbers *const numbers = weft_numbers_of(b->job);
    weft_status status = weft_pgas_open(b->job);

    b->form = options->form;
    b->put = b->form == RANK_PUT || b->form == HOST_PUT || b->form == HANDLE_PUT;
    b->acts = numbers->process == 0;
    b->host = malloc(options->to);
    b->other = malloc(options->to);
    b->device = weft_malloc(b->job, options->to);
    if (status == WEFT_OK && (b->host == NULL || b->other == NULL || b->device == NULL))
        status = WEFT_ERR_MEMORY;
    if (status == WEFT_OK)
        status = weft_galloc(b->job, WEFT_COMM_HOST, options->to, &b->span);
    if (status == WEFT_OK) {
        b->own = weft_gspan_member(b->job, &b->span, numbers->process);
        b->there = weft_gspan_member(b->job, &b->span, numbers->processes - 1);
        status = weft_prepare(b->job, &transfers, THREADS, 1);
    }
    return status;
}

int main(int argc, char **argv)
{
    struct bench_options options;
    struct bench b = {.form = 0};
    uint64_t wrong = 0;

    if (weft_open(&b.job, &argc, argv) != WEFT_OK)
        return EXIT_FAILURE;
    bench_parse(&options, argc, argv, BENCH_HAS_SIZES,
                "Time of a get or a put by a global pointer, to its completion. Run alone, or: "
                "weftrun -n PROCESSES bench_get",
                forms);
    weft_status status = open_all(&b, &options);
    if (status == WEFT_OK)
        status = measure(&b, &options, &wrong);
    if (status == WEFT_OK)
        status = weft_gfree(b.job, &b.span);
    if (status == WEFT_OK)
        status = weft_pgas_close(b.job);
    weft_free(b.job, b.device);
    free(b.host);
    free(b.other);
    if (weft_close(b.job) != WEFT_OK || status != WEFT_OK)
        return EXIT_FAILURE;
    return bench_status(wrong);
}
#endif
