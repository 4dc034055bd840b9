/* support/net_ends.c - see support/net_ends.h. */
#include "support/net_ends.h"

#include "base/task.h"
#include "support/notices.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void die(const char *what)
{
    perror(what);
    exit(1);
}

/* ---- what the network reports ---------------------------------------------------------------- */

void end_count_notice(struct end *end, int process, uint32_t notice)
{
    const uint32_t count = end->notice_count[process];

    CHECK(end->all, count < END_PUTS);
    if (count == END_PUTS)
        return;
    end->notices[process][count] = notice;
    __atomic_store_n(&end->notice_count[process], count + 1, __ATOMIC_RELEASE);
}

static weft_status arrived(void *context, const struct weft_net_delivery *delivery)
{
    struct end *end = context;

    if (delivery->notice == end->refuse)
        return WEFT_ERR_PROTOCOL;
    if (end->all->later)
        end_later_notice(end, delivery);
    else
        end_count_notice(end, delivery->process, delivery->notice);
    return WEFT_OK;
}

static void brought(void *context)
{
    struct end *end = context;

    __atomic_add_fetch(&end->brought, 1, __ATOMIC_RELEASE);
}

static void sent(void *context, void *cookie)
{
    struct end_put *put = cookie;

    (void)context;
    put->sent++;
    if (put->source == END_SPOIL && put->put.bytes != 0)
        memset((void *)(uintptr_t)put->put.source, 0xdd, put->put.bytes);
}

static void delivered(void *context, void *cookie)
{
    struct end *end = context;
    struct end_put *put = cookie;
    struct end *target = &end->all->end[put->put.process];

    put->delivered++;
    put->early |= put->sent == 0;
    put->early |= __atomic_load_n(&target->notice_count[end->me], __ATOMIC_ACQUIRE) < put->notices;
    put->early |= put->source == END_KEEP && put->put.bytes != 0 &&
                  memcmp(target->memory + put->put.offset, put->put.source, put->put.bytes) != 0;
}

/* ---- an end ---------------------------------------------------------------------------------- */

void end_open(struct end *end)
{
    const struct ends *all = end->all;

    if (weft_config_load(&end->config, NULL, NULL) != WEFT_OK)
        exit(1);
    end->config.shm_ring = 4096;
    if (all->configure != NULL)
        all->configure(&end->config, end->me);
    end->config.counter_start = (int64_t)all->counter_start;
    const struct weft_net_open open = {
        .config = &end->config,
        .process = end->me,
        .processes = all->count,
        .one_address_space = all->one_space,
        .one_host = true,
        .stage_bytes = all->stages ? END_STAGE : 0,
        .events = {.context = end, .sent = sent, .delivered = delivered, .arrived = brought},
        .kinds = &end->kinds,
        .device = all->later ? &end->device : NULL,
    };
    end->kinds = all_notices(arrived, end);
    end_delivers_later(end);
    if (weft_net_open(&end->net, all->ops, &open) != WEFT_OK ||
        weft_net_reg(end->net, end->memory, END_MEMORY, false, &end->key) != WEFT_OK) {
        fprintf(stderr, "%s could not be opened\n", all->ops->name);
        exit(1);
    }
    weft_net_address(end->net, end->address);
    if (all->places)
        weft_net_place(end->net, end->key, end->place);
}

void end_close(struct end *end)
{
    weft_net_dereg(end->net, end->key);
    weft_net_close(end->net);
}

void *end_sources(struct end *end, size_t bytes)
{
    struct weft_net_caps caps;

    weft_net_caps(end->net, &caps);
    CHECK(end->all, (caps.stage != NULL) == end->all->stages);
    if (caps.stage != NULL && bytes <= END_STAGE)
        return memset(caps.stage, 0, bytes);
    void *sources = calloc(1, bytes);

    if (sources == NULL)
        die("calloc");
    if (end->all->register_sources)
        CHECK(end->all,
              weft_net_reg(end->net, sources, bytes, false, &end->sources_key) == WEFT_OK);
    return sources;
}

void end_sources_free(struct end *end, void *sources)
{
    struct weft_net_caps caps;

    weft_net_caps(end->net, &caps);
    if (sources == caps.stage)
        return;
    if (end->all->register_sources)
        weft_net_dereg(end->net, end->sources_key);
    free(sources);
}

