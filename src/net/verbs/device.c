/*
 * net/verbs/device.c - see the header. Opening thread only.
 *
 * On Ethernet (RoCE) a port has many addresses. The one taken is a RoCE v2 address of IPv4, if
 * there is one, else of IPv6: version 1 does not pass routers, and link-local addresses are common
 * to all hosts.
 */
#include "net/verbs/device.h"

#include "base/say.h"
#include "net/verbs/dc/dc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GIDS_MOST = 256 };

/* Returns how much an address is worth; 0: it is not to be used. */
static int worth(const struct ibv_gid_entry *entry)
{
    static const unsigned char ipv4[12] = {[10] = 0xff, [11] = 0xff};
    const unsigned char *raw = entry->gid.raw;

    if (entry->gid_type != IBV_GID_TYPE_ROCE_V2)
        return 0;
    if (memcmp(raw, ipv4, sizeof(ipv4)) == 0)
        return 3;
    return raw[0] == 0xfe && (raw[1] & 0xc0) == 0x80 ? 1 : 2;
}

static bool choose_gid(struct weft_verbs_device *device)
{
    struct ibv_gid_entry *entries = calloc(GIDS_MOST, sizeof(*entries));
    const ssize_t count =
        entries == NULL ? 0 : ibv_query_gid_table(device->context, entries, GIDS_MOST, 0);
    int best = 0;

    for (ssize_t i = 0; i < count; i++) {
        if (entries[i].port_num != device->port || worth(&entries[i]) <= best)
            continue;
        best = worth(&entries[i]);
        device->gid = entries[i].gid;
        device->gid_index = (uint8_t)entries[i].gid_index;
    }
    free(entries);
    return best > 0;
}

/* Returns why this port of an open device cannot be used; NULL: it can. */
static const char *look_at_port(struct weft_verbs_device *device, uint8_t port)
{
    device->port = port;
    if (ibv_query_port(device->context, port, &device->port_attr) != 0)
        return "it cannot be queried";
    device->ethernet = device->port_attr.link_layer == IBV_LINK_LAYER_ETHERNET;
    if (device->port_attr.state != IBV_PORT_ACTIVE)
        return ibv_port_state_str(device->port_attr.state);
    if (device->ethernet && !choose_gid(device))
        return "it has no RoCE v2 address";
    if (!device->ethernet && device->port_attr.lid == 0)
        return "no subnet manager has given it an address";
    return NULL;
}

/* Opens the device and finds a good port: this one, or, port 0, the first. Returns why not, or
 * NULL. */
static const char *try_device(struct weft_verbs_device *device, struct ibv_device *which, int port)
{
    const char *reason = "it has no such port";

    *device = (struct weft_verbs_device){.context = ibv_open_device(which)};
    if (device->context == NULL)
        return strerror(errno);
    if (ibv_query_device(device->context, &device->attr) != 0)
        reason = "it cannot be queried";
    else
        for (int p = 1; p <= device->attr.phys_port_cnt; p++) {
            if (port != 0 && p != port)
                continue;
            reason = look_at_port(device, (uint8_t)p);
            if (reason == NULL) {
                snprintf(device->name, sizeof(device->name), "%.30s:%d", ibv_get_device_name(which),
                         p);
                return NULL;
            }
        }
    weft_verbs_device_close(device);
    return reason;
}

/* Finds the part of "a,b:2,c" that is this process's: name without port, and port or 0. */
static bool parse_wanted(const char *wanted, int process, char name[64], int *port)
{
    int count = 1, number, end = 0;

    for (const char *c = wanted; *c != 0; c++)
        count += *c == ',';
    for (number = process % count; number > 0; number--)
        wanted = strchr(wanted, ',') + 1;
    *port = 0;
    const int found = sscanf(wanted, "%63[^,:]%n:%4d%n", name, &end, port, &end);
    return found >= 1 && (wanted[end] == 0 || wanted[end] == ',') &&
           (found == 1 || (*port >= 1 && *port <= 255));
}

weft_status weft_verbs_device_open(struct weft_verbs_device *device, const char *wanted,
                                   int process)
{
    char name[64] = "";
    int port = 0, count = 0;
    const char *reason = NULL;
    bool found = false;

    if (wanted[0] != 0 && !parse_wanted(wanted, process < 0 ? 0 : process, name, &port))
        return weft_err(WEFT_ERR_CONFIG,
                        "WEFT_VERBS_DEVICE=%s: \"name\" or \"name:port\" is wanted, or several "
                        "with commas",
                        wanted);
    struct ibv_device **list = ibv_get_device_list(&count);
    for (int i = 0; list != NULL && i < count && !found; i++) {
        if (name[0] != 0 && strcmp(name, ibv_get_device_name(list[i])) != 0)
            continue;
        reason = try_device(device, list[i], port);
        found = reason == NULL;
    }
    if (list != NULL)
        ibv_free_device_list(list);
    if (found)
        return WEFT_OK;
    if (count == 0)
        return weft_err(WEFT_ERR_NETWORK, "verbs: this host has no RDMA device");
    if (name[0] == 0)
        return weft_err(WEFT_ERR_NETWORK,
                        "verbs: none of the %d RDMA devices has an active port (the last: %s)",
                        count, reason);
    if (reason == NULL)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_VERBS_DEVICE: of %d RDMA devices none is called %s",
                        count, name);
    return weft_err(WEFT_ERR_CONFIG, "WEFT_VERBS_DEVICE=%s: %s cannot be used: %s", wanted, name,
                    reason);
}

void weft_verbs_device_close(struct weft_verbs_device *device)
{
    WEFT_VERBS_CLOSE(ibv_close_device, device->context);
    device->context = NULL;
}

void weft_verbs_route(const struct weft_verbs_device *device,
                      const struct weft_verbs_address *address, struct ibv_ah_attr *attr)
{
    *attr = (struct ibv_ah_attr){.dlid = address->lid, .port_num = device->port};
    if (!device->ethernet)
        return;
    attr->is_global = 1;
    attr->grh.hop_limit = 64;
    attr->grh.sgid_index = device->gid_index;
    memcpy(attr->grh.dgid.raw, address->gid, sizeof(address->gid));
}

bool weft_verbs_here(char *text, size_t bytes)
{
    int count = 0;
    bool active = false;
    size_t at = 0;
    struct ibv_device **list = ibv_get_device_list(&count);

    snprintf(text, bytes, "this machine has no RDMA device\n");
    for (int i = 0; list != NULL && i < count && at < bytes; i++, at += strlen(text + at)) {
        struct weft_verbs_device device;
        const char *reason = try_device(&device, list[i], 0);
        if (reason != NULL) {
            snprintf(text + at, bytes - at, "%s: %s\n", ibv_get_device_name(list[i]), reason);
            continue;
        }
        snprintf(text + at, bytes - at, "%s active, %s, RC (which has run on soft-RoCE alone)%s\n",
                 device.name, device.ethernet ? "Ethernet" : "InfiniBand",
                 weft_verbs_dc_missing(&device) == NULL ? ", DC (which has never run on hardware)"
                                                        : "");
        weft_verbs_device_close(&device);
        active = true;
    }
    if (list != NULL)
        ibv_free_device_list(list);
    return active;
}
