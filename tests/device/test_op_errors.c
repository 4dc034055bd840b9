/*
 * As test_errors, of gets, updates, operations and batches: what the last rank does wrong ends the
 * job with one line, and no call of the others, which wait, returns.
 */
#include "support/error_cases.h"

enum { BYTES = 64, EACH = 4 * BYTES };

/* X(name, status, the call in the message, a number or word in it) */
#define CASES(X)                                                                                   \
    X(get_beyond, ERR_BOUNDS, "weft_get:", "61")                                                   \
    X(get_wraps, ERR_BOUNDS, "weft_get:", "18446744073709551615")                                  \
    X(get_2d_beyond, ERR_BOUNDS, "weft_get_2d_begin:", "4611686018427387904")                      \
    X(get_2d_rows_overlap, ERR_ARGUMENT, "weft_get_2d_begin:", "7")                                \
    X(get_null, ERR_ARGUMENT, "weft_get_begin:", "the memory is NULL")                             \
    X(get_rank, ERR_RANK, "weft_get:", "-3")                                                       \
    X(get_freed_window, ERR_WINDOW, "weft_get:", "0x")                                             \
    X(get_tag, ERR_TAG, "weft_get_notify:", "256")                                                 \
    X(add_beyond, ERR_BOUNDS, "weft_add:", "57")                                                   \
    X(add_unaligned, ERR_ARGUMENT, "weft_fetch_add:", "aligned to 8")                              \
    X(add_rank, ERR_RANK, "weft_fetch_add_u32:", "1000000")                                        \
    X(swap_freed_window, ERR_WINDOW, "weft_swap:", "0x")                                           \
    X(swap_unaligned, ERR_ARGUMENT, "weft_swap_u32:", "aligned to 4")                              \
    X(compare_unaligned, ERR_ARGUMENT, "weft_compare_swap:", "offset 1 ")                          \
    X(compare_device_window, ERR_RANK, "weft_compare_swap:", "ranks")                              \
    X(accumulate_beyond, ERR_BOUNDS, "weft_accumulate_begin:", "72 bytes")                         \
    X(accumulate_wraps, ERR_BOUNDS, "weft_accumulate_begin:", "18446744073709551615")              \
    X(accumulate_type, ERR_ARGUMENT, "weft_accumulate_begin:", "type 6")                           \
    X(accumulate_operation, ERR_ARGUMENT, "weft_accumulate_begin:", "operation 7")                 \
    X(accumulate_xor_real, ERR_ARGUMENT, "weft_accumulate_begin:", "operation 5")                  \
    X(accumulate_half_beyond, ERR_BOUNDS, "weft_accumulate_half_begin:", "66 bytes")               \
    X(accumulate_half_unaligned, ERR_ARGUMENT, "weft_accumulate_half_begin:", "aligned to 2")      \
    X(accumulate_half_bits, ERR_ARGUMENT, "weft_accumulate_half_begin:", "operation 3")            \
    X(accumulate_half_type, ERR_ARGUMENT, "weft_accumulate_half_begin:", "type 4")                 \
    X(accumulate_null, ERR_ARGUMENT, "weft_accumulate_begin:", "2 elements")                       \
    X(op_other_rank, ERR_ARGUMENT, "weft_op_wait:", "none of this rank")                           \
    X(op_to_come, ERR_ARGUMENT, "weft_op_test:", "4611686018427387904")                            \
    X(op_process, ERR_ARGUMENT, "weft_op_wait:", "process 1000000")                                \
    X(op_progress, ERR_ARGUMENT, "weft_op_wait:", "3 is neither")                                  \
    X(batch_end, ERR_STATE, "weft_batch_end:", "no batch was begun")                               \
    X(reduce_type, ERR_ARGUMENT, "weft_block_reduce:", "type 6")                                   \
    X(reduce_operation, ERR_ARGUMENT, "weft_block_reduce:", "operation 8")                         \
    X(reduce_index, ERR_ARGUMENT, "weft_block_reduce:", "operation 0")                             \
    X(scan_real_bits, ERR_ARGUMENT, "weft_block_scan:", "operation 3")                             \
    X(scan_null, ERR_ARGUMENT, "weft_block_scan:", "value at 0x0")                                 \
    X(atomic_unaligned, ERR_ARGUMENT, "weft_atomic:", "not aligned")                               \
    X(atomic_operation, ERR_ARGUMENT, "weft_atomic:", "no such thing")                             \
    X(atomic_null, ERR_ARGUMENT, "weft_atomic_swap:", "word 0x0")                                  \
    X(atomic_type, ERR_ARGUMENT, "weft_atomic_compare_swap:", "type 8")                            \
    X(box_beyond, ERR_BOUNDS, "weft_put_3d:", "window")                                            \
    X(box_wraps, ERR_BOUNDS, "weft_put_3d_notify:", "3 planes")                                    \
    X(box_rows_overlap, ERR_ARGUMENT, "weft_put_3d_notify:", "pitch 7")                            \
    X(box_tag, ERR_TAG, "weft_put_3d_notify:", "256")                                              \
    X(list_null, ERR_ARGUMENT, "weft_put_list_notify:", "2 pieces")                                \
    X(list_negative, ERR_ARGUMENT, "weft_put_list_notify:", "-1 pieces")                           \
    X(list_beyond, ERR_BOUNDS, "weft_put_list_notify:", "60")                                      \
    X(list_source, ERR_ARGUMENT, "weft_put_list_notify:", "the memory is NULL")                    \
    X(value_unaligned, ERR_ARGUMENT, "weft_notify_value:", "aligned to 4")                         \
    X(value_beyond, ERR_BOUNDS, "weft_notify_value:", "64")                                        \
    X(value_tag, ERR_TAG, "weft_notify_value:", "-1")                                              \
    X(value_window, ERR_WINDOW, "weft_notify_value:", "0x")                                        \
    X(where_least, ERR_ARGUMENT, "weft_wait_where:", "at least 3 of 2")                            \
    X(where_null, ERR_ARGUMENT, "weft_wait_where:", "status at 0x0")                               \
    X(where_unaligned, ERR_ARGUMENT, "weft_wait_where:", "2 words")                                \
    X(where_comparison, ERR_ARGUMENT, "weft_wait_where:", "comparison 6")

