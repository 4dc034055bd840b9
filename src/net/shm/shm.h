/* net/shm/shm.h - processes of one host, through rings in shared memory. */
#ifndef WEFT_NET_SHM_SHM_H
#define WEFT_NET_SHM_SHM_H

#include "net/net.h"

extern const struct weft_net_ops weft_net_shm;

#endif
