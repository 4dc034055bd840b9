/* remote/link/open.c - has a remote job's processes meet and connect. One thread at a time. */
#include "abi/notice.h"
#include "base/say.h"
#include "net/transport.h"
#include "remote/link/links.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FRAME_SITE = 1, FRAME_CARD, FRAME_READY };

/* What a process tells the others at the start. Travels as its bytes. */
struct site {
    char host[72], boot[40];
    uint32_t user;
    int32_t net; /* WEFT_NET of this process */
};
struct card {
    uint64_t key;
    unsigned char address[WEFT_NET_ADDRESS_MAX];
};

/* Returns where a peer's ring is in the owner's memory. A session has one peer with a ring, the
 * program. */
static uint64_t part_of(int owner, int peer)
{
    return owner == 0 ? (uint64_t)(peer - 1) * WEFT_RING_BYTES : 0;
}

/* Exchanges bytes: `all` becomes each process's, by process. Blocking. */
static weft_status exchange(struct weft_record_links *links, uint16_t kind, const void *mine,
                            void *all, size_t bytes)
{
    const uint64_t deadline = weft_now_ns() + (uint64_t)(links->config.connect_s * 1e9);
    bool came[WEFT_LINK_PROCESSES] = {false};
    weft_status status = weft_control_send(links->control, kind, mine, bytes);

    for (int have = 0; have < links->processes && status == WEFT_OK;) {
        struct weft_frame frame;
        const uint64_t now = weft_now_ns();
        status = weft_control_next(links->control, &frame, now < deadline ? deadline - now : 0);
        if (status == WEFT_ERR_TIMEOUT)
            return weft_err(status, "not all of %d servers came within %g s", links->processes - 1,
                            links->config.connect_s);
        if (status != WEFT_OK)
            return status;
        if (frame.kind == WEFT_FRAME_LOST)
            status = weft_err(WEFT_ERR_PEER_LOST, "%s was lost while it started",
                              frame.source == 0 ? "the program" : "a server");
        else if (frame.kind != kind || frame.bytes != bytes || frame.source >= links->processes ||
                 came[frame.source])
            status = weft_err(WEFT_ERR_PROTOCOL, "process %d sent a frame of kind %u, %u bytes",
                              frame.source, frame.kind, frame.bytes);
        else if (bytes != 0)
            memcpy((char *)all + (size_t)frame.source * bytes, frame.payload, bytes);
        if (status == WEFT_OK) {
            came[frame.source] = true;
            have++;
        }
        free(frame.payload);
    }
    return status;
}

static void own_site(struct site *site, int net)
{
    memset(site, 0, sizeof(*site));
    site->user = (uint32_t)geteuid();
    site->net = net;
    (void)gethostname(site->host, sizeof(site->host) - 1);
    const int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        if (read(file, site->boot, sizeof(site->boot) - 1) < 0)
            site->boot[0] = 0;
        close(file);
    }
}

/* Chooses the network: shm where all can map each other's memory, else what joins hosts; or what
 * the program says. A server may say so, too: then it has to be the same. */
static weft_status choose_net(struct weft_record_links *links, bool *one_host)
{
    struct site mine, all[WEFT_LINK_PROCESSES] = {0};

    own_site(&mine, links->config.net);
    weft_status status = exchange(links, FRAME_SITE, &mine, all, sizeof(mine));
    *one_host = true;
    for (int p = 0; p < links->processes && status == WEFT_OK; p++) {
        int *host = &links->link[p].host;
        while (memcmp(&all[p], &all[*host], offsetof(struct site, net)) != 0)
            ++*host;
        *one_host = *one_host && *host == 0;
    }
    if (status != WEFT_OK)
        return status;
    const int chosen = all[0].net != WEFT_NET_AUTO ? all[0].net
                       : *one_host                 ? WEFT_NET_SHM
                                                   : WEFT_NET_OFI;
    const struct weft_config_word name = weft_config_word(WEFT_CONFIG_AT_NET, chosen);
    if (mine.net != WEFT_NET_AUTO && mine.net != chosen)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_NET=%s here, but the program and its servers use %s",
                        weft_config_word(WEFT_CONFIG_AT_NET, mine.net).text, name.text);
    links->shares_memory = *one_host && chosen == WEFT_NET_SHM;
    links->transport = weft_transport_find(name.text);
    if (links->transport == NULL)
        return weft_err(WEFT_ERR_CONFIG, "this weft was built without the network %s", name.text);
    weft_say(WEFT_SAY_INFO, "program and servers are joined by %s", name.text);
    return WEFT_OK;
}

/* Tell the network's close whether waiting for all makes sense, and whether none sends any more. */
static bool all_there(void *context)
{
    const struct weft_record_links *links = context;

    return links->lost < 0 && links->status == WEFT_OK;
}

