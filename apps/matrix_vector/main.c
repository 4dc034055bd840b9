/*
 * matrix_vector - many products of one 32x32 matrix with vectors that process 0 has and process 1
 * multiplies: by one kernel whose ranks send and receive (--driver gpu), or by a kernel for each
 * batch that the host programs send (--driver cpu).
 */
#include <weft/weft.h>

#include "matrix_vector.h"
#include "report.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

WEFT_KERNEL_DECLARE(multiplying_kernel);

enum { VECTORS = 18750000, BATCH = 60 * 1024, VECTOR_BYTES = ROWS * sizeof(float), MOST = 1024 };

struct options {
    uint64_t vectors, batch; /* batch: bytes */
    uint64_t ranks, threads;
    bool by_host, verify;
};

static const char usage_text[] =
    "usage: weftrun -n 2 matrix_vector [--batch BYTES] [--vectors N] [--ranks N] [--threads N]\n"
    "                                  [--driver gpu|cpu] [--verify]\n";

static bool number(const char *text, uint64_t most, uint64_t *value)
{
    char *end;

    errno = 0;
    *value = text != NULL ? strtoull(text, &end, 10) : 0;
    if (text == NULL || end == text || errno != 0)
        return false;
    if (*end == 'K' || *end == 'M')
        *value <<= *end++ == 'K' ? 10 : 20;
    return *end == '\0' && *value > 0 && *value <= most;
}

static bool read_options(int argc, char **argv, struct options *o)
{
    *o = (struct options){.vectors = VECTORS, .batch = BATCH, .threads = 256};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        bool good = true;
        if (strcmp(argv[i], "--verify") == 0) {
            o->verify = true;
            continue;
        }
        if (strcmp(argv[i], "--batch") == 0)
            good = number(value, 1 << 30, &o->batch) && o->batch >= VECTOR_BYTES;
        else if (strcmp(argv[i], "--vectors") == 0)
            good = number(value, UINT64_C(1) << 40, &o->vectors);
        else if (strcmp(argv[i], "--ranks") == 0)
            good = number(value, MOST, &o->ranks);
        else if (strcmp(argv[i], "--threads") == 0)
            good = number(value, 1024, &o->threads);
        else if (strcmp(argv[i], "--driver") == 0)
            good = value != NULL &&
                   ((o->by_host = strcmp(value, "cpu") == 0) || strcmp(value, "gpu") == 0);
        else
            good = false;
        if (!good)
            return false;
        i++;
    }
    o->batch /= VECTOR_BYTES;
    return true;
}

/* Small whole numbers: all sums are exact, in any order. */
static float any_number(uint32_t seed)
{
    seed = seed * 2654435761u ^ seed >> 7;
    return (float)((int)(seed >> 8) % 17) - 8;
}

/* The matrix, the kinds of vectors, and what their products are. */
static float matrix[ROWS * ROWS], kinds[KINDS * ROWS], expected[KINDS * ROWS];

