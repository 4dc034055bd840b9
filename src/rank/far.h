/*
 * rank/far.h - what a kernel on a GPU calls by pointers: what is never on the way of a message.
 *
 * A function that a kernel calls directly is given registers beyond those that its callers hold, so
 * a kernel would take the sum along its deepest chain of calls. What the pointers are depends on
 * the rank's shared memory, which no compiler sees through; so each call keeps to the ABI, and its
 * registers are its own. Nothing that is called so calls by a pointer itself: of two levels nvcc
 * cannot tell the stack.
 *
 * Compiled with -dc a file takes the functions from the library weft_device, else it has its own.
 */
#ifndef WEFT_RANK_FAR_H
#define WEFT_RANK_FAR_H

#include "weft/device.h"

#ifdef __CUDACC__

/* clang-format off */
#define WEFT_FAR_MAP(X)                                                                            \
    X(weft_begin_far) X(weft_end_far) X(weft_process_first_far) X(weft_process_ranks_far)          \
    X(weft_comm_split_far) X(weft_comm_free_far) X(weft_win_create_far) X(weft_win_free_far)       \
    X(weft_ptr_far) X(weft_put_notify_many_far) X(weft_put_2d_far) X(weft_put_2d_notify_far)       \
    X(weft_put_begin_far) X(weft_get_2d_begin_far) X(weft_get_notify_far)                          \
    X(weft_fetch_add_begin_far) X(weft_add_far) X(weft_accumulate_begin_far) X(weft_op_test_far)   \
    X(weft_op_wait_far) X(weft_batch_begin_far) X(weft_batch_end_far) X(weft_flush_local_far)      \
    X(weft_flush_far) X(weft_fence_far) X(weft_notify_many_far) X(weft_test_far)                   \
    X(weft_wait_until_far) X(weft_wait_until_u32_far) X(weft_timer_start_far)                      \
    X(weft_timer_stop_far) X(weft_region_begin_far) X(weft_region_end_far)                         \
    X(weft_log_values_far) X(weft_attend_to) X(weft_look_stop) X(weft_wait_long)                   \
    X(weft_wait_told_over) X(weft_path_meet_late) X(weft_path_tell) X(weft_size_far)               \
    X(weft_rank_far) X(weft_barrier_far) X(weft_update_far) X(weft_wait_by_letter)           \
    X(weft_wait_led_traced) X(weft_wait_nic) X(weft_wait_traced) X(weft_put_recorded)            \
    X(weft_notify_recorded)
/* clang-format on */

enum {
#define WEFT_FAR_ENUM(function) WEFT_FAR_##function,
    WEFT_FAR_MAP(WEFT_FAR_ENUM) WEFT_FAR_COUNT
#undef WEFT_FAR_ENUM
};

/* Stores the pointers: the library's. The names have the number of their order. */
#if WEFT_QUEUES
#define WEFT_FAR_SET weft_far_queues_v1
#else
#define WEFT_FAR_SET weft_far_v1
#endif
#if defined(__CUDACC_RDC__) && !defined(WEFT_FAR_HERE)
#define WEFT_FAR_LIBRARY
extern __device__ void WEFT_FAR_SET(void *far[WEFT_FAR_COUNT]);
#endif

/*
 * weft_far(self, function)(arguments) calls it by its pointer, of the rank's table; in a file that
 * has the functions itself, by its address and a number that is 0, which the compiler does not
 * know: so only those that are called are compiled.
 */
#if defined(WEFT_FAR_LIBRARY) || defined(WEFT_FAR_HERE)
#define WEFT_FAR_AT(self, function) ((struct weft_cuda_rank *)(self))->far[WEFT_FAR_##function]
#else
#define WEFT_FAR_AT(self, function)                                                                \
    (void *)((uint64_t)(function) + ((volatile struct weft_cuda_rank *)(self))->zero)
#endif
#define weft_far(self, function) weft_far_typed(WEFT_FAR_AT(self, function), function)
template <class F> static __device__ __forceinline__ F weft_far_typed(void *pointer, F)
{
    return (F)pointer;
}

/*
 * Defines a call of weft/device.h that is far as a whole; others that are far call it by
 * WEFT_FAR(name).
 */
#define WEFT_FAR_FN(type, name, parameters, arguments)                                             \
    WEFT_COLD type name##_far parameters;                                                          \
    WEFT_FN type name parameters                                                                   \
    {                                                                                              \
        return weft_far(self, name##_far) arguments;                                               \
    }                                                                                              \
    WEFT_COLD type name##_far parameters
/* The far half of one that has a near one, too: its call is in rank/near.h. */
#define WEFT_FAR_HALF WEFT_COLD
#define WEFT_NEAR(way)                                                                             \
    if (way)                                                                                       \
        return;
#define WEFT_FAR(name) name##_far
#else
#define WEFT_FAR_FN(type, name, parameters, arguments) WEFT_FN type name parameters
#define WEFT_FAR_HALF                                  WEFT_HOT
#define WEFT_NEAR(way)
#define weft_far(self, function) function
#define WEFT_FAR(name)           name
#endif
#endif
