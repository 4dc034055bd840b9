/*
 * net/verbs/device.h - which device, port and address (GID) a process uses, and what they can do.
 */
#ifndef WEFT_NET_VERBS_DEVICE_H
#define WEFT_NET_VERBS_DEVICE_H

#include "base/config.h"
#include "net/verbs/wire.h"
#include "weft/types.h"

#include <infiniband/verbs.h>

struct weft_verbs_device {
    struct ibv_context *context;
    struct ibv_device_attr attr;
    struct ibv_port_attr port_attr;
    char name[40]; /* "mlx5_0:1" */
    uint8_t port;
    uint8_t gid_index; /* of `gid`; on Ethernet */
    union ibv_gid gid;
    bool ethernet;
};

/*
 * Opens the device that `wanted` (WEFT_VERBS_DEVICE) names: "" is the first with an active port;
 * else "name" or "name:port", or a list of these with commas, which the processes take in turn.
 * Errors: NETWORK (there is none), CONFIG (no such one, or it is not active).
 */
weft_status weft_verbs_device_open(struct weft_verbs_device *device, const char *wanted,
                                   int process);
void weft_verbs_device_close(struct weft_verbs_device *device);

/* `here` of transport.h: lines like "mlx5_0:1 active, InfiniBand, RC", one for each device. */
bool weft_verbs_here(char *text, size_t bytes);

/* Fills in the way to a peer, for queue pairs and address handles. */
void weft_verbs_route(const struct weft_verbs_device *device,
                      const struct weft_verbs_address *address, struct ibv_ah_attr *attr);

#endif
