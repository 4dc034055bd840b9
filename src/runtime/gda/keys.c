/* runtime/gda/keys.c - see queues.h. Regions of others lie under the table lock. */
#include "runtime/gda/queues.h"

#include <stdlib.h>
#include <string.h>

/* Where the region of an rkey is in the list, or would be. */
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

void weft_queues_own_keys(struct weft_job *job, struct weft_gda_keys *keys)
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
