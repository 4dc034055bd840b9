/* remote/link/links.c - see the header. */
#include "remote/link/links.h"

#include "abi/notice.h"
#include "base/say.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FRAME_SITE = 1, FRAME_CARD, FRAME_READY, STRETCHES = 32, TELL_AT = WEFT_RING_BYTES / 4 };
static const uint64_t control_every = 5000000; /* ns between looks at the control channel */

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

/* An inbox has one part a peer: a ring, and a word in which the peer tells how far it is. */
enum { WORD_AT = WEFT_RING_BYTES, PART = WEFT_RING_BYTES + 4096 };

/* A session has one peer with a ring, the program. */
static uint64_t part_of(int owner, int peer)
{
    return owner == 0 ? (uint64_t)(peer - 1) * PART : 0;
}

static bool has_ring(const struct weft_links *links, int peer)
{
    return (links->process == 0) != (peer == 0);
}

weft_status weft_links_fail(struct weft_links *links, weft_status status, const char *format, ...)
{
    char text[256];
    va_list list;

    if (links->status != WEFT_OK)
        return links->status;
    va_start(list, format);
    vsnprintf(text, sizeof(text), format, list);
    va_end(list);
    links->status = status;
    if (text[0] == 0) /* who found it has said it */
        return status;
    return weft_err(status, "%s", text);
}

/* ---- what the network says ------------------------------------------------------------------- */

static void on_sent(void *context, void *cookie)
{
    struct weft_parcel *parcel = cookie;

    (void)context;
    if (parcel != NULL && parcel->sent != NULL)
        parcel->sent(parcel);
}

static void on_landed(void *context, void *cookie)
{
    struct weft_parcel *parcel = cookie;

    (void)context;
    if (parcel != NULL && parcel->landed != NULL)
        parcel->landed(parcel);
}

/* Whose notice it is: the tag's low bits. A network that knows the sender has to agree. */
static int sender_of(const struct weft_links *links, const struct weft_arrival *arrival)
{
    const int process = (int)(weft_notice_tag(arrival->notice) & 63);

    if (process >= links->processes || (arrival->process >= 0 && arrival->process != process))
        return -1;
    return process;
}

static weft_status on_records(void *context, const struct weft_arrival *arrival)
{
    struct weft_links *links = context;
    const int process = sender_of(links, arrival);
    const uint64_t bytes = (uint64_t)weft_notice_slot(arrival->notice) * WEFT_RECORD_UNIT;

    if (process < 0 || !has_ring(links, process) || arrival->bytes != 0)
        return WEFT_ERR_PROTOCOL;
    return weft_ring_in_came(&links->link[process].in, bytes) ? WEFT_OK : WEFT_ERR_PROTOCOL;
}

static weft_status on_copy(void *context, const struct weft_arrival *arrival)
{
    struct weft_links *links = context;
    const int process = sender_of(links, arrival);
    const uint32_t step = weft_notice_tag(arrival->notice) >> 6;

    if (process < 0 || step >= WEFT_COPY_STEPS || arrival->bytes != 0)
        return WEFT_ERR_PROTOCOL;
    return links->copy(links->context, process, (enum weft_copy_step)step,
                       weft_notice_slot(arrival->notice));
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Each process's bytes, by process. Blocking. */
static weft_status exchange(struct weft_links *links, uint16_t kind, const void *mine, void *all,
                            size_t bytes)
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
    if (gethostname(site->host, sizeof(site->host) - 1) != 0)
        site->host[0] = 0;
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (file == NULL)
        return;
    if (fgets(site->boot, sizeof(site->boot), file) == NULL)
        site->boot[0] = 0;
    fclose(file);
}

static bool together(const struct site *a, const struct site *b)
{
    return memcmp(a, b, offsetof(struct site, net)) == 0;
}

/*
 * shm where all can map each other's memory, else what joins hosts; or what the program says. A
 * server may say so, too: then it has to be the same.
 */
