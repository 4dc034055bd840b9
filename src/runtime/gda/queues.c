/* runtime/gda/queues.c - see the header. */
#include "runtime/gda/queues.h"

#include "base/say.h"
#include "runtime/job/exchange.h"

#include <stdlib.h>
#include <string.h>

enum { LINE = 64 }; /* bytes to which a rank fetches */

/* ---- memory that only the device reaches ----------------------------------------------------- */

static bool far_copy(void *context, void *target, const void *source, size_t bytes)
{
    struct weft_job *job = context;
    const struct weft_device_ops *ops = job->device_ops;
    const bool good = ops->copy(job->device, WEFT_STREAM_SEND, target, source, bytes) == WEFT_OK &&
                      ops->wait(job->device, WEFT_STREAM_SEND) == WEFT_OK;

    if (!good)
        weft_job_cannot(job, WEFT_ERR_DEVICE, "copy %zu bytes for its queues", bytes);
    return good;
}

static bool far_store(void *context, uint32_t *word, uint32_t value)
{
    struct weft_job *job = context;
    const bool good =
        job->device_ops->store(job->device, WEFT_STREAM_SEND, word, value, 0) == WEFT_OK;

    if (!good)
        weft_job_cannot(job, WEFT_ERR_DEVICE, "complete a request of its queues");
    return good;
}

static bool far_update(void *context, void *word, const struct weft_change *change, uint64_t *old)
{
    struct weft_job *job = context;

    *old = job->space.state.update(job->space.state.copy_context, word, change);
    return !weft_job_is_failing(job);
}

/* ---- keys: regions of others lie under the table lock ---------------------------------------- */

/* Finds the index of an rkey's region in the list, or where it would be. */
static uint32_t place_of(const struct weft_queue_peer *peer, uint32_t rkey)
{
    uint32_t low = 0, high = peer->regions_count;

    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (weft_gda_rkey(peer->regions[middle].key) < rkey)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_at(const struct weft_queue_peer *peer, uint32_t place, uint32_t rkey)
{
    return place < peer->regions_count && weft_gda_rkey(peer->regions[place].key) == rkey;
}

void weft_queues_region(struct weft_job *job, int process, uint64_t key, uint64_t base)
{
    if (job->queues == NULL)
        return;
    struct weft_queue_peer *peer = &job->queues->peers[process];
    const uint32_t place = place_of(peer, weft_gda_rkey(key)), count = peer->regions_count;
    if (!is_at(peer, place, weft_gda_rkey(key))) {
        struct weft_queue_region *more = realloc(peer->regions, (count + 1) * sizeof(*more));
        if (more == NULL) {
            weft_job_fail(job, WEFT_ERR_MEMORY, "no memory for %u regions of process %d", count + 1,
                          process);
            return;
        }
        memmove(&more[place + 1], &more[place], (count - place) * sizeof(*more));
        peer->regions = more;
        peer->regions_count = count + 1;
    } else if ((peer->regions[place].key ^ key) >> 63 != 0) { /* verbs has two kinds of keys */
        weft_job_fail(job, WEFT_ERR_LIMIT,
                      "process %d: queues cannot tell its regions at 0x%llx and 0x%llx apart, by "
                      "keys 0x%llx and 0x%llx (WEFT_GDA=off)",
                      process, (unsigned long long)peer->regions[place].base,
                      (unsigned long long)base, (unsigned long long)peer->regions[place].key,
                      (unsigned long long)key);
        return;
    }
    peer->regions[place] = (struct weft_queue_region){key, base};
}

bool weft_queues_find(struct weft_job *job, int process, uint32_t rkey,
                      struct weft_queue_region *region)
{
    const struct weft_queue_peer *peer = &job->queues->peers[process];

    weft_lock(&job->space.tables);
    const uint32_t place = place_of(peer, rkey);
    const bool known = is_at(peer, place, rkey);
    if (known)
        *region = peer->regions[place];
    weft_unlock(&job->space.tables);
    return known;
}

static int by_address(const void *a, const void *b)
{
    const struct weft_gda_key *one = a, *other = b;

    return one->begin < other->begin ? -1 : one->begin > other->begin;
}

static void add_key(struct weft_gda_keys *keys, const void *base, uint64_t bytes)
{
    if (base == NULL || bytes == 0 || keys->count == WEFT_GDA_KEYS)
        return; /* what the NIC does not know goes through the host */
    keys->key[keys->count++] = (struct weft_gda_key){.begin = (uint64_t)(uintptr_t)base,
                                                     .end = (uint64_t)(uintptr_t)base + bytes};
}

static void own_keys(struct weft_job *job, struct weft_gda_keys *keys)
{
    const struct weft_process *self = &job->processes[job->numbers.process];
    const uint64_t counts = (uint64_t)(uintptr_t)job->queues->counts;
    uint32_t kept = 0;

    *keys = (struct weft_gda_keys){0};
    weft_lock(&job->space.tables);
    for (uint32_t i = 0; i < self->segments_count; i++)
        add_key(keys, self->segments[i].address, self->segments[i].share.bytes);
    for (uint32_t i = 0; i < job->space.regions_count; i++) /* the program's: they stay */
        if (job->space.regions[i].claim == WEFT_COMM_NONE &&
            job->space.regions[i].owner == WEFT_WIN_NONE)
            add_key(keys, job->space.regions[i].base, job->space.regions[i].bytes);
    weft_unlock(&job->space.tables);
    qsort(keys->key, keys->count, sizeof(keys->key[0]), by_address);
    for (uint32_t i = 0; i < keys->count; i++) { /* what overlaps another is known by that one */
        if (kept > 0 && keys->key[i].begin < keys->key[kept - 1].end)
            continue;
        keys->key[kept] = keys->key[i];
        /* The counts and the sinks have the same key always: the ranks' ends name it. */
        keys->key[kept].lkey = counts - keys->key[i].begin < keys->key[i].end - keys->key[i].begin
                                   ? WEFT_QUEUES_LKEY
                                   : WEFT_QUEUES_LKEY + 0x100 * (kept + 1);
        kept++;
    }
    keys->count = kept;
}

/* ---- opening --------------------------------------------------------------------------------- */

static weft_status check_nic(const struct weft_job *job)
{
    if (job->config.gda_nic != WEFT_GDA_NIC_BLOCK)
        return WEFT_OK;
    if (!job->device_ops->runs_beside)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_GDA_NIC=block needs a GPU; the device is %s",
                        job->device_ops->name);
    if (job->config.path != WEFT_PATH_QUEUE)
        weft_say(WEFT_SAY_INFO,
                 "WEFT_GDA_NIC=block has nothing to serve: queues to the own process are used with "
                 "WEFT_PATH=queue");
    return WEFT_OK;
}