/* The same in device memory, too. */
static weft_status make_tables(weft_job *job, struct multiplying *user)
{
    float *there = weft_malloc(job, sizeof(matrix) + sizeof(kinds) + sizeof(expected));

    if (there == NULL)
        return WEFT_ERR_MEMORY;
    for (uint32_t i = 0; i < ROWS * ROWS; i++)
        matrix[i] = any_number(i + 1);
    for (uint32_t i = 0; i < KINDS * ROWS; i++)
        kinds[i] = any_number(i + 77777);
    for (int v = 0; v < KINDS; v++)
        for (int row = 0; row < ROWS; row++)
            for (int column = 0; column < ROWS; column++)
                expected[v * ROWS + row] += matrix[column * ROWS + row] * kinds[v * ROWS + column];
    user->matrix = there;
    user->kinds = user->matrix + ROWS * ROWS;
    user->expected = user->kinds + KINDS * ROWS;
    weft_status status = weft_copy(job, there, matrix, sizeof(matrix));
    if (status == WEFT_OK)
        status = weft_copy(job, there + ROWS * ROWS, kinds, sizeof(kinds));
    if (status == WEFT_OK)
        status = weft_copy(job, there + ROWS * ROWS + KINDS * ROWS, expected, sizeof(expected));
    return status;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* One kernel; its ranks do all. */
static weft_status run_by_ranks(weft_job *job, struct multiplying *user, uint64_t *wrong)
{
    const int ranks = weft_numbers_of(job)->ranks_here;
    static uint64_t counts[MOST];
    weft_status status = weft_run(job, user, sizeof(*user), NULL);

    if (status == WEFT_OK)
        status = weft_copy(job, counts, user->wrong, (size_t)ranks * sizeof(*counts));
    for (int r = 0; r < ranks; r++)
        *wrong += counts[r];
    return status;
}

/* A batch: sent by the host program of process 0, multiplied by a kernel of its own, sent back. */
static weft_status run_batch(weft_job *job, struct multiplying *user, weft_win win)
{
    const int me = weft_numbers_of(job)->process;
    const size_t bytes = (size_t)user->count * VECTOR_BYTES;
    weft_status status = WEFT_OK;

    if (me == 0)
        status = weft_host_put_notify(job, win, 1, 0, user->outbox, bytes, TAG_BATCH);
    else if (me == 1)
        status = weft_host_wait(job, TAG_BATCH, 1);
    if (status == WEFT_OK)
        status = weft_run(job, user, sizeof(*user), NULL);
    if (status == WEFT_OK && me == 1)
        status = weft_host_put_notify(job, win, 0, 0, user->outbox, bytes, TAG_PRODUCTS);
    else if (status == WEFT_OK && me == 0)
        status = weft_host_wait(job, TAG_PRODUCTS, 1);
    return status == WEFT_OK ? weft_host_flush(job, win) : status;
}

static weft_status run_by_hosts(weft_job *job, struct multiplying *user, bool verify,
                                uint64_t *wrong)
{
    const bool feeds = weft_numbers_of(job)->process == 0;
    const size_t each = (size_t)user->batch * VECTOR_BYTES;
    float *vectors = malloc(each);
    weft_win win = WEFT_WIN_NONE;
    weft_status status = vectors != NULL ? WEFT_OK : WEFT_ERR_MEMORY;

    if (status == WEFT_OK)
        status = weft_host_win_create(job, user->inbox, each, &win);
    for (uint64_t at = 0; status == WEFT_OK && at < user->vectors; at += user->batch) {
        user->count = user->vectors - at < user->batch ? user->vectors - at : user->batch;
        for (uint64_t v = 0; feeds && v < user->count; v++)
            memcpy(vectors + v * ROWS, kinds + (at + v) % KINDS * ROWS, VECTOR_BYTES);
        if (feeds)
            status = weft_copy(job, user->outbox, vectors, (size_t)user->count * VECTOR_BYTES);
        if (status == WEFT_OK)
            status = run_batch(job, user, win);
        if (status != WEFT_OK || !feeds || !verify)
            continue;
        status = weft_copy(job, vectors, user->inbox, (size_t)user->count * VECTOR_BYTES);
        for (uint64_t v = 0; status == WEFT_OK && v < user->count; v++)
            *wrong +=
                memcmp(vectors + v * ROWS, expected + (at + v) % KINDS * ROWS, VECTOR_BYTES) != 0;
    }
    if (status == WEFT_OK)
        status = weft_host_win_free(job, &win);
    free(vectors);
    return status;
}

static int run_matrix_vector(weft_job *job, const struct options *o)
{
    struct multiplying user = {
        .vectors = o->vectors, .batch = o->batch, .launches = o->by_host, .verify = o->verify};
    uint64_t wrong = 0;
    weft_status status = weft_prepare(job, &multiplying_kernel, (int)o->threads, (int)o->ranks);
    const size_t ranks = (size_t)weft_numbers_of(job)->ranks_here;
    const size_t each = ranks * SLOTS * (size_t)o->batch * VECTOR_BYTES;

    if (status == WEFT_OK)
        status = make_tables(job, &user);
    if (status == WEFT_OK) {
        user.inbox = weft_malloc(job, each);
        user.outbox = weft_malloc(job, each);
        user.wrong = weft_malloc(job, MOST * sizeof(*user.wrong));
        if (user.inbox == NULL || user.outbox == NULL || user.wrong == NULL)
            status = WEFT_ERR_MEMORY;
    }
    const double begin = seconds();
    if (status == WEFT_OK)
        status = o->by_host ? run_by_hosts(job, &user, o->verify, &wrong)
                            : run_by_ranks(job, &user, &wrong);
    if (status != WEFT_OK)
        return 1;
    if (weft_numbers_of(job)->process != 0)
        return 0;
    printf("batches of %llu bytes, driven by the %s: %.2f million vectors/s\n",
           (unsigned long long)(o->batch * VECTOR_BYTES), o->by_host ? "host" : "ranks",
           (double)o->vectors * 1e-6 / (seconds() - begin));
    if (o->verify && wrong == 0)
        printf("%llu products, none wrong\n", (unsigned long long)o->vectors);
    else if (o->verify)
        fprintf(stderr, "matrix_vector: %llu of %llu products are wrong\n",
                (unsigned long long)wrong, (unsigned long long)o->vectors);
    return wrong != 0;
}

int main(int argc, char **argv)
{
    struct options options;
    weft_job *job;
    int status;

    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return 1;
    const bool help = argc > 1 && strcmp(argv[1], "--help") == 0;
    const int processes = weft_numbers_of(job)->processes;
    const bool read = !help && read_options(argc, argv, &options);
    if (!read || processes != 2) {
        if (weft_numbers_of(job)->process == 0 && read)
            fprintf(stderr, "matrix_vector: needs 2 processes, and has %d\n", processes);
        if (weft_numbers_of(job)->process == 0)
            fputs(usage_text, help ? stdout : stderr);
        status = help ? 0 : 2;
    } else {
        status = run_matrix_vector(job, &options);
    }
    return weft_close(job) != WEFT_OK || !report_flushed() ? 1 : status;
}
