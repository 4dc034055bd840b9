/* remote/client/library.h - calls of CUDA's libraries on remote GPUs. Any thread; a context is
 * current. */
#ifndef WEFT_REMOTE_CLIENT_LIBRARY_H
#define WEFT_REMOTE_CLIENT_LIBRARY_H

#include "remote/rows/row.h"

/*
 * Calls it at the server of its first object, or of the current device. Waits where something comes
 * back. *status: the library's own; 0 also where nobody waited, whose error comes with a later
 * call. Errors: NOT_SUPPORTED: over a driver of this machine, where the vendor's own are to be
 * used; INVALID_HANDLE: no object; INVALID_VALUE: another device's stream, nowhere to write to, too
 * many bytes; OUT_OF_MEMORY; the session's.
 */
CUresult client_library(enum weft_row row, const struct weft_row_argument *arguments,
                        uint32_t count, int *status);

#endif
