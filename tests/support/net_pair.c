/* support/net_pair.c - see support/net_pair.h. */
#include "support/net_pair.h"

#include "base/task.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { LONG_NS = 1000000000 };

static bool arrived(void *context, int process, uint32_t notice)
{
    struct end *end = context;

    (void)process;
    if (notice == end->refuse)
        return false;
    if (end->notice_count < END_NOTICES)
        end->notices[end->notice_count++] = notice;
    return true;
}

static void sent(void *context, void *cookie)
{
    struct end_put *put = cookie;
    (void)context;
    put->sent++;
}

static void landed(void *context, void *cookie)
{
    struct end_put *put = cookie;
    (void)context;
    put->landed++;
    put->disorder |= put->sent == 0;
}

struct end *end_open(const struct weft_net_ops *ops, int me, int processes, bool one_space)
{
    struct end *end = calloc(1, sizeof(*end));

    if (end == NULL || weft_config_load(&end->config, NULL, NULL) != WEFT_OK)
        abort();
    end->config.shm_ring = 4096;
    end->ops = ops;
    end->me = me;
    end->processes = processes;
    end->memory = calloc(1, END_MEMORY);
    const struct weft_net_open open = {
        .config = &end->config,
        .process = me,
        .processes = processes,
        .one_address_space = one_space,
        .events = {end, arrived, sent, landed},
    };
    if (end->memory == NULL || ops->open(&end->net, &open) != WEFT_OK ||
        ops->reg(end->net, end->memory, END_MEMORY, &end->key) != WEFT_OK) {
        fprintf(stderr, "%s could not be opened\n", ops->name);
        return NULL;
    }
    return end;
}

void end_close(struct end *end)
{
    end->ops->dereg(end->net, end->key);
    end->ops->close(end->net);
    free(end->memory);
    free(end);
}

weft_status end_move(struct end *end)
{
    bool did = false;
    weft_status status = end->ops->progress(end->net, WEFT_NET_SEND, &did);

    if (status == WEFT_OK)
        status = end->ops->progress(end->net, WEFT_NET_RECEIVE, &did);
    if (!did)
        sched_yield();
    return status;
}

weft_status end_put(struct end *end, int to, uint64_t key, uint64_t offset, const void *source,
                    size_t bytes, uint32_t notice, int number)
{
    const struct weft_net_put put = {.process = to,
                                     .key = key,
                                     .offset = offset,
                                     .source = source,
                                     .bytes = bytes,
                                     .notice = notice,
                                     .cookie = &end->puts[number]};
    weft_status status;

    while ((status = end->ops->put(end->net, &put)) == WEFT_NET_FULL) {
        status = end_move(end);
        if (status != WEFT_OK)
            return status;
    }
    return status;
}

bool end_await_notices(struct end *end, uint32_t count)
{
    const uint64_t deadline = weft_now_ns() + 20ull * LONG_NS;

    while (end->notice_count < count)
        if (end_move(end) != WEFT_OK || weft_now_ns() > deadline)
            return false;
    return true;
}

bool end_await_landed(struct end *end, int puts)
{
    const uint64_t deadline = weft_now_ns() + 20ull * LONG_NS;

    end->ops->flush(end->net, end->processes - 1 - end->me);
    for (int i = 0; i < puts; i++)
        while (end->puts[i].landed == 0)
            if (end_move(end) != WEFT_OK || weft_now_ns() > deadline)
                return false;
    return true;
}