enum error_case { CASES(ERROR_ENUM) CASE_COUNT };

WEFT_DEVICE_FN void err_fetching(weft_self *self, struct error_data *user, weft_win win,
                                 weft_win device, weft_win freed)
{
    unsigned char *to = test_mine(self, user->memory, EACH) + BYTES;
    /* kind: 1 a put, 2 a get; above it a stamp, of which this one is of no rank here. */
    const weft_op other = {1, 0, 0xff1}, to_come = {(uint64_t)1 << 62, 0, 0xff2};
    const weft_op nowhere = {1, 1000000, 0xff1}, done = {0, 0, 0};

    switch ((enum error_case)user->number) {
    case CASE_get_beyond:
        weft_get(self, win, 0, 61, to, 4);
        break;
    case CASE_get_wraps:
        weft_get(self, win, 0, SIZE_MAX, to, 2);
        break;
    case CASE_get_2d_beyond:
        weft_get_2d_begin(self, win, 0, 0, (size_t)1 << 62, to, 1, 1, 5);
        break;
    case CASE_get_2d_rows_overlap:
        weft_get_2d_begin(self, win, 0, 0, 8, to, 7, 8, 2);
        break;
    case CASE_get_null:
        weft_get_begin(self, win, 0, 0, NULL, 9);
        break;
    case CASE_get_rank:
        weft_get(self, win, -3, 0, to, 1);
        break;
    case CASE_get_freed_window:
        weft_get(self, freed, 0, 0, to, 1);
        break;
    case CASE_get_tag:
        weft_get_notify(self, win, 0, 0, to, 1, 256);
        break;
    case CASE_add_beyond:
        weft_add(self, win, 0, 57, 1);
        break;
    case CASE_add_unaligned:
        weft_fetch_add(self, win, 0, 4, 1);
        break;
    case CASE_add_rank:
        weft_fetch_add_u32(self, win, 1000000, 0, 1);
        break;
    case CASE_swap_freed_window:
        weft_swap(self, freed, 0, 0, 1);
        break;
    case CASE_swap_unaligned:
        weft_swap_u32(self, win, 0, 2, 1);
        break;
    case CASE_compare_unaligned:
        weft_compare_swap(self, win, 0, 1, 1, 2);
        break;
    case CASE_compare_device_window:
        weft_compare_swap(self, device, weft_size(self, WEFT_COMM_DEVICE), 0, 1, 2);
        break;
    case CASE_accumulate_beyond:
        weft_accumulate_begin(self, win, 0, 0, to, 9, WEFT_U64, WEFT_SUM);
        break;
    case CASE_accumulate_wraps:
        weft_accumulate_begin(self, win, 0, 0, to, SIZE_MAX / 4 + 1, WEFT_U32, WEFT_SUM);
        break;
    case CASE_accumulate_type:
        weft_accumulate_begin(self, win, 0, 0, to, 1, WEFT_F16, WEFT_SUM);
        break;
    case CASE_accumulate_operation:
        weft_accumulate_begin(self, win, 0, 0, to, 1, WEFT_U64, (weft_operation)7);
        break;
    case CASE_accumulate_xor_real:
        weft_accumulate_begin(self, win, 0, 0, to, 1, WEFT_F64, WEFT_XOR);
        break;
    case CASE_accumulate_half_beyond:
        weft_accumulate_half_begin(self, win, 0, 0, to, 33, WEFT_F16, WEFT_SUM);
        break;
    case CASE_accumulate_half_unaligned:
        weft_accumulate_half_begin(self, win, 0, 3, to, 1, WEFT_BF16, WEFT_SUM);
        break;
    case CASE_accumulate_half_bits:
        weft_accumulate_half_begin(self, win, 0, 0, to, 1, WEFT_F16, WEFT_AND);
        break;
    case CASE_accumulate_half_type:
        weft_accumulate_half_begin(self, win, 0, 0, to, 1, WEFT_F32, WEFT_SUM);
        break;
    case CASE_accumulate_null:
        weft_accumulate_begin(self, win, 0, 0, NULL, 2, WEFT_U64, WEFT_SUM);
        break;
    case CASE_op_other_rank:
        weft_op_wait(self, other, WEFT_LOCAL);
        break;
    case CASE_op_to_come:
        weft_op_test(self, to_come, WEFT_LOCAL);
        break;
    case CASE_op_process:
        weft_op_wait(self, nowhere, WEFT_LOCAL);
        break;
    case CASE_batch_end:
        weft_batch_begin(self);
        weft_batch_end(self);
        weft_batch_end(self);
        break;
    case CASE_op_progress:
        weft_op_wait(self, done, (weft_progress)3);
        break;
    default:
        break;
    }
}

