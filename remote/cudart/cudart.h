/*
 * remote/cudart/cudart.h - the CUDA runtime as a library of weft: what else than CUDA's own
 * functions it has.
 */
#ifndef WEFT_REMOTE_CUDART_CUDART_H
#define WEFT_REMOTE_CUDART_CUDART_H

#include "remote/table/table.h"

/*
 * Tests: the driver of this process, before the first call of the runtime. Otherwise
 * WEFT_REMOTE_DRIVER says which, or WEFT_REMOTE_SERVERS where its devices are.
 */
void weft_cudart_use(const struct weft_cuda_table *table);

#endif