void end_rest(uint64_t *busy, bool did)
{
    const struct timespec moment = {0, 50000};
    const uint64_t now = weft_now_ns();

    if (did || *busy == 0)
        *busy = now;
    if (now - *busy > 1000000)
        nanosleep(&moment, NULL);
    else if (!did)
        sched_yield();
}

weft_status end_move(struct end *end)
{
    bool did = false;
    weft_status status = weft_net_progress(end->net, WEFT_NET_SEND, &did);

    if (status == WEFT_OK)
        status = (weft_status)__atomic_load_n(&end->received, __ATOMIC_ACQUIRE);
    end_rest(&end->busy, did);
    return status;
}

static void meet(struct end *end, bool moves)
{
    const uint64_t deadline = weft_now_ns() + END_PATIENCE_NS;

    end->met += (uint32_t)end->all->count;
    __atomic_add_fetch(&end->all->met, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&end->all->met, __ATOMIC_ACQUIRE) < end->met) {
        if (moves)
            end_move(end);
        else
            sched_yield();
        if (weft_now_ns() > deadline) {
            fprintf(stderr, "end %d waits in vain for the others\n", end->me);
            exit(1);
        }
    }
}

void end_meet(struct end *end)
{
    meet(end, true);
}

void end_stopped(struct end *end)
{
    meet(end, false);
}

weft_status end_try(struct end *end, const struct weft_net_put *put, enum end_source source)
{
    struct end_put *record = &end->puts[end->put_count];

    if (end->put_count == END_PUTS) {
        fprintf(stderr, "a part of the suite puts more than %d times\n", END_PUTS);
        exit(1);
    }
    *record = (struct end_put){.put = *put, .source = source};
    record->put.cookie = record;
    if (put->key == end->all->end[put->process].key)
        memcpy(record->put.place, end->all->end[put->process].place, sizeof(record->put.place));
    record->notices = end->told[put->process] + (put->notice != 0);
    weft_status status = weft_net_put(end->net, &record->put);
    if (status == WEFT_OK) {
        end->put_count++;
        end->told[put->process] = record->notices;
    }
    return status;
}

weft_status end_insist(struct end *end, const struct weft_net_put *put, enum end_source source)
{
    const uint64_t deadline = weft_now_ns() + END_PATIENCE_NS;
    weft_status status;

    while ((status = end_try(end, put, source)) == WEFT_NET_FULL) {
        status = end_move(end);
        if (status == WEFT_OK && weft_now_ns() > deadline)
            status = WEFT_ERR_TIMEOUT;
        if (status != WEFT_OK)
            return status;
    }
    return status;
}

weft_status end_put(struct end *end, int to, size_t offset, const void *bytes, size_t count,
                    uint32_t notice, enum end_source source)
{
    const struct weft_net_put put = {.process = to,
                                     .key = end->all->end[to].key,
                                     .offset = offset,
                                     .source = bytes,
                                     .bytes = count,
                                     .notice = notice};
    return end_insist(end, &put, source);
}

bool end_await(struct end *end, int sender, uint32_t count)
{
    const uint64_t deadline = weft_now_ns() + END_PATIENCE_NS;

    while (__atomic_load_n(&end->notice_count[sender], __ATOMIC_ACQUIRE) < count)
        if (end_move(end) != WEFT_OK || weft_now_ns() > deadline)
            return false;
    return true;
}

void end_settle(struct end *end)
{
    struct ends *all = end->all;
    const uint64_t deadline = weft_now_ns() + END_PATIENCE_NS;

    for (int p = 0; p < all->count; p++)
        CHECK(all, weft_net_flush(end->net, p) == WEFT_OK);
    for (int i = 0; i < end->put_count; i++)
        while (end->puts[i].delivered == 0 && end_move(end) == WEFT_OK && weft_now_ns() < deadline)
            ;
    end_meet(end); /* nothing is under way any more: what would come twice has come */
    uint32_t wrong = 0;
    for (int i = 0; i < end->put_count; i++)
        wrong += end->puts[i].sent != 1 || end->puts[i].delivered != 1 || end->puts[i].early;
    CHECK(all, wrong == 0);
    for (int p = 0; p < all->count; p++)
        CHECK(all, end->told[p] ==
                       __atomic_load_n(&all->end[p].notice_count[end->me], __ATOMIC_ACQUIRE));
    end_meet(end);
    end->put_count = 0;
    memset(end->told, 0, sizeof(end->told));
    memset(end->notice_count, 0, sizeof(end->notice_count));
    end_meet(end);
}
