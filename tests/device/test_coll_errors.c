/*
 * Collectives that ranks do not agree about, or that cannot be, end the job with one line that
 * names the call and both sides' values; nobody hangs, and no call returns. The last rank errs.
 */
#include "support/error_cases.h"

#include <weft/coll.h>

enum { WORDS = 1000 };

/* X(name, status, the call in the message, words in it) */
#define CASES(X)                                                                                   \
    X(counts, ERR_MISMATCH, "weft_allreduce on WEFT_COMM_WORLD", "has count 5")                    \
    X(count_large, ERR_MISMATCH, "weft_allreduce on WEFT_COMM_WORLD", "has count 500")             \
    X(count_small_large, ERR_MISMATCH, "weft_reduce on WEFT_COMM_WORLD", "has count 500")          \
    X(types, ERR_MISMATCH, "weft_scan on WEFT_COMM_WORLD", "has type F64")                         \
    X(operations, ERR_MISMATCH, "weft_reduce_scatter on WEFT_COMM_WORLD", "has operation MAX")     \
    X(roots, ERR_MISMATCH, "weft_broadcast on WEFT_COMM_WORLD", "has root 1")                      \
    X(calls, ERR_MISMATCH, "weft_allgather", "weft_alltoall")                                      \
    X(barrier, ERR_MISMATCH, "weft_gather", "meets a barrier")                                     \
    X(root, ERR_RANK, "weft_gather: root 77", "")                                                  \
    X(root_negative, ERR_RANK, "weft_broadcast: root -1", "")                                      \
    X(null, ERR_ARGUMENT, "weft_allreduce: source 0x0", "")                                        \
    X(unaligned, ERR_ARGUMENT, "weft_alltoall: source", "8 bytes")                                 \
    X(type, ERR_ARGUMENT, "weft_allgather: type 6", "")                                            \
    X(operation, ERR_ARGUMENT, "weft_reduce: type 4, operation 3", "")                             \
    X(many, ERR_ARGUMENT, "weft_scan", "18446744073709551615 elements")                            \
    X(freed, ERR_COMM, "weft_allreduce: communicator 0x", "")                                      \
    X(sizes_sums, ERR_MISMATCH, "weft_allgather on WEFT_COMM_WORLD", "has count")                  \
    X(sizes_pair, ERR_MISMATCH, "weft_alltoall: rank", "which expects 3")                          \
    X(sizes_and_not, ERR_MISMATCH, "weft_gather on WEFT_COMM_WORLD", "has operation")              \
    X(sizes_null, ERR_ARGUMENT, "weft_gather: sizes 0x0", "")                                      \
    X(sizes_huge, ERR_ARGUMENT, "weft_alltoall: block 0", "18446744073709551615 elements")         \
    X(sizes_root, ERR_RANK, "weft_gather: root 77", "")                                            \
    X(sizes_source, ERR_ARGUMENT, "weft_allgather: the memory is NULL", "")                        \
    X(sizes_unaligned, ERR_ARGUMENT, "weft_alltoall: source", "8 bytes")

enum error_case { CASES(ERROR_ENUM) CASE_COUNT };

/* bad: this rank errs. */
WEFT_DEVICE_FN void disagree(weft_self *self, enum error_case number, double *from, double *to,
                             int bad)
{
    const weft_comm all = WEFT_COMM_WORLD;

    switch (number) {
    case CASE_counts:
        weft_allreduce(self, all, from, to, bad ? 5 : 4, WEFT_F64, WEFT_SUM);
        break;
    case CASE_count_large:
        weft_allreduce(self, all, from, to, bad ? 500 : 501, WEFT_F64, WEFT_SUM);
        break;
    case CASE_count_small_large:
        weft_reduce(self, all, 0, from, to, bad ? 500 : 1, WEFT_F64, WEFT_SUM);
        break;
    case CASE_types:
        weft_scan(self, all, from, to, 3, bad ? WEFT_I64 : WEFT_F64, WEFT_SUM);
        break;
    case CASE_operations:
        weft_reduce_scatter(self, all, from, to, 3, WEFT_F64, bad ? WEFT_MIN : WEFT_MAX);
        break;
    case CASE_roots:
        weft_broadcast(self, all, bad, from, 3, WEFT_F64);
        break;
    case CASE_calls:
        if (bad)
            weft_alltoall(self, all, from, to, 3, WEFT_F64);
        else
            weft_allgather(self, all, from, to, 3, WEFT_F64);
        break;
    case CASE_barrier:
        if (bad)
            weft_barrier(self, all);
        else
            weft_gather(self, all, 0, from, to, 1, WEFT_F64);
        break;
    default:
        break;
    }
}

/* With sizes: an element from and to everybody, but where this rank errs. No blocks overlap: the
 * others may write some before they hear of the error. */