WEFT_DEVICE_FN void err_inside(weft_self *self, enum error_case number, unsigned char *word)
{
    uint64_t value = 1, index = 0;

    switch (number) {
    case CASE_reduce_type:
        weft_block_reduce(self, &value, WEFT_F16, WEFT_SUM, NULL);
        break;
    case CASE_reduce_operation:
        weft_block_reduce(self, &value, WEFT_U64, (weft_operation)8, NULL);
        break;
    case CASE_reduce_index:
        weft_block_reduce(self, &value, WEFT_U64, WEFT_SUM, &index);
        break;
    case CASE_scan_real_bits:
        weft_block_scan(self, &value, WEFT_F64, WEFT_AND, NULL);
        break;
    case CASE_scan_null:
        weft_block_scan(self, NULL, WEFT_U64, WEFT_SUM, &value);
        break;
    case CASE_atomic_unaligned:
        weft_atomic(self, word + 4, &value, WEFT_U64, WEFT_SUM, NULL);
        break;
    case CASE_atomic_operation:
        weft_atomic(self, word, &value, WEFT_U64, (weft_operation)9, NULL);
        break;
    case CASE_atomic_null:
        weft_atomic_swap(self, NULL, &value, WEFT_U64, NULL);
        break;
    case CASE_atomic_type:
        weft_atomic_compare_swap(self, word, &value, &value, WEFT_U8, NULL);
        break;
    default:
        break;
    }
}

