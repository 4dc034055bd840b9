/* remote/cudart/library.h - what weft's libcudart.so.13 shows to weft's libraries. */
#ifndef WEFT_REMOTE_CUDART_LIBRARY_H
#define WEFT_REMOTE_CUDART_LIBRARY_H

#include "remote/client/client.h"

#include <cuda_runtime_api.h>

/* Calls client_library (client/client.h). */
cudaError_t __cudaWeftLibrary(enum weft_row row, const struct weft_row_argument *arguments,
                              unsigned count, int *status);
/* Says once that a function is refused, and where to read why; returns cudaErrorNotSupported. */
cudaError_t __cudaWeftRefuse(const char *function, const char *why, unsigned *said);

#endif