WEFT_DEVICE_FN void disagree_in_sizes(weft_self *self, enum error_case number, double *from,
                                      double *to, int bad)
{
    const weft_comm all = WEFT_COMM_WORLD;
    size_t *const sizes = (size_t *)(void *)(to + 2 * WORDS / 4);
    size_t *const others = sizes + WORDS / 8;
    size_t *const offsets = others + WORDS / 8;

    for (int i = 0; weft_thread(self) == 0 && i < WORDS / 8; i++) {
        sizes[i] = others[i] = 1;
        offsets[i] = 3 * (size_t)i;
    }
    if (weft_thread(self) == 0 && bad)
        others[0] = number == CASE_sizes_huge ? SIZE_MAX : 3;
    weft_sync(self);
    switch (number) {
    case CASE_sizes_sums:
        weft_allgather_sizes(self, all, from, to, others, offsets, WEFT_F64);
        break;
    case CASE_sizes_pair:
    case CASE_sizes_huge:
        weft_alltoall_sizes(self, all, from, sizes, offsets, to, others, offsets, WEFT_F64);
        break;
    case CASE_sizes_and_not:
        if (bad)
            weft_gather_sizes(self, all, 0, from, to, sizes, offsets, WEFT_F64);
        else
            weft_gather(self, all, 0, from, to, 1, WEFT_F64);
        break;
    case CASE_sizes_null:
        weft_gather_sizes(self, all, 0, from, to, bad ? NULL : sizes, offsets, WEFT_F64);
        break;
    case CASE_sizes_root:
        weft_gather_sizes(self, all, bad ? 77 : 0, from, to, sizes, offsets, WEFT_F64);
        break;
    case CASE_sizes_source:
        weft_allgather_sizes(self, all, bad ? NULL : from, to, sizes, offsets, WEFT_F64);
        break;
    case CASE_sizes_unaligned:
        weft_alltoall_sizes(self, all, (char *)from + 4 * bad, sizes, offsets, to, sizes, offsets,
                            WEFT_F64);
        break;
    default:
        break;
    }
}

WEFT_DEVICE_FN void ask_for_nothing(weft_self *self, enum error_case number, double *from,
                                    double *to, weft_comm freed)
{
    const weft_comm all = WEFT_COMM_WORLD;

    switch (number) {
    case CASE_root:
        weft_gather(self, all, 77, from, to, 1, WEFT_F64);
        break;
    case CASE_root_negative:
        weft_broadcast(self, all, -1, from, 1, WEFT_F64);
        break;
    case CASE_null:
        weft_allreduce(self, all, NULL, to, 1, WEFT_F64, WEFT_SUM);
        break;
    case CASE_unaligned:
        weft_alltoall(self, all, (float *)from + 1, to, 1, WEFT_F64);
        break;
    case CASE_type:
        weft_allgather(self, all, from, to, 1, (weft_type)6);
        break;
    case CASE_operation:
        weft_reduce(self, all, 0, from, to, 1, WEFT_F32, WEFT_AND);
        break;
    case CASE_many:
        weft_scan(self, all, from, to, SIZE_MAX, WEFT_F64, WEFT_SUM);
        break;
    case CASE_freed:
        weft_allreduce(self, freed, from, to, 1, WEFT_F64, WEFT_SUM);
        break;
    default:
        break;
    }
}

WEFT_KERNEL(coll_errors_kernel, struct error_data, user)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), n = weft_size(self, WEFT_COMM_WORLD);
    double *const from = (double *)test_mine(self, user->memory, 2 * WORDS * sizeof(double));
    double *const to = from + WORDS;
    const enum error_case number = (enum error_case)user->number;

    weft_comm comm = weft_comm_split(self, WEFT_COMM_WORLD, 0, 0);
    const weft_comm freed = comm;
    weft_allreduce(self, comm, from, to, 2, WEFT_F64, WEFT_SUM);
    weft_comm_free(self, &comm);
    weft_allreduce(self, WEFT_COMM_WORLD, from, to, 2, WEFT_F64, WEFT_SUM);
    disagree(self, number, from, to, me == n - 1);
    disagree_in_sizes(self, number, from, to, me == n - 1);
    if (me == n - 1)
        ask_for_nothing(self, number, from, to, freed);
    weft_barrier(self, WEFT_COMM_WORLD);
    weft_barrier(self, WEFT_COMM_WORLD);
    if (weft_thread(self) == 0)
        test_add_u32(&user->returned, 1);
}

#ifndef __CUDACC__

static const struct error_row errors[CASE_COUNT] = {CASES(ERROR_ROW)};

static int body(struct test_env *env)
{
    return error_case_run(env, &coll_errors_kernel, errors, CASE_COUNT, 2 * WORDS * sizeof(double));
}

int main(int argc, char **argv)
{
    return error_cases_main(argc, argv, errors, CASE_COUNT, body);
}
#endif
