/*
 * matrix_vector/kernel.cu - batches of vectors are sent, multiplied, and sent back, by ranks alone
 * (GPUrdma's multi-matrix-vector product); or one batch is multiplied, for the host programs.
 */
#include <weft/queue.h>

#include "matrix_vector.h"

/* Each group of ROWS threads multiplies a vector; on the CPU device one thread does it all. */
WEFT_DEVICE_FN void multiply(weft_self *self, const struct multiplying *user, const float *in,
                             float *out, uint64_t count)
{
    const int threads = weft_threads(self), lanes = threads < ROWS ? 1 : ROWS;
    const int lane = weft_thread(self) % lanes, groups = threads / lanes;
    const float *const matrix = user->matrix;

    for (uint64_t v = (uint64_t)(weft_thread(self) / lanes); v < count; v += (uint64_t)groups)
        for (int row = lane; row < ROWS && weft_thread(self) < groups * lanes; row += lanes) {
            float sum = 0;
            for (int column = 0; column < ROWS; column++)
                sum += matrix[column * ROWS + row] * in[v * ROWS + (uint64_t)column];
            out[v * ROWS + (uint64_t)row] = sum;
        }
    weft_sync(self);
}

/* How many vectors the rank's k-th batch has: batches go round the ranks. */
WEFT_DEVICE_FN uint64_t in_batch(const struct multiplying *user, int rank, int ranks, uint64_t k)
{
    const uint64_t first = (k * (uint64_t)ranks + (uint64_t)rank) * user->batch;
    const uint64_t left = first < user->vectors ? user->vectors - first : 0;
    return left < user->batch ? left : user->batch;
}

/* Which of the kinds a vector is. */
WEFT_DEVICE_FN uint64_t kind_of(uint64_t vector)
{
    return vector % KINDS;
}

WEFT_DEVICE_FN void fill(weft_self *self, const struct multiplying *user, float *batch,
                         uint64_t first, uint64_t count)
{
    weft_for (i, count * ROWS)
        batch[i] = user->kinds[kind_of(first + i / ROWS) * ROWS + i % ROWS];
    weft_sync(self);
}

WEFT_DEVICE_FN void check(weft_self *self, const struct multiplying *user, const float *batch,
                          uint64_t first, uint64_t count, uint64_t *wrong)
{
    double differ = 0;

    weft_for (v, count) {
        const float *want = user->expected + kind_of(first + v) * ROWS;
        int same = 1;
        for (int row = 0; row < ROWS; row++)
            same &= batch[v * ROWS + (uint64_t)row] == want[row];
        differ += !same;
    }
    differ = weft_block_sum(self, differ);
    if (weft_thread(self) == 0)
        *wrong += (uint64_t)differ;
    weft_sync(self);
}

/* The rank sends its batches, SLOTS at once, and takes the products. */
WEFT_DEVICE_FN void feed(weft_self *self, const struct multiplying *user, weft_win win, int rank,
                         int ranks, int partner, const float *in, float *out)
{
    uint64_t sent = 0, taken = 0;

    while (in_batch(user, rank, ranks, taken) != 0) {
        const uint64_t next = in_batch(user, rank, ranks, sent);
        if (next != 0 && sent - taken < SLOTS) {
            const size_t at = (size_t)(sent % SLOTS) * user->batch * ROWS;
            weft_flush_local(self, win);
            fill(self, user, out + at, (sent * (uint64_t)ranks + (uint64_t)rank) * user->batch,
                 next);
            weft_put_notify(self, win, partner, at * sizeof(float), out + at,
                            next * ROWS * sizeof(float), TAG_BATCH);
            sent++;
            continue;
        }
        weft_wait(self, TAG_PRODUCTS, 1);
        if (user->verify)
            check(self, user, in + taken % SLOTS * user->batch * ROWS,
                  (taken * (uint64_t)ranks + (uint64_t)rank) * user->batch,
                  in_batch(user, rank, ranks, taken), &user->wrong[rank]);
        taken++;
    }
}

/* The partner multiplies them. */
WEFT_DEVICE_FN void serve(weft_self *self, const struct multiplying *user, weft_win win, int rank,
                          int ranks, int partner, const float *in, float *out)
{
    for (uint64_t k = 0; in_batch(user, rank, ranks, k) != 0; k++) {
        const uint64_t count = in_batch(user, rank, ranks, k);
        const size_t at = (size_t)(k % SLOTS) * user->batch * ROWS;
        weft_wait(self, TAG_BATCH, 1);
        weft_flush_local(self, win);
        multiply(self, user, in + at, out + at, count);
        weft_put_notify(self, win, partner, at * sizeof(float), out + at,
                        count * ROWS * sizeof(float), TAG_PRODUCTS);
    }
}

WEFT_KERNEL(multiplying_kernel, struct multiplying, user)
{
    const int rank = weft_rank(self, WEFT_COMM_DEVICE), ranks = weft_size(self, WEFT_COMM_DEVICE);
    const int first = weft_process(self) == 0;

    if (user->launches != 0) {
        const uint64_t from = user->count * (uint64_t)rank / (uint64_t)ranks;
        const uint64_t to = user->count * (uint64_t)(rank + 1) / (uint64_t)ranks;
        if (!first)
            multiply(self, user, user->inbox + from * ROWS, user->outbox + from * ROWS, to - from);
        return;
    }
    const size_t each = SLOTS * user->batch * ROWS;
    float *const in = user->inbox + (size_t)rank * each, *out = user->outbox + (size_t)rank * each;
    const int partner = weft_process_first(self, first ? 1 : 0) + rank;
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, in, each * sizeof(float));
    if (first)
        feed(self, user, win, rank, ranks, partner, in, out);
    else
        serve(self, user, win, rank, ranks, partner, in, out);
    weft_win_free(self, &win);
}