WEFT_DEVICE_FN void err_pieces(weft_self *self, enum error_case number, unsigned char *memory,
                               weft_win win, weft_win freed)
{
    unsigned char *const from = memory + BYTES, *const status = memory + 3 * BYTES;
    uint64_t *const words = (uint64_t *)(void *)(memory + 2 * BYTES);
    weft_put_piece *const piece = (weft_put_piece *)(void *)words;
    weft_put_box box = {
        .source = from, .offset = 8, .width = 8, .height = 2, .depth = 3, .pitch = 8, .plane = 24};
    volatile int wrong = WEFT_LE + 1; /* nvcc 13.0 crashes where it sees the constant */

    status[0] = status[1] = 0;
    piece->source = number == CASE_list_source ? NULL : from;
    piece->bytes = 5;
    piece->offset = number == CASE_list_beyond ? 60 : 0;
    weft_sync(self);
    switch (number) {
    case CASE_box_beyond:
        weft_put_3d(self, win, 0, box);
        break;
    case CASE_box_wraps:
        box.plane = SIZE_MAX / 2;
        weft_put_3d_notify(self, win, 0, box, 1);
        break;
    case CASE_box_rows_overlap:
        box.pitch = 7;
        weft_put_3d_notify(self, win, 0, box, 1);
        break;
    case CASE_box_tag:
        weft_put_3d_notify(self, win, 0, box, 256);
        break;
    case CASE_list_null:
    case CASE_list_negative:
        weft_put_list_notify(self, win, 0, NULL, number == CASE_list_null ? 2 : -1, 1);
        break;
    case CASE_list_beyond:
    case CASE_list_source:
        weft_put_list_notify(self, win, 0, piece, 1, 1);
        break;
    case CASE_value_unaligned:
    case CASE_value_beyond:
        weft_notify_value(self, win, 0, number == CASE_value_beyond ? BYTES : 2, 1, 1);
        break;
    case CASE_value_tag:
        weft_notify_value(self, win, 0, 0, 1, -1);
        break;
    case CASE_value_window:
        weft_notify_value(self, freed, 0, 0, 1, 1);
        break;
    case CASE_where_least:
        weft_wait_where(self, words, 2, 3, WEFT_EQ, 1, status);
        break;
    case CASE_where_null:
        weft_wait_where(self, words, 2, 1, WEFT_EQ, 1, NULL);
        break;
    case CASE_where_unaligned:
        weft_wait_where(self, (uint64_t *)(void *)(memory + 4), 2, 1, WEFT_EQ, 1, status);
        break;
    case CASE_where_comparison:
        weft_wait_where(self, words, 2, 1, (weft_compare)wrong, 1, status);
        break;
    default:
        break;
    }
}

WEFT_KERNEL(op_errors_kernel, struct error_data, user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    unsigned char *memory = test_mine(self, user->memory, EACH);

    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, memory, BYTES);
    weft_win device = weft_win_create(self, WEFT_COMM_DEVICE, NULL, 0);
    weft_win window = weft_win_create(self, WEFT_COMM_WORLD, memory, BYTES);
    const weft_win freed = window;
    weft_win_free(self, &window);
    weft_barrier(self, WEFT_COMM_WORLD);
    if (me == n - 1) {
        err_fetching(self, user, win, device, freed);
        err_inside(self, (enum error_case)user->number, memory);
        err_pieces(self, (enum error_case)user->number, memory, win, freed);
    } else {
        weft_wait(self, 77, 5);
    }
    test_add_u32(&user->returned, 1);
}

#ifndef __CUDACC__
static const struct error_row errors[CASE_COUNT] = {CASES(ERROR_ROW)};

static int body(struct test_env *env)
{
    return error_case_run(env, &op_errors_kernel, errors, CASE_COUNT, EACH);
}

int main(int argc, char **argv)
{
    return error_cases_main(argc, argv, errors, CASE_COUNT, body);
}
#endif