static weft_status open_net(struct weft_record_links *links, bool one_host, size_t stage_bytes)
{
    const struct weft_net_open open = {.config = &links->config,
                                       .process = links->process,
                                       .processes = links->processes,
                                       .one_address_space = links->one_address_space,
                                       .one_host = one_host,
                                       .polls = true,
                                       .stage_bytes = stage_bytes,
                                       .events = {.context = links,
                                                  .sent = link_sent,
                                                  .delivered = link_delivered,
                                                  .all_there = all_there,
                                                  .all_stopped = all_there},
                                       .kinds = &links->kinds,
                                       .device =
                                           links->device.deliver != NULL ? &links->device : NULL};

    weft_notice_add(&links->kinds, WEFT_NOTICE_RECORDS, link_records, links);
    weft_notice_add(&links->kinds, WEFT_NOTICE_COPY, link_copy, links);
    weft_status status = weft_net_open(&links->net, links->transport, &open);
    if (status == WEFT_OK)
        weft_net_caps(links->net, &links->caps);
    return status;
}

static weft_status connect_all(struct weft_record_links *links)
{
    struct card mine = {0}, *all = calloc(WEFT_LINK_PROCESSES, sizeof(*all));
    weft_status status = all != NULL ? WEFT_OK : weft_err(WEFT_ERR_MEMORY, "no memory for cards");

    if (status == WEFT_OK)
        status = weft_net_reg(links->net, links->inbox, links->inbox_bytes, true, &mine.key);
    weft_net_address(links->net, mine.address);
    if (status == WEFT_OK)
        status = exchange(links, FRAME_CARD, &mine, all, sizeof(mine));
    for (int p = 0; p < links->processes && status == WEFT_OK; p++) {
        status = weft_net_connect(links->net, p, all[p].address);
        links->link[p].key = all[p].key;
        links->link[p].inbox = part_of(p, links->process);
    }
    if (status == WEFT_OK) /* nobody puts before all are connected */
        status = exchange(links, FRAME_READY, NULL, NULL, 0);
    free(all);
    return status;
}

static weft_status make_rings(struct weft_record_links *links)
{
    links->inbox_bytes = (size_t)(links->process == 0 ? links->processes - 1 : 1) * WEFT_RING_BYTES;
    links->inbox =
        mmap(NULL, links->inbox_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (links->inbox == MAP_FAILED) {
        links->inbox = NULL;
        return weft_err(WEFT_ERR_MEMORY, "no %zu bytes for rings", links->inbox_bytes);
    }
    for (int p = 0; p < links->processes; p++) {
        struct weft_record_link *link = &links->link[p];
        link->stretch.sent = &link->unsent;
        if (!link_has_ring(links, p))
            continue;
        link->in.memory = links->inbox + part_of(links->process, p);
        link->out.mirror = aligned_alloc(4096, WEFT_RING_BYTES);
        if (link->out.mirror == NULL)
            return weft_err(WEFT_ERR_MEMORY, "no %d bytes for a ring", WEFT_RING_BYTES);
    }
    return WEFT_OK;
}

static void free_all(struct weft_record_links *links)
{
    if (links->net != NULL)
        weft_net_close(links->net);
    for (int p = 0; p < links->processes; p++) {
        free(links->link[p].out.mirror);
        free(links->link[p].notices);
    }
    if (links->inbox != NULL)
        munmap(links->inbox, links->inbox_bytes);
}

weft_status weft_links_open(struct weft_record_links *links, const struct weft_config *config,
                            const struct weft_net_device *device, size_t stage_bytes)
{
    void *const context = links->context;
    bool one_host = false;

    *links = (struct weft_record_links){
        .config = *config, .lost = -1, .context = context, .copy = links->copy};
    if (config->processes > WEFT_LINK_PROCESSES)
        return weft_err(WEFT_ERR_CONFIG, "%lld servers, at most %d",
                        (long long)config->processes - 1, WEFT_LINK_SERVERS);
    weft_status status = weft_control_open(&links->control, config);
    if (status != WEFT_OK)
        return status;
    weft_say_process(-1);
    links->process = links->control->process;
    links->processes = links->control->processes;
    links->one_address_space = links->control->local;
    status = make_rings(links);
    if (device != NULL)
        links->device = *device;
    if (status == WEFT_OK)
        status = choose_net(links, &one_host);
    if (status == WEFT_OK)
        status = open_net(links, one_host, stage_bytes);
    if (status == WEFT_OK)
        status = connect_all(links);
    if (status != WEFT_OK) {
        weft_control_close(links->control, false);
        free_all(links);
    }
    return status;
}

void weft_links_close(struct weft_record_links *links, bool orderly)
{
    weft_control_close(links->control, orderly && links->status == WEFT_OK);
    free_all(links);
}
