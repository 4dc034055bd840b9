/*
 * runtime/gda/wire.c - the software NIC's wire to other processes, over the job's network: a WRITE
 * is a put, a READ and an atomic are asks (service/ask.h), which their owner answers. Requests of a
 * queue are handed on in their order, which the network keeps.
 */
#include "runtime/gda/queues.h"

#include "runtime/service/ask.h"
#include "runtime/space/tables.h"

#include <string.h>

enum { AHEAD = 8 /* requests of a queue that wait for the network, at most */ };

static void make_put(struct weft_job *job, struct weft_request *put,
                     const struct weft_softnic_request *request,
                     const struct weft_queue_region *region)
{
    put->put.key = region->key;
    put->put.offset = request->remote - region->base;
    put->source = request->inside != NULL ? request->inside
                                          : (const unsigned char *)(uintptr_t)request->address;
    if (request->inside == NULL)
        weft_request_from_memory(job, put);
}

static void make_ask(struct weft_job *job, struct weft_request *ask,
                     const struct weft_softnic_request *request,
                     const struct weft_queue_region *region)
{
    const bool get = request->opcode == WEFT_MLX5_READ;

    ask->source = (const unsigned char *)(uintptr_t)request->address;
    ask->asking = (struct weft_asking *)(void *)(ask->payload + weft_request_room(job));
    *ask->asking =
        (struct weft_asking){.ask = {.key = region->key,
                                     .offset = request->remote - region->base,
                                     .how = get                                      ? WEFT_ASK_GET
                                            : request->opcode == WEFT_MLX5_FETCH_ADD ? WEFT_SUM
                                                                                     : WEFT_COMPARE,
                                     .type = WEFT_U64,
                                     .wants = !get},
                             .tag = -1};
    memcpy(ask->payload, &request->value, sizeof(request->value));
    memcpy(ask->payload + sizeof(request->value), &request->compare, sizeof(request->compare));
    weft_lock(&job->space.tables);
    weft_ask_find_reply(job, ask);
    weft_unlock(&job->space.tables);
}

static bool begin_request(struct weft_softnic_queue *queue, struct weft_softnic_work *work)
{
    struct weft_queue_wire *wire = queue->context;
    const struct weft_softnic_request *request = &work->request;
    struct weft_job *job = wire->job;
    struct weft_queue_region region;

    if (wire->proxy.waiting >= AHEAD)
        return false;
    if (!weft_queues_find(job, queue->process, request->rkey, &region) ||
        request->remote < region.base) {
        weft_softnic_finish(work, WEFT_MLX5_REMOTE_ACCESS);
        return true;
    }
    const bool put = request->opcode == WEFT_MLX5_WRITE;
    struct weft_request *made = weft_request_make(job, queue->slot, !put);
    if (made == NULL)
        return false; /* the job has failed */
    made->queued = work;
    made->put.process = queue->process;
    made->rows = 1;
    made->width = made->pitch = made->source_pitch = request->bytes;
    (put ? make_put : make_ask)(job, made, request, &region);
    wire->unflushed = true;
    weft_requests_add(job, &wire->proxy, made);
    return true;
}

static bool proceed(struct weft_softnic_queue *queue)
{
    struct weft_queue_wire *wire = queue->context;
    struct weft_job *job = wire->job;

    if (wire->proxy.waiting != 0)
        return weft_requests_proceed(job, &wire->proxy);
    if (wire->unflushed) {
        wire->unflushed = false;
        if (job->space.state.tells_when_asked)
            weft_flush_process(job, queue->process);
    }
    return false;
}

const struct weft_softnic_wire weft_queues_wire = {.begin = begin_request, .proceed = proceed};