static weft_status choose_net(struct weft_links *links, bool *one_host)
{
    static const char *const names[] = {NULL, "shm", "ofi", "verbs", "mpi", "null"};
    struct site mine, all[WEFT_LINK_PROCESSES];

    own_site(&mine, links->config.net);
    weft_status status = exchange(links, FRAME_SITE, &mine, all, sizeof(mine));
    *one_host = true;
    for (int p = 0; p < links->processes && status == WEFT_OK; p++)
        *one_host = *one_host && together(&all[p], &all[0]);
    if (status != WEFT_OK)
        return status;
    const int wanted = all[0].net;
    if (wanted < 0 || wanted >= (int)(sizeof(names) / sizeof(names[0])))
        return weft_err(WEFT_ERR_PROTOCOL, "the program wants network %d", wanted);
    const char *name = names[wanted] != NULL ? names[wanted] : *one_host ? "shm" : "ofi";
    if (mine.net != 0 && strcmp(names[mine.net], name) != 0)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_NET=%s here, but the program and its servers use %s",
                        names[mine.net], name);
    links->ops = weft_net_find(name);
    if (links->ops == NULL)
        return weft_err(WEFT_ERR_CONFIG, "this weft was built without the network %s", name);
    weft_say(WEFT_SAY_INFO, "program and servers are joined by %s", name);
    return WEFT_OK;
}

/* From the network's close: whether waiting for all makes sense. */
static bool all_there(void *context)
{
    const struct weft_links *links = context;

    return links->lost < 0 && links->status == WEFT_OK;
}

static weft_status open_net(struct weft_links *links, bool one_host, size_t stage_bytes)
{
    const struct weft_net_open open = {
        .config = &links->config,
        .process = links->process,
        .processes = links->processes,
        .one_address_space = links->one_address_space,
        .one_host = one_host,
        .polls = true,
        .stage_bytes = stage_bytes,
        .events = {.context = links, .sent = on_sent, .landed = on_landed, .all_there = all_there},
        .kinds = &links->kinds,
        .device = links->device.land != NULL ? &links->device : NULL};

    weft_notice_add(&links->kinds, WEFT_NOTICE_RECORDS, on_records, links);
    weft_notice_add(&links->kinds, WEFT_NOTICE_COPY, on_copy, links);
    weft_status status = links->ops->open(&links->net, &open);
    if (status == WEFT_OK)
        links->ops->caps(links->net, &links->caps);
    return status;
}

static weft_status connect_all(struct weft_links *links)
{
    struct card mine = {0}, *all = calloc(WEFT_LINK_PROCESSES, sizeof(*all));
    weft_status status = all != NULL ? WEFT_OK : weft_err(WEFT_ERR_MEMORY, "no memory for cards");

    if (status == WEFT_OK)
        status = links->ops->reg(links->net, links->inbox, links->inbox_bytes, &mine.key);
    if (status == WEFT_OK)
        status = links->ops->address(links->net, mine.address);
    if (status == WEFT_OK)
        status = exchange(links, FRAME_CARD, &mine, all, sizeof(mine));
    for (int p = 0; p < links->processes && status == WEFT_OK; p++) {
        status = links->ops->connect(links->net, p, all[p].address);
        links->link[p].key = all[p].key;
        links->link[p].inbox = part_of(p, links->process);
    }
    if (status == WEFT_OK) /* nobody puts before all are connected */
        status = exchange(links, FRAME_READY, NULL, NULL, 0);
    free(all);
    return status;
}

static struct weft_link *link_of(struct weft_parcel *parcel, size_t offset)
{
    return (struct weft_link *)(void *)((char *)parcel - offset);
}

static void on_told(struct weft_parcel *parcel)
{
    link_of(parcel, offsetof(struct weft_link, telling))->tells = false;
}

static void on_stretch(struct weft_parcel *parcel)
{
    link_of(parcel, offsetof(struct weft_link, stretch))->unsent--;
}

