/*
 * net/ofi/library.h - libfabric, loaded when a job wants it. It brings its providers' libraries
 * with it, and starting them takes tenths of a second, which programs that need no fabric do not
 * pay. All other calls of libfabric are inline functions over what these return.
 */
#ifndef WEFT_NET_OFI_LIBRARY_H
#define WEFT_NET_OFI_LIBRARY_H

#include <rdma/fabric.h>

struct weft_ofi_library {
    __typeof__(&fi_getinfo) getinfo;
    __typeof__(&fi_freeinfo) freeinfo;
    __typeof__(&fi_dupinfo) dupinfo; /* NULL: a new, empty one */
    __typeof__(&fi_fabric) fabric;
    __typeof__(&fi_strerror) strerror;
};

/* NULL: it cannot be loaded, and why in *reason, in silence. Any thread; loaded once, and kept. */
const struct weft_ofi_library *weft_ofi_library(const char **reason);

#endif