weft_status weft_queues_open(struct weft_job *job)
{
    struct weft_state *state = &job->space.state;

    if (job->config.gda == WEFT_GDA_OFF) {
        if (job->config.path != WEFT_PATH_QUEUE)
            return WEFT_OK;
        return weft_err(WEFT_ERR_CONFIG, "WEFT_PATH=queue needs WEFT_GDA=softnic");
    }
    struct weft_queues *queues = job->queues = weft_job_keep(job, 1, sizeof(*queues));
    if (queues == NULL)
        return WEFT_ERR_MEMORY;
    if (!job->device_ops->host_access && state->update == NULL)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_GDA=softnic on a GPU needs WEFT_CUDA_SERVICE");
    WEFT_TRY(check_nic(job));
    queues->peers = weft_job_keep(job, (size_t)job->numbers.processes, sizeof(*queues->peers));
    if (queues->peers == NULL)
        return WEFT_ERR_MEMORY;
    queues->far = (struct weft_softnic_far){
        .copy = far_copy, .store = far_store, .update = far_update, .context = job};
    queues->nic.far = job->device_ops->host_access ? NULL : &queues->far;
    queues->nic.keys = &queues->keys;
    queues->nic.bell = &state->exposed->bell;
    return WEFT_OK;
}

void weft_queues_close(struct weft_job *job)
{
    if (job->queues == NULL)
        return;
    weft_queues_free(job);
    for (int p = 0; job->queues->peers != NULL && p < job->numbers.processes; p++)
        free(job->queues->peers[p].regions);
    job->queues = NULL;
}

uint32_t weft_queues_words(const struct weft_job *job)
{
    return job->queues != NULL ? ((uint32_t)job->numbers.ranks_here + 1) * WEFT_TAGS : 0;
}

/* ---- a prepared kernel ----------------------------------------------------------------------- */

weft_status weft_queues_meet(struct weft_job *job, int ranks)
{
    struct weft_queues *queues = job->queues;
    const size_t slots = (size_t)ranks + 1, n = (size_t)job->numbers.processes;
    struct counts {
        uint64_t address, base, key; /* base: of the region of `key` */
    } mine = {0};
    struct weft_place place = {0};

    if (queues == NULL)
        return WEFT_OK;
    weft_free(job, queues->counts);
    queues->counts_bytes = slots * (WEFT_TAGS * sizeof(uint64_t) + LINE);
    queues->counts = weft_malloc(job, queues->counts_bytes);
    if (queues->counts == NULL)
        return WEFT_ERR_MEMORY;
    weft_lock(&job->space.tables);
    weft_memory_in_segment(job, queues->counts, queues->counts_bytes, &place);
    weft_unlock(&job->space.tables);
    mine.address = (uint64_t)(uintptr_t)queues->counts;
    mine.base = mine.address - place.segment_offset;
    mine.key = place.key;
    weft_status status;
    WEFT_FREED struct counts *all =
        weft_exchange_all(job, WEFT_EXCHANGE_QUEUES, &mine, sizeof(mine), &status);
    WEFT_TRY(status);
    weft_lock(&job->space.tables);
    for (size_t p = 0; p < n; p++) {
        queues->peers[p].counts = all[p].address;
        queues->peers[p].key = all[p].key;
        weft_queues_region(job, (int)p, all[p].key, all[p].base);
    }
    weft_unlock(&job->space.tables);
    return WEFT_OK;
}