static weft_status make_rings(struct weft_links *links)
{
    links->inbox_bytes = (size_t)(links->process == 0 ? links->processes - 1 : 1) * PART;
    links->inbox =
        mmap(NULL, links->inbox_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (links->inbox == MAP_FAILED) {
        links->inbox = NULL;
        return weft_err(WEFT_ERR_MEMORY, "no %zu bytes for rings", links->inbox_bytes);
    }
    for (int p = 0; p < links->processes; p++) {
        struct weft_link *link = &links->link[p];
        link->telling.sent = on_told;
        link->stretch.sent = on_stretch;
        if (!has_ring(links, p))
            continue;
        link->in.memory = links->inbox + part_of(links->process, p);
        link->out.mirror = aligned_alloc(4096, WEFT_RING_BYTES);
        if (link->out.mirror == NULL)
            return weft_err(WEFT_ERR_MEMORY, "no %d bytes for a ring", WEFT_RING_BYTES);
    }
    return WEFT_OK;
}

static void free_all(struct weft_links *links)
{
    if (links->net != NULL)
        links->ops->close(links->net);
    for (int p = 0; p < links->processes; p++) {
        free(links->link[p].out.mirror);
        free(links->link[p].notices);
    }
    if (links->inbox != NULL)
        munmap(links->inbox, links->inbox_bytes);
}

weft_status weft_links_open(struct weft_links *links, const struct weft_config *config,
                            const struct weft_arrive_device *device, size_t stage_bytes)
{
    void *const context = links->context;
    bool one_host = false;

    *links =
        (struct weft_links){.config = *config, .lost = -1, .context = context, .copy = links->copy};
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
    if (device != NULL) {
        links->device = *device;
        links->device.own[0].memory = links->inbox;
        links->device.own[0].bytes = links->inbox_bytes;
    }
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

void weft_links_close(struct weft_links *links, bool orderly)
{
    weft_control_close(links->control, orderly && links->status == WEFT_OK);
    free_all(links);
}

/* ---- sending --------------------------------------------------------------------------------- */

weft_status weft_links_put(struct weft_links *links, int process, uint64_t key, uint64_t offset,
                           const void *source, size_t bytes, struct weft_parcel *parcel)
{
    const struct weft_net_put put = {.process = process,
                                     .key = key,
                                     .offset = offset,
                                     .source = source,
                                     .bytes = bytes,
                                     .cookie = parcel};
    return links->ops->put(links->net, &put);
}

static weft_status put_notice(struct weft_links *links, int process, uint32_t notice)
{
    const struct weft_net_put put = {
        .process = process, .key = links->link[process].key, .notice = notice};

    return links->ops->put(links->net, &put);
}

/* Notices that found no room, in order. */
static weft_status put_waiting(struct weft_links *links, int process)
{
    struct weft_link *link = &links->link[process];
    weft_status status = WEFT_OK;

    while (link->first < link->count && status == WEFT_OK) {
        status = put_notice(links, process, link->notices[link->first]);
        link->first += status == WEFT_OK;
    }
    if (link->first == link->count)
        link->first = link->count = 0;
    return status == WEFT_NET_FULL ? WEFT_OK : status;
}

weft_status weft_links_notify(struct weft_links *links, int process, enum weft_copy_step step,
                              uint32_t number)
{
    struct weft_link *link = &links->link[process];
    const uint32_t notice =
        weft_notice(WEFT_NOTICE_COPY, (uint32_t)step << 6 | (uint32_t)links->process, number);

    if (process == links->process)
        return links->copy(links->context, process, step, number);
    if (link->count == link->capacity) {
        const uint32_t capacity = link->capacity == 0 ? 64 : link->capacity * 2;
        uint32_t *notices = realloc(link->notices, capacity * sizeof(*notices));
        if (notices == NULL)
            return weft_err(WEFT_ERR_MEMORY, "no memory for %u notices", capacity);
        link->notices = notices;
        link->capacity = capacity;
    }
    link->notices[link->count++] = notice;
    return put_waiting(links, process);
}

weft_status weft_link_flush(struct weft_links *links, int process)
{
    struct weft_link *link = &links->link[process];
    uint64_t place;
    uint32_t bytes;

    while (link->unsent < STRETCHES && (bytes = weft_ring_out_stretch(&link->out, &place)) != 0) {
        const struct weft_net_put put = {.process = process,
                                         .key = link->key,
                                         .offset = link->inbox + place,
                                         .source = link->out.mirror + place,
                                         .bytes = bytes,
                                         .notice = weft_notice(WEFT_NOTICE_RECORDS,
                                                               (uint32_t)links->process,
                                                               bytes / WEFT_RECORD_UNIT),
                                         .cookie = &link->stretch};
        link->unsent++;
        const weft_status status = links->ops->put(links->net, &put);
        if (status != WEFT_OK) {
            link->unsent--;
            return status == WEFT_NET_FULL ? WEFT_OK : status;
        }
        link->out.put += bytes;
    }
    return WEFT_OK;
}

weft_status weft_link_tell(struct weft_links *links, int process, bool anyway)
{
    struct weft_link *link = &links->link[process];
    const uint64_t untold = link->in.tail - link->in.told;

    if (link->tells || untold == 0 || (!anyway && untold < TELL_AT))
        return WEFT_OK;
    link->told = link->in.tail;
    link->tells = true;
    const weft_status status = weft_links_put(links, process, link->key, link->inbox + WORD_AT,
                                              &link->told, sizeof(link->told), &link->telling);
    if (status == WEFT_OK)
        link->in.told = link->told;
    else
        link->tells = false;
    return status == WEFT_NET_FULL ? WEFT_OK : status;
}

/* ---- progress -------------------------------------------------------------------------------- */

/* Mirrors are used again only when the network has read them, too. */
static bool read_taken(struct weft_links *links, struct weft_link *link)
{
    const uint64_t *word = (const uint64_t *)(const void *)(link->in.memory + WORD_AT);

    (void)links;
    return link->unsent > 0 ||
           weft_ring_out_taken(&link->out, __atomic_load_n(word, __ATOMIC_RELAXED));
}

static weft_status look_at_control(struct weft_links *links)
{
    struct weft_frame frame;
    const uint64_t now = weft_now_ns();

    if (now < links->control_next)
        return WEFT_OK;
    links->control_next = now + control_every;
    const weft_status status = weft_control_next(links->control, &frame, 0);
    if (status == WEFT_ERR_TIMEOUT)
        return WEFT_OK;
    if (status != WEFT_OK)
        return status;
    free(frame.payload);
    if (frame.kind != WEFT_FRAME_LOST)
        return weft_err(WEFT_ERR_PROTOCOL, "process %d sent a frame of kind %u", frame.source,
                        frame.kind);
    links->lost = frame.source;
    return WEFT_ERR_PEER_LOST;
}

weft_status weft_links_progress(struct weft_links *links, bool *did)
{
    if (links->status != WEFT_OK)
        return links->status;
    weft_status status = links->ops->progress(links->net, WEFT_NET_RECEIVE, did);
    if (status == WEFT_OK)
        status = links->ops->progress(links->net, WEFT_NET_SEND, did);
    for (int p = 0; p < links->processes && status == WEFT_OK; p++) {
        if (p == links->process)
            continue;
        if (links->link[p].count != 0)
            status = put_waiting(links, p);
        if (!has_ring(links, p) || status != WEFT_OK)
            continue;
        if (!read_taken(links, &links->link[p]))
            status = weft_err(WEFT_ERR_PROTOCOL,
                              "process %d says it used records that it was not "
                              "sent",
                              p);
        if (status == WEFT_OK)
            status = weft_link_flush(links, p);
        if (status == WEFT_OK)
            status = weft_link_tell(links, p, false);
    }
    if (status == WEFT_OK)
        status = look_at_control(links);
    return status == WEFT_OK ? WEFT_OK : weft_links_fail(links, status, "%s", "");
}
