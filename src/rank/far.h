/*
 * rank/far.h - what a kernel on a GPU calls by pointers: all but the short ways of rank/near.h.
 *
 * A function that a kernel calls directly is given registers beyond those that its callers hold, so
 * a kernel would take the sum along its deepest chain of calls. The pointers lie in the rank's
 * shared memory, where no compiler sees what they are; so each call keeps to the ABI, and its
 * registers are its own. Nothing that is called so calls by a pointer itself: of two levels nvcc
 * cannot tell the stack.
 *
 * Compiled with -dc a file takes the functions from the library weft_device, else it has its own.
 */
#ifndef WEFT_RANK_FAR_H
#define WEFT_RANK_FAR_H

#include "weft/device.h"

#include <stdbool.h>

struct weft_exposed;
struct weft_route;
struct weft_out;

#define WEFT_NO_TAG INT64_MIN /* of a put without a notification */

/* Calls of weft/device.h that are far as a whole: X(type, name, parameters, arguments). */
/* clang-format off */
#define WEFT_FAR_CALLS(X)                                                                          \
    X(void, weft_begin, (weft_self *self, void *shared), (self, shared))                           \
    X(void, weft_end, (weft_self *self), (self))                                                   \
    X(int, weft_process_first, (weft_self *self, int process), (self, process))                    \
    X(int, weft_process_ranks, (weft_self *self, int process), (self, process))                    \
    X(weft_comm, weft_comm_split, (weft_self *self, weft_comm parent, int color, int key),         \
      (self, parent, color, key))                                                                  \
    X(void, weft_comm_free, (weft_self *self, weft_comm *comm), (self, comm))                      \
    X(weft_win, weft_win_create, (weft_self *self, weft_comm comm, void *base, size_t bytes),      \
      (self, comm, base, bytes))                                                                   \
    X(void, weft_win_free, (weft_self *self, weft_win *win), (self, win))                          \
    X(void *, weft_ptr, (weft_self *self, weft_win win, int target), (self, win, target))          \
    X(void, weft_put_notify_many,                                                                  \
      (weft_self *self, weft_win win, const weft_put_item *items, int count),                      \
      (self, win, items, count))                                                                   \
    X(void, weft_put_2d,                                                                           \
      (weft_self *self, weft_win win, int target, size_t offset, size_t pitch, const void *source, \
       size_t source_pitch, size_t width, size_t height),                                          \
      (self, win, target, offset, pitch, source, source_pitch, width, height))                     \
    X(void, weft_put_2d_notify,                                                                    \
      (weft_self *self, weft_win win, int target, size_t offset, size_t pitch, const void *source, \
       size_t source_pitch, size_t width, size_t height, int tag),                                 \
      (self, win, target, offset, pitch, source, source_pitch, width, height, tag))                \
    X(weft_op, weft_put_begin,                                                                     \
      (weft_self *self, weft_win win, int target, size_t offset, const void *source,               \
       size_t bytes),                                                                              \
      (self, win, target, offset, source, bytes))                                                  \
    X(weft_op, weft_get_2d_begin,                                                                  \
      (weft_self *self, weft_win win, int from, size_t offset, size_t pitch, void *to,             \
       size_t to_pitch, size_t width, size_t height),                                              \
      (self, win, from, offset, pitch, to, to_pitch, width, height))                               \
    X(void, weft_get_notify,                                                                       \
      (weft_self *self, weft_win win, int from, size_t offset, void *to, size_t bytes, int tag),   \
      (self, win, from, offset, to, bytes, tag))                                                   \
    X(weft_op, weft_fetch_add_begin,                                                               \
      (weft_self *self, weft_win win, int target, size_t offset, uint64_t value, uint64_t *old),   \
      (self, win, target, offset, value, old))                                                     \
    X(void, weft_add, (weft_self *self, weft_win win, int target, size_t offset, uint64_t value),  \
      (self, win, target, offset, value))                                                          \
    X(weft_op, weft_accumulate_begin,                                                              \
      (weft_self *self, weft_win win, int target, size_t offset, const void *source, size_t count, \
       weft_type type, weft_operation operation),                                                  \
      (self, win, target, offset, source, count, type, operation))                                 \
    X(int, weft_op_test, (weft_self *self, weft_op op, weft_progress how), (self, op, how))        \
    X(void, weft_op_wait, (weft_self *self, weft_op op, weft_progress how), (self, op, how))       \
    X(void, weft_batch_begin, (weft_self *self), (self))                                           \
    X(void, weft_batch_end, (weft_self *self), (self))                                             \
    X(void, weft_flush_local, (weft_self *self, weft_win win), (self, win))                        \
    X(void, weft_flush, (weft_self *self, weft_win win), (self, win))                              \
    X(void, weft_fence, (weft_self *self), (self))                                                 \
    X(void, weft_notify_many,                                                                      \
      (weft_self *self, weft_comm comm, const int *targets, int count, int tag),                   \
      (self, comm, targets, count, tag))                                                           \
    X(int, weft_test, (weft_self *self, int tag, uint32_t count), (self, tag, count))              \
    X(void, weft_wait_until,                                                                       \
      (weft_self *self, const uint64_t *address, weft_compare how, uint64_t value),                \
      (self, address, how, value))                                                                 \
    X(void, weft_wait_until_u32,                                                                   \
      (weft_self *self, const uint32_t *address, weft_compare how, uint32_t value),                \
      (self, address, how, value))                                                                 \
    X(void, weft_timer_start, (weft_self *self), (self))                                           \
    X(void, weft_timer_stop, (weft_self *self), (self))                                            \
    X(void, weft_region_begin, (weft_self *self, const char *name), (self, name))                  \
    X(void, weft_region_end, (weft_self *self), (self))                                            \
    X(void, weft_log_values,                                                                       \
      (weft_self *self, const char *format, int count, const weft_log_arg *args),                  \
      (self, format, count, args))

