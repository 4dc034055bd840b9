/* gda/softnic/wire_loop.c - the wire to this process: executes at once, in the NIC's round. */
#include "base/task.h"
#include "gda/softnic/engine.h"

/* Copies to or from memory that may be the device's alone. False: the device failed. */
static bool move(const struct weft_softnic *nic, void *to, const void *from, size_t bytes)
{
    if (nic->far != NULL)
        return nic->far->copy(nic->far->context, to, from, bytes);
    weft_used_shared(from, bytes);
    weft_deliver(to, from, bytes); /* small and aligned: undivided */
    return true;
}

static bool update(const struct weft_softnic *nic, const struct weft_softnic_request *request)
{
    const struct weft_change change = weft_softnic_change(request);
    void *const word = (void *)(uintptr_t)request->remote;
    uint64_t old = 0;

    if (nic->far == NULL)
        old = weft_update(word, &change);
    else if (!nic->far->update(nic->far->context, word, &change, &old))
        return false;
    return move(nic, (void *)(uintptr_t)request->address, &old, sizeof(old));
}

static bool begin_request(struct weft_softnic_queue *queue, struct weft_softnic_work *work)
{
    const struct weft_softnic_request *request = &work->request;
    const struct weft_softnic *nic = queue->nic;
    void *const there = (void *)(uintptr_t)request->remote;
    void *const here = (void *)(uintptr_t)request->address;
    bool good;

    const uint32_t syndrome = weft_softnic_check_here(nic->keys, request);
    if (syndrome != 0) {
        weft_softnic_finish(work, syndrome);
        return true;
    }
    if (request->opcode == WEFT_MLX5_WRITE)
        good = move(nic, there, request->inside != NULL ? request->inside : here, request->bytes);
    else if (request->opcode == WEFT_MLX5_READ)
        good = move(nic, here, there, request->bytes);
    else
        good = update(nic, request);
    weft_softnic_finish(work, good ? 0 : WEFT_MLX5_REMOTE_OPERATION);
    weft_bell_ring(nic->bell); /* of who polls what was written */
    return true;
}

static bool proceed(struct weft_softnic_queue *queue)
{
    (void)queue;
    return false; /* nothing is under way */
}

const struct weft_softnic_wire weft_softnic_loop = {.begin = begin_request, .proceed = proceed};
