/*
 * weft/lines.h - with -DWEFT_LINES each call of a kernel on a GPU notes its place in the program.
 * An error of the rank is preceded by that place. It costs a store a call. The headers of the
 * device API include it, each for its own calls; nothing here is for kernels to name.
 */
#ifndef WEFT_DEVICE_H
#error "weft/lines.h is a part of weft/device.h: include that"
#endif

#define WEFT_LINES_TEXT(line)  #line
#define WEFT_LINES_PLACE(line) __FILE__ ":" WEFT_LINES_TEXT(line)
#undef WEFT_AT /* within weft's own code it is self */
#define WEFT_AT(self) weft_at(self, WEFT_LINES_PLACE(__LINE__))

/* clang-format off */
#ifdef WEFT_LINES_OF_DEVICE
#undef WEFT_LINES_OF_DEVICE
#define weft_size(self, ...) weft_size(WEFT_AT(self), __VA_ARGS__)
#define weft_rank(self, ...) weft_rank(WEFT_AT(self), __VA_ARGS__)
#define weft_process_first(self, ...) weft_process_first(WEFT_AT(self), __VA_ARGS__)
#define weft_process_ranks(self, ...) weft_process_ranks(WEFT_AT(self), __VA_ARGS__)
#define weft_enter(self) weft_enter(WEFT_AT(self))
#define weft_leave(self) weft_leave(WEFT_AT(self))
#define weft_comm_split(self, ...) weft_comm_split(WEFT_AT(self), __VA_ARGS__)
#define weft_comm_free(self, ...) weft_comm_free(WEFT_AT(self), __VA_ARGS__)
#define weft_barrier(self, ...) weft_barrier(WEFT_AT(self), __VA_ARGS__)
#define weft_win_create(self, ...) weft_win_create(WEFT_AT(self), __VA_ARGS__)
#define weft_win_free(self, ...) weft_win_free(WEFT_AT(self), __VA_ARGS__)
#define weft_ptr(self, ...) weft_ptr(WEFT_AT(self), __VA_ARGS__)
#define weft_put(self, ...) weft_put(WEFT_AT(self), __VA_ARGS__)
#define weft_put_notify(self, ...) weft_put_notify(WEFT_AT(self), __VA_ARGS__)
#define weft_put_notify_many(self, ...) weft_put_notify_many(WEFT_AT(self), __VA_ARGS__)
#define weft_put_2d(self, ...) weft_put_2d(WEFT_AT(self), __VA_ARGS__)
#define weft_put_2d_notify(self, ...) weft_put_2d_notify(WEFT_AT(self), __VA_ARGS__)
#define weft_put_3d(self, ...) weft_put_3d(WEFT_AT(self), __VA_ARGS__)
#define weft_put_3d_notify(self, ...) weft_put_3d_notify(WEFT_AT(self), __VA_ARGS__)
#define weft_put_list_notify(self, ...) weft_put_list_notify(WEFT_AT(self), __VA_ARGS__)
#define weft_put_begin(self, ...) weft_put_begin(WEFT_AT(self), __VA_ARGS__)
#define weft_get(self, ...) weft_get(WEFT_AT(self), __VA_ARGS__)
#define weft_get_begin(self, ...) weft_get_begin(WEFT_AT(self), __VA_ARGS__)
#define weft_get_2d_begin(self, ...) weft_get_2d_begin(WEFT_AT(self), __VA_ARGS__)
#define weft_get_notify(self, ...) weft_get_notify(WEFT_AT(self), __VA_ARGS__)
#define weft_fetch_add(self, ...) weft_fetch_add(WEFT_AT(self), __VA_ARGS__)
#define weft_swap(self, ...) weft_swap(WEFT_AT(self), __VA_ARGS__)
#define weft_compare_swap(self, ...) weft_compare_swap(WEFT_AT(self), __VA_ARGS__)
#define weft_fetch_add_u32(self, ...) weft_fetch_add_u32(WEFT_AT(self), __VA_ARGS__)
#define weft_swap_u32(self, ...) weft_swap_u32(WEFT_AT(self), __VA_ARGS__)
#define weft_compare_swap_u32(self, ...) weft_compare_swap_u32(WEFT_AT(self), __VA_ARGS__)
#define weft_fetch_add_relaxed(self, ...) weft_fetch_add_relaxed(WEFT_AT(self), __VA_ARGS__)
#define weft_swap_relaxed(self, ...) weft_swap_relaxed(WEFT_AT(self), __VA_ARGS__)
#define weft_compare_swap_relaxed(self, ...) weft_compare_swap_relaxed(WEFT_AT(self), __VA_ARGS__)
#define weft_fetch_add_u32_relaxed(self, ...) weft_fetch_add_u32_relaxed(WEFT_AT(self), __VA_ARGS__)
#define weft_swap_u32_relaxed(self, ...) weft_swap_u32_relaxed(WEFT_AT(self), __VA_ARGS__)
#define weft_compare_swap_u32_relaxed(self, ...) weft_compare_swap_u32_relaxed(WEFT_AT(self), __VA_ARGS__)
#define weft_fetch_add_begin(self, ...) weft_fetch_add_begin(WEFT_AT(self), __VA_ARGS__)
#define weft_add(self, ...) weft_add(WEFT_AT(self), __VA_ARGS__)
#define weft_accumulate_begin(self, ...) weft_accumulate_begin(WEFT_AT(self), __VA_ARGS__)
#define weft_accumulate_half_begin(self, ...)                                                      \
    weft_accumulate_half_begin(WEFT_AT(self), __VA_ARGS__)