void weft_queues_place(struct weft_job *job, weft_self *self)
{
    if (!job->ranks.queues || self->slot == WEFT_HOST_SLOT)
        return;
    self->queues = (struct weft_gda_queue *)(void *)job->queues->there +
                   (size_t)(self->slot - 1) * (size_t)job->numbers.processes;
}

/* ---- a run ----------------------------------------------------------------------------------- */

weft_status weft_queues_reset(struct weft_job *job)
{
    struct weft_queues *queues = job->queues;

    if (queues == NULL)
        return WEFT_OK;
    WEFT_FREED unsigned char *zero = calloc(1, queues->counts_bytes);
    if (zero == NULL)
        return weft_err(WEFT_ERR_MEMORY, "no %zu bytes", queues->counts_bytes);
    WEFT_TRY(weft_job_copy(job, queues->counts, zero, queues->counts_bytes));
    own_keys(job, &queues->keys);
    return weft_job_copy(job, (void *)(uintptr_t)job->space.state.nic_keys, &queues->keys,
                         sizeof(queues->keys));
}

bool weft_queues_quiet(const struct weft_job *job)
{
    const struct weft_queues *queues = job->queues;

    for (uint32_t i = 0; queues != NULL && i < queues->count; i++) {
        const struct weft_softnic_queue *queue = &queues->list[i];
        if (queue->works == NULL)
            continue; /* the device's NIC ends with the kernel, when nothing is left to do */
        const uint64_t rung = weft_load_relaxed_u64(queue->doorbell);
        if (__atomic_load_n(&queue->quiet_at, __ATOMIC_ACQUIRE) != rung)
            return false;
    }
    return true;
}

/* ---- rounds of the software NIC: the progress task's ----------------------------------------- */

/* A rank that polls says itself what failed; so long the host leaves it to say so. */
static const uint64_t RANK_SAYS_NS = 100000000;

static bool nic_failed(const struct weft_job *job, uint32_t slot, uint32_t *syndrome,
                       uint32_t *index)
{
    const struct weft_nic_report *report = job->queues->nic_report;

    if (report == NULL || weft_load_acquire_u32(&report->failures, ORDER_nic_cqe_seen) == 0)
        return false;
    const uint64_t failed = weft_load_relaxed_u64(&report->failed[slot - 1]);
    *syndrome = (uint32_t)failed;
    *index = (uint32_t)(failed >> 32);
    return *syndrome != 0;
}

/* The rank may wait for something else, or others for what it sends. */
static void queue_failed(struct weft_job *job, uint32_t i, uint32_t syndrome, uint32_t index)
{
    const uint32_t processes = (uint32_t)job->numbers.processes;
    const bool shared = weft_queues_each(job) < job->numbers.ranks_here;

    if (job->queues->failed_since == 0)
        job->queues->failed_since = weft_now_ns();
    if (weft_now_ns() - job->queues->failed_since < RANK_SAYS_NS)
        return;
    weft_job_fail(job, weft_gda_status(syndrome),
                  "%s: queue %u to process %u: the request at index %u failed with syndrome 0x%x",
                  shared ? "ranks that share it" : weft_slot_name(job, 1 + i / processes).text,
                  1 + i, i % processes, index, syndrome);
}

static bool queues_round(struct weft_job *job)
{
    struct weft_queues *queues = job->queues;
    bool did = false;

    if (queues == NULL || weft_mutation == DRAIN_commands)
        return false;
    for (uint32_t i = 0; i < queues->count; i++) {
        struct weft_softnic_queue *const queue = &queues->list[i];
        uint32_t syndrome = 0, index = 0;
        if (queue->works != NULL) {
            did |= weft_softnic_round(queue);
            syndrome = queue->broken;
            index = queue->failed;
        } else {
            nic_failed(job, 1 + i / (uint32_t)job->numbers.processes, &syndrome, &index);
        }
        if (syndrome != 0) {
            queue_failed(job, i, syndrome, index);
            did = true;
        }
    }
    return did;
}

const struct weft_service weft_queues_service = {
    .close = weft_queues_close,
    .round = {[WEFT_NET_SEND] = queues_round},
};
