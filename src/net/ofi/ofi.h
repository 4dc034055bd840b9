/* net/ofi/ofi.h - libfabric: between hosts, over whatever fabric has a provider. */
#ifndef WEFT_NET_OFI_OFI_H
#define WEFT_NET_OFI_OFI_H

#include "net/net.h"

extern const struct weft_net_ops weft_net_ofi;

#endif
