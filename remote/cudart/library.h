/* remote/cudart/library.h - what libcudart.so.13 of weft shows to weft's libraries. */
#ifndef WEFT_REMOTE_CUDART_LIBRARY_H
#define WEFT_REMOTE_CUDART_LIBRARY_H

#include "remote/client/client.h"

#include <cuda_runtime_api.h>

/* client/client.h: client_library. */
cudaError_t __cudaWeftLibrary(enum weft_row row, const struct weft_row_argument *arguments,
                              unsigned count, int *status);
/* Says once that a function is refused, and where to read why; NotSupported. */
cudaError_t __cudaWeftRefuse(const char *function, const char *why, unsigned *said);

#endif
