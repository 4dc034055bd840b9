/*
 * GASPI_GPU.h - calls with which a GASPI host program runs kernels, and the procedures for GPUs
 * that GPI-2 had up to 1.3. Kernels include GASPI_GPU_device.h.
 */
#ifndef GASPI_GPU_H
#define GASPI_GPU_H

#include <GASPI.h>
#include <weft/weft.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Gives the job that gaspi_proc_init opened, for weft_prepare, weft_run and the like; NULL: none.
 */
weft_job *gaspi_gpu_job(void);
/*
 * Gives a table of the segments that are registered here now, for gpu_gaspi_begin of kernels. It is
 * device memory, owned by the library, valid until the next call. Call it after weft_prepare, and
 * again when segments were created or deleted. Not while a kernel runs. Errors: NOINIT, NULLPTR,
 * MEMALLOC.
 */
gaspi_return_t gaspi_gpu_table(gaspi_pointer_t *const table);

/* ---- of GPI-2 1.3 ---------------------------------------------------------------------------- */

typedef int gaspi_gpu_t;
typedef int gaspi_gpu_num;

/* GASPI_ERROR: this process drives no GPU. */
gaspi_return_t gaspi_init_GPUs(void);
/* 1 or 0: a process drives one at most. */
gaspi_return_t gaspi_number_of_GPUs(gaspi_gpu_num *number);
/* Its number among the GPUs of the job. GASPI_ERROR: there is none. */
gaspi_return_t gaspi_GPU_ids(gaspi_gpu_t *ids);
/* gaspi_write, gaspi_write_notify: segments are memory of the device in any case. */
gaspi_return_t gaspi_gpu_write(const gaspi_segment_id_t local, const gaspi_offset_t from,
                               const gaspi_rank_t rank, const gaspi_segment_id_t remote,
                               const gaspi_offset_t to, const gaspi_size_t size,
                               const gaspi_queue_id_t queue, const gaspi_timeout_t timeout_ms);
gaspi_return_t gaspi_gpu_write_notify(const gaspi_segment_id_t local, const gaspi_offset_t from,
                                      const gaspi_rank_t rank, const gaspi_segment_id_t remote,
                                      const gaspi_offset_t to, const gaspi_size_t size,
                                      const gaspi_notification_id_t id,
                                      const gaspi_notification_t value,
                                      const gaspi_queue_id_t queue,
                                      const gaspi_timeout_t timeout_ms);

#ifdef __cplusplus
}
#endif
#endif