#define weft_op_test(self, ...) weft_op_test(WEFT_AT(self), __VA_ARGS__)
#define weft_op_wait(self, ...) weft_op_wait(WEFT_AT(self), __VA_ARGS__)
#define weft_batch_begin(self) weft_batch_begin(WEFT_AT(self))
#define weft_batch_end(self) weft_batch_end(WEFT_AT(self))
#define weft_flush_local(self, ...) weft_flush_local(WEFT_AT(self), __VA_ARGS__)
#define weft_flush(self, ...) weft_flush(WEFT_AT(self), __VA_ARGS__)
#define weft_fence(self) weft_fence(WEFT_AT(self))
#define weft_notify(self, ...) weft_notify(WEFT_AT(self), __VA_ARGS__)
#define weft_notify_relaxed(self, ...) weft_notify_relaxed(WEFT_AT(self), __VA_ARGS__)
#define weft_notify_many(self, ...) weft_notify_many(WEFT_AT(self), __VA_ARGS__)
#define weft_wait(self, ...) weft_wait(WEFT_AT(self), __VA_ARGS__)
#define weft_test(self, ...) weft_test(WEFT_AT(self), __VA_ARGS__)
#define weft_notify_value(self, ...) weft_notify_value(WEFT_AT(self), __VA_ARGS__)
#define weft_wait_where(self, ...) weft_wait_where(WEFT_AT(self), __VA_ARGS__)
#define weft_wait_until(self, ...) weft_wait_until(WEFT_AT(self), __VA_ARGS__)
#define weft_wait_until_u32(self, ...) weft_wait_until_u32(WEFT_AT(self), __VA_ARGS__)
#define weft_timer_start(self) weft_timer_start(WEFT_AT(self))
#define weft_timer_stop(self) weft_timer_stop(WEFT_AT(self))
#endif
#ifdef WEFT_LINES_OF_WARP
#undef WEFT_LINES_OF_WARP
#define weft_put_warp(self, ...) weft_put_warp(WEFT_AT(self), __VA_ARGS__)
#define weft_put_notify_warp(self, ...) weft_put_notify_warp(WEFT_AT(self), __VA_ARGS__)
#define weft_notify_warp(self, ...) weft_notify_warp(WEFT_AT(self), __VA_ARGS__)
#define weft_get_warp(self, ...) weft_get_warp(WEFT_AT(self), __VA_ARGS__)
#define weft_wait_warp(self, ...) weft_wait_warp(WEFT_AT(self), __VA_ARGS__)
#define weft_test_warp(self, ...) weft_test_warp(WEFT_AT(self), __VA_ARGS__)
#define weft_fetch_add_thread(self, ...) weft_fetch_add_thread(WEFT_AT(self), __VA_ARGS__)
#define weft_swap_thread(self, ...) weft_swap_thread(WEFT_AT(self), __VA_ARGS__)
#define weft_compare_swap_thread(self, ...) weft_compare_swap_thread(WEFT_AT(self), __VA_ARGS__)
#endif
#ifdef WEFT_LINES_OF_COLL
#undef WEFT_LINES_OF_COLL
#define weft_broadcast(self, ...) weft_broadcast(WEFT_AT(self), __VA_ARGS__)
#define weft_reduce(self, ...) weft_reduce(WEFT_AT(self), __VA_ARGS__)
#define weft_allreduce(self, ...) weft_allreduce(WEFT_AT(self), __VA_ARGS__)
#define weft_reduce_scatter(self, ...) weft_reduce_scatter(WEFT_AT(self), __VA_ARGS__)
#define weft_scan(self, ...) weft_scan(WEFT_AT(self), __VA_ARGS__)
#define weft_gather(self, ...) weft_gather(WEFT_AT(self), __VA_ARGS__)
#define weft_allgather(self, ...) weft_allgather(WEFT_AT(self), __VA_ARGS__)
#define weft_alltoall(self, ...) weft_alltoall(WEFT_AT(self), __VA_ARGS__)
#define weft_gather_sizes(self, ...) weft_gather_sizes(WEFT_AT(self), __VA_ARGS__)
#define weft_allgather_sizes(self, ...) weft_allgather_sizes(WEFT_AT(self), __VA_ARGS__)
#define weft_alltoall_sizes(self, ...) weft_alltoall_sizes(WEFT_AT(self), __VA_ARGS__)
#endif
#ifdef WEFT_LINES_OF_PGAS
#undef WEFT_LINES_OF_PGAS
#define weft_local_alloc(self, ...) weft_local_alloc(WEFT_AT(self), __VA_ARGS__)
#define weft_local_free(self, ...) weft_local_free(WEFT_AT(self), __VA_ARGS__)
#define weft_gaddress(self, ...) weft_gaddress(WEFT_AT(self), __VA_ARGS__)
#define weft_gput(self, ...) weft_gput(WEFT_AT(self), __VA_ARGS__)
#define weft_gget(self, ...) weft_gget(WEFT_AT(self), __VA_ARGS__)
#define weft_gput_begin(self, ...) weft_gput_begin(WEFT_AT(self), __VA_ARGS__)
#define weft_gget_begin(self, ...) weft_gget_begin(WEFT_AT(self), __VA_ARGS__)
#define weft_gput_2d_begin(self, ...) weft_gput_2d_begin(WEFT_AT(self), __VA_ARGS__)
#define weft_gget_2d_begin(self, ...) weft_gget_2d_begin(WEFT_AT(self), __VA_ARGS__)
#define weft_gput_notify(self, ...) weft_gput_notify(WEFT_AT(self), __VA_ARGS__)
#define weft_gflush(self, ...) weft_gflush(WEFT_AT(self), __VA_ARGS__)
#define weft_gfetch_add(self, ...) weft_gfetch_add(WEFT_AT(self), __VA_ARGS__)
#define weft_gswap(self, ...) weft_gswap(WEFT_AT(self), __VA_ARGS__)
#define weft_gcompare_swap(self, ...) weft_gcompare_swap(WEFT_AT(self), __VA_ARGS__)
#define weft_gaccumulate(self, ...) weft_gaccumulate(WEFT_AT(self), __VA_ARGS__)
#define weft_glock_acquire(self, ...) weft_glock_acquire(WEFT_AT(self), __VA_ARGS__)
#define weft_glock_try(self, ...) weft_glock_try(WEFT_AT(self), __VA_ARGS__)
#define weft_glock_release(self, ...) weft_glock_release(WEFT_AT(self), __VA_ARGS__)
#endif
#ifdef WEFT_LINES_OF_TASK
#undef WEFT_LINES_OF_TASK
#define weft_task_spawn(self, ...) weft_task_spawn(WEFT_AT(self), __VA_ARGS__)
#define weft_task_cancelled(self, ...) weft_task_cancelled(WEFT_AT(self), __VA_ARGS__)
#endif
/* clang-format on */
