/* remote/client/call.c - sends records to sessions, and takes answers. Any thread calls it. */
#include "base/say.h"
#include "remote/client/inside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Thread_local bool client_has_turn;
static _Thread_local struct weft_known *now;
static const uint64_t spin_ns = 100000, nap_ns = 200000;

static struct weft_known **place_of_now(void)
{
    return &now;
}

struct weft_client client = {.known = {.now = place_of_now},
                             .output = STAILQ_HEAD_INITIALIZER(client.output)};

struct client_device *client_now(void)
{
    return (struct client_device *)(void *)now; /* its first member */
}

/* ---- what sessions send ---------------------------------------------------------------------- */

/* Says once, after a kernel's illegal address, that it may be pinned memory, if the program has
 * some: kernels on its own host's GPUs reach that. The caller holds the lock. */
static void explain(CUresult result)
{
    const struct weft_client_region *r = client.regions;

    if (result != CUDA_ERROR_ILLEGAL_ADDRESS || client.explained)
        return;
    while (r != NULL && !r->pinned)
        r = r->next;
    if (r == NULL)
        return;
    client.explained = true;
    weft_say(WEFT_SAY_ERROR,
             "a kernel used an illegal address. On remote GPUs kernels reach host memory of "
             "cudaMallocManaged, or of cudaHostAlloc with cudaHostAllocMapped: "
             "docs/remote.md#mapped-memory");
}

static weft_status take_answer(struct weft_record *record)
{
    struct client_call *call = record->lane < CLIENT_LANES ? client.lanes[record->lane] : NULL;
    const uint64_t *words = weft_record_words(record);

    if (record->call != WEFT_CALL_answer || call == NULL || record->words < 1 ||
        record->words > WEFT_WORDS_MOST + 1 || (words[0] & 0x8000000080000000) != 0 ||
        record->extra > call->room)
        return WEFT_ERR_PROTOCOL;
    call->result = (CUresult)(uint32_t)words[0];
    explain(call->result);
    explain((CUresult)(words[0] >> 32));
    if (words[0] >> 32 != 0 && __atomic_load_n(&client.late, __ATOMIC_RELAXED) == CUDA_SUCCESS)
        __atomic_store_n(&client.late, (CUresult)(words[0] >> 32),
                         __ATOMIC_RELAXED); /* the first */
    call->count = record->words - 1;
    memcpy(call->words, words + 1, call->count * sizeof(*words));
    call->got = record->extra;
    if (record->extra != 0)
        memcpy(call->extra, weft_record_extra(record), record->extra);
    client.lanes[record->lane] = NULL;
    __atomic_store_n(&call->done, true, __ATOMIC_RELEASE);
    return WEFT_OK;
}

static weft_status take_output(struct weft_record *record)
{
    const uint64_t file = record->words == 1 ? weft_record_words(record)[0] : 0;

    if (file < 1 || file > 2 || record->extra > WEFT_OUTPUT_PIECE)
        return WEFT_ERR_PROTOCOL;
    struct client_output *output = malloc(sizeof(*output) + record->extra);
    if (output == NULL)
        return WEFT_ERR_MEMORY;
    *output = (struct client_output){.error = file == 2, .bytes = record->extra};
    memcpy(output->text, weft_record_extra(record), record->extra);
    STAILQ_INSERT_TAIL(&client.output, output, link);
    __atomic_store_n(&client.unprinted, client.unprinted + record->extra, __ATOMIC_RELAXED);
    return client.unprinted > CLIENT_UNPRINTED ? WEFT_ERR_PROTOCOL : WEFT_OK;
}

/* Prints what kernels have printed; not under the lock, for a program's stdout may be full. */
void client_print(void)
{
    struct client_output *output;

    weft_lock(&client.printing);
    weft_lock(&client.lock);
    while ((output = STAILQ_FIRST(&client.output)) != NULL) {
        STAILQ_REMOVE_HEAD(&client.output, link);
        weft_unlock(&client.lock);
        fwrite(output->text, 1, output->bytes, output->error ? stderr : stdout);
        weft_lock(&client.lock);
        __atomic_store_n(&client.unprinted, client.unprinted - output->bytes, __ATOMIC_RELAXED);
        free(output);
    }
    weft_unlock(&client.lock);
    weft_unlock(&client.printing);
}

