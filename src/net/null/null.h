/* net/null/null.h - the network that reaches nobody: the template for a new back end. */
#ifndef WEFT_NET_NULL_NULL_H
#define WEFT_NET_NULL_NULL_H

#include "net/net.h"

extern const struct weft_net_ops weft_net_null;

#endif