/* What else rank/near.h calls: X(type, name, parameters). */
#define WEFT_FAR_PARTS(X)                                                                          \
    X(bool, weft_attend_to, (weft_self *self))                                                     \
    X(bool, weft_look_stop, (weft_self *self))                                                     \
    X(bool, weft_wait_long,                                                                        \
      (weft_self *self, uint32_t rounds, enum weft_wait_kind kind, uint64_t a, uint64_t have,      \
       uint64_t need))                                                                             \
    X(void, weft_wait_told_over, (weft_self *self))                                                \
    X(void, weft_path_meet_late, (weft_self *self, int process))                                   \
    X(void, weft_settle, (weft_self *self, int process))                                           \
    X(void, weft_path_tell, (weft_self *self, int process, uint32_t word, bool fenced))            \
    X(void, weft_out_await, (weft_self *self, struct weft_out *out, uint32_t line))                \
    X(void, weft_out_talked,                                                                       \
      (weft_self *self, struct weft_exposed *exposed, int32_t process, uint32_t slot))             \
    X(void, weft_channel_put_far,                                                                  \
      (weft_self *self, uint32_t way, uint64_t to, const void *source, size_t bytes, int tag))     \
    X(bool, weft_channel_put_hot,                                                                  \
      (weft_self *self, uint32_t way, uint64_t to, const void *source, size_t bytes, int tag))     \
    X(bool, weft_channel_notify_hot, (weft_self *self, uint32_t way, uint32_t tag, bool relaxed))  \
    X(void, weft_channel_notify_far,                                                               \
      (weft_self *self, const struct weft_route *to, uint32_t tag, bool relaxed))                  \
    X(bool, weft_wait_hot, (weft_self *self, uint32_t tag, uint32_t need))                         \
    X(void, weft_copy_wide, (unsigned char *target, const unsigned char *from, size_t items))      \
    X(void, weft_copy_row,                                                                         \
      (unsigned char *target, const unsigned char *from, size_t bytes, unsigned thread,            \
       unsigned threads))                                                                          \
    X(weft_op, weft_get_begin_far,                                                                 \
      (weft_self *self, weft_win win, int from, size_t offset, void *to, size_t bytes))            \
    X(int, weft_size_far, (weft_self *self, weft_comm comm))                                       \
    X(int, weft_rank_far, (weft_self *self, weft_comm comm))                                       \
    X(void, weft_barrier_far, (weft_self *self, weft_comm comm, enum weft_wait_kind as))           \
    X(void, weft_put_far,                                                                          \
      (weft_self *self, weft_win win, int target, size_t offset, const void *source, size_t bytes, \
       int64_t tag, const char *call))                                                             \
    X(void, weft_notify_far,                                                                       \
      (weft_self *self, weft_comm comm, int target, int tag, bool relaxed))                        \
    X(void, weft_wait_far, (weft_self *self, int tag, uint32_t count))                             \
    X(void, weft_get_far,                                                                          \
      (weft_self *self, weft_win win, int from, size_t offset, void *to, size_t bytes))            \
    X(uint64_t, weft_update_far,                                                                   \
      (weft_self *self, weft_win win, int target, size_t offset, uint32_t how, uint32_t type,      \
       uint64_t value, uint64_t expected, bool relaxed))
/* clang-format on */

#ifdef __CUDACC__

struct weft_far {
#define WEFT_FAR_CALL(type, name, parameters, arguments) type(*name##_far) parameters;
#define WEFT_FAR_PART(type, name, parameters)            type(*name) parameters;
    WEFT_FAR_CALLS(WEFT_FAR_CALL)
    WEFT_FAR_PARTS(WEFT_FAR_PART)
#undef WEFT_FAR_CALL
#undef WEFT_FAR_PART
};

/* Stores the pointers: the library's. The names have the number of their layout. */
#if WEFT_QUEUES
#define WEFT_FAR_SET weft_far_queues_v1
#else
#define WEFT_FAR_SET weft_far_v1
#endif
#if defined(__CUDACC_RDC__) && !defined(WEFT_FAR_HERE)
#define WEFT_FAR_LIBRARY
extern __device__ void WEFT_FAR_SET(struct weft_far *far);
#endif

/* How a call of WEFT_FAR_CALLS is defined, and called by others that are far. */
#define WEFT_FAR_FN(type, name) WEFT_COLD type name##_far
#define WEFT_FAR(name)          name##_far
#else
#define WEFT_FAR_FN(type, name) WEFT_FN type name
#define WEFT_FAR(name)          name
#endif
#endif