static weft_status take_records(int process, bool *did)
{
    struct weft_ring_in *ring = &client.links.link[process].in;
    struct weft_record *record;

    for (;;) {
        weft_status status = weft_ring_in_next(ring, &record);
        if (status == WEFT_OK && record == NULL)
            return WEFT_OK;
        if (status == WEFT_OK)
            status = record->call == WEFT_CALL_output ? take_output(record) : take_answer(record);
        if (status != WEFT_OK)
            return weft_links_fail(&client.links, status,
                                   "server %s sent an answer that makes no sense",
                                   client.server[process].name);
        weft_ring_in_done(ring, record);
        *did = true;
    }
}

void client_fail_waiting(CUresult result)
{
    for (int lane = 1; lane < CLIENT_LANES; lane++)
        if (client.lanes[lane] != NULL) {
            client.lanes[lane]->result = result;
            __atomic_store_n(&client.lanes[lane]->done, true, __ATOMIC_RELEASE);
            client.lanes[lane] = NULL;
        }
}

/* Drives the network, and takes what has come. The caller holds the lock. */
static weft_status progress(bool *did)
{
    if (client.left)
        return WEFT_ERR_PEER_LOST;
    const bool had_failed = client.links.status != WEFT_OK;
    weft_status status = weft_links_progress(&client.links, did);

    for (int p = 1; p < client.links.processes && status == WEFT_OK; p++)
        status = take_records(p, did);
    if (status == WEFT_OK)
        status = weft_sources_pump(&client.sources, did);
    if (status == WEFT_OK)
        return WEFT_OK;
    weft_links_failed(&client.links, status);
    if (!had_failed) {
        const int lost = client.links.lost;
        weft_say(WEFT_SAY_ERROR, "server %s is lost: %s",
                 lost > 0 ? client.server[lost].name : "of this program", weft_status_text(status));
    }
    client_fail_waiting(CUDA_ERROR_DEVICE_UNAVAILABLE);
    return status;
}

/* ---- sending --------------------------------------------------------------------------------- */

bool client_take_turns(void)
{
    bool did = false;

    if (progress(&did) != WEFT_OK)
        return false;
    weft_unlock(&client.lock);
    weft_task_yield(!did);
    weft_lock(&client.lock);
    return true;
}

/* Writes a record, waiting for room. The caller holds the lock, given up while it waits. */
static CUresult send(const struct client_device *device, enum weft_call call, const uint64_t *words,
                     uint32_t count, const void *extra, uint32_t bytes, int lane)
{
    struct weft_ring_out *out = &client.links.link[device->known.process].out;
    struct weft_record *record = NULL;

    while (client.links.status == WEFT_OK &&
           (record = weft_ring_out_begin(out, (uint16_t)call, count, bytes)) == NULL &&
           client_take_turns())
        continue;
    if (record == NULL)
        return CUDA_ERROR_DEVICE_UNAVAILABLE;
    if (call != WEFT_CALL_stream_synchronize && call != WEFT_CALL_bye) {
        struct client_device *its =
            &client.device[client.server[device->known.process].first] + device->known.number;
        __atomic_store_n(&its->given, its->given + 1, __ATOMIC_RELAXED);
    }
    record->lane = (uint8_t)lane;
    record->device = (uint8_t)device->known.number;
    if (count != 0)
        memcpy(weft_record_words(record), words, count * sizeof(*words));
    if (bytes != 0)
        memcpy(weft_record_extra(record), extra, bytes);
    weft_ring_out_end(out, record);
    const weft_status status = weft_link_flush(&client.links, device->known.process);
    if (status != WEFT_OK)
        weft_links_failed(&client.links, status);
    return CUDA_SUCCESS;
}

/* Whether a call is part of one of the program's, and has no error: who posts it goes on anyway. */
static bool is_part(enum weft_call call)
{
    return call == WEFT_CALL_gate || call == WEFT_CALL_send || call == WEFT_CALL_signal ||
           call == WEFT_CALL_unimport || call == WEFT_CALL_bye;
}

CUresult client_post(const struct client_device *device, enum weft_call call, const uint64_t *words,
                     uint32_t count, const void *extra, uint32_t bytes)
{
    weft_lock(&client.lock);
    CUresult result = CUDA_ERROR_DEINITIALIZED;
    if (client.open)
        result = send(device, call, words, count, extra, bytes, 0);
    weft_unlock(&client.lock);
    if (result != CUDA_SUCCESS || !client.links.config.remote_sync || is_part(call))
        return result;
    return client_tell(client_call(device, WEFT_CALL_mem_info, NULL, 0, NULL, 0, NULL));
}

