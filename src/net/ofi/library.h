/*
 * net/ofi/library.h - libfabric, loaded when a job wants it. It brings its providers' libraries
 * with it, and starting them takes tenths of a second, which programs that need no fabric do not
 * pay. All other calls of libfabric are inline functions over what these return.
 */
#ifndef WEFT_NET_OFI_LIBRARY_H
#define WEFT_NET_OFI_LIBRARY_H

#include <rdma/fabric.h>

/* X(name). dupinfo of NULL: a new, empty one. */
#define WEFT_OFI_LIBRARY(X) X(getinfo) X(freeinfo) X(dupinfo) X(fabric) X(strerror)

struct weft_ofi_library {
#define WEFT_OFI_FIELD(name) __typeof__(&fi_##name) name;
    WEFT_OFI_LIBRARY(WEFT_OFI_FIELD)
#undef WEFT_OFI_FIELD
};

/* NULL: it cannot be loaded, and why in *reason, in silence. Any thread; loaded once, and kept. */
const struct weft_ofi_library *weft_ofi_library(const char **reason);

#endif