/* Takes a free lane, waiting for one. Lock held. 0: the job has failed. Who moves managed memory
 * has two more: those who have the others may wait for a callback that touches it. */
static int take_lane(struct client_call *call)
{
    const int most = client_has_turn ? CLIENT_LANES : CLIENT_LANES - 2;

    do {
        for (int lane = 1; lane < most; lane++)
            if (client.lanes[lane] == NULL) {
                client.lanes[lane] = call;
                return lane;
            }
    } while (client_take_turns());
    return 0;
}

void client_nap(uint64_t longest)
{
    struct weft_bell *bell = NULL;
    uint32_t ticket = 0;
    bool did = false;

    weft_lock(&client.lock);
    if (!client.left)
        bell = weft_net_bell(client.links.net, WEFT_NET_RECEIVE);
    if (bell != NULL) {
        ticket = weft_bell_prepare(bell);
        client.napping++;
    }
    const weft_status status =
        bell != NULL || __atomic_load_n(&client.waiting, __ATOMIC_RELAXED) == 0 ? progress(&did)
                                                                                : WEFT_OK;
    weft_unlock(&client.lock);
    if (bell == NULL || status != WEFT_OK) {
        const struct timespec pause = {.tv_nsec = (long)nap_ns};
        nanosleep(&pause, NULL);
    }
    if (bell == NULL)
        return;
    if (status == WEFT_OK && !did)
        weft_bell_sleep(bell, ticket, longest);
    else
        weft_bell_cancel(bell);
    weft_lock(&client.lock);
    client.napping--;
    weft_unlock(&client.lock);
}

static void wait_for(struct client_call *call)
{
    uint64_t idle_since = weft_now_ns();

    __atomic_fetch_add(&client.waiting, 1, __ATOMIC_RELAXED);
    while (!__atomic_load_n(&call->done, __ATOMIC_ACQUIRE)) {
        bool did = false;
        weft_lock(&client.lock);
        const bool goes_on = progress(&did) == WEFT_OK;
        if (did || (goes_on && client.sources.first != NULL)) /* there may be more to send */
            idle_since = weft_now_ns();
        weft_unlock(&client.lock);
        if (did || __atomic_load_n(&call->done, __ATOMIC_ACQUIRE))
            continue;
        if (weft_now_ns() - idle_since < spin_ns)
            weft_task_yield(false);
        else
            client_nap(nap_ns);
    }
    __atomic_fetch_sub(&client.waiting, 1, __ATOMIC_RELAXED);
    if (__atomic_load_n(&client.unprinted, __ATOMIC_RELAXED) != 0 && !client_has_turn)
        client_print(); /* what came before the answer */
}

CUresult client_tell(CUresult result)
{
    if (client_has_turn || result != CUDA_SUCCESS || /* managed.c is not the program */
        __atomic_load_n(&client.late, __ATOMIC_RELAXED) == CUDA_SUCCESS)
        return result;
    return __atomic_exchange_n(&client.late, CUDA_SUCCESS, __ATOMIC_RELAXED);
}

CUresult client_call(const struct client_device *device, enum weft_call call, const uint64_t *words,
                     uint32_t count, const void *extra, uint32_t bytes, struct client_call *answer)
{
    struct client_call none = {0};

    if (answer == NULL)
        answer = &none;
    answer->done = false;
    weft_lock(&client.lock);
    const int lane = client.open ? take_lane(answer) : 0;
    CUresult result = !client.open ? CUDA_ERROR_DEINITIALIZED : CUDA_ERROR_DEVICE_UNAVAILABLE;
    if (lane != 0) {
        result = send(device, call, words, count, extra, bytes, lane);
        if (result != CUDA_SUCCESS)
            client.lanes[lane] = NULL;
    }
    weft_unlock(&client.lock);
    if (result != CUDA_SUCCESS)
        return result;
    wait_for(answer);
    return answer->result;
}

CUresult client_synchronize(struct client_device *device, CUstream stream)
{
    const uint64_t given = __atomic_load_n(&device->given, __ATOMIC_RELAXED);
    const bool all = weft_is_default(WORD(stream));

    if (all && client.open && client.links.status == WEFT_OK &&
        given == __atomic_load_n(&device->done, __ATOMIC_RELAXED))
        return client_tell(CUDA_SUCCESS);
    const CUresult result = CLIENT_CALL(device, stream_synchronize, NULL, WORD(stream));
    if (all && result == CUDA_SUCCESS)
        __atomic_store_n(&device->done, given, __ATOMIC_RELAXED);
    return client_tell(result);
}
