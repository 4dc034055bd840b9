/*
 * fuzz_meeting.c - what another process tells of its rings for messages when a job opens: what this
 * one tells, with any of its bytes changed. What cannot be is refused, and a ring lies in what is
 * mapped of the other process.
 */
#include "fuzz.h"

#include "msg/msg.h"
#include "runtime/job/exchange.h"

#include <stdlib.h>
#include <weft/weft.h>

enum { PROCESSES = 2 };

static struct fuzz_bytes
    *changes; /* in turns which byte, and what it becomes; NULL: the job opens */

void *__real_weft_exchange_all(struct weft_job *job, enum weft_exchange_op op, const void *mine,
                               size_t bytes, weft_status *status);
void *__wrap_weft_exchange_all(struct weft_job *job, enum weft_exchange_op op, const void *mine,
                               size_t bytes, weft_status *status);
void *__wrap_weft_exchange_all(struct weft_job *job, enum weft_exchange_op op, const void *mine,
                               size_t bytes, weft_status *status)
{
    if (changes == NULL)
        return __real_weft_exchange_all(job, op, mine, bytes, status);
    unsigned char *const all = malloc(PROCESSES * bytes), *const theirs = all + bytes;
    MUST(all != NULL);
    memcpy(all, mine, bytes);
    memcpy(theirs, mine, bytes);
    while (changes->size > 0) {
        const size_t at = fuzz_byte(changes) % bytes;
        theirs[at] = (unsigned char)fuzz_byte(changes);
    }
    *status = WEFT_OK;
    return all;
}

/* A job of one that takes itself for process 0 of two, of which the other is like it. */
static weft_job *job_of_two(void)
{
    static weft_job *job;

    if (job != NULL)
        return job;
    setenv("WEFT_DEVICE", "cpu", 1);
    setenv("WEFT_MSG_RING", "512", 1);
    setenv("WEFT_LOG", "error", 1);
    MUST(weft_open(&job, NULL, NULL) == WEFT_OK);
    weft_services_stop(job);
    struct weft_process *processes = weft_job_keep(job, PROCESSES, sizeof(*processes));
    struct weft_process_entry *table = weft_job_keep(job, PROCESSES, sizeof(*table));
    MUST(processes != NULL && table != NULL);
    processes[0] = processes[1] = job->processes[0];
    table[0] = table[1] = job->space.state.process_table[0];
    table[1].exposed = job->space.state.exposed;
    job->processes = processes;
    job->space.state.process_table = table;
    job->numbers.processes = PROCESSES;
    job->one_address_space = false;
    void *box; /* with a ring for each */
    MUST(weft_share_create(sizeof(struct weft_msg_box) +
                               PROCESSES * weft_mail_ring_bytes((uint32_t)job->config.msg_ring),
                           &box, &job->messages->share) == WEFT_OK);
    return job;
}

static void check(const struct weft_msg_peer *peer, uint64_t start)
{
    const uint64_t ring = (uintptr_t)peer->out.ring - (uintptr_t)peer->box;
    const uint64_t end = ring + weft_mail_ring_bytes(peer->out.far.units * WEFT_MAIL_UNIT);

    if (peer->box != NULL) {
        MUST(ring < end && end <= peer->share.bytes && peer->out.line == start);
        MUST(peer->piece > 0 &&
             peer->eager <= weft_mail_most(peer->out.far.units * WEFT_MAIL_UNIT));
        return;
    }
    MUST(peer->far.units >= WEFT_MAIL_LEAST / WEFT_MAIL_UNIT && peer->piece > 0);
    MUST((peer->far.units & (peer->far.units - 1)) == 0);
    MUST(peer->eager <= peer->far.units / 2 * WEFT_MAIL_UNIT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes in = {data, size};
    weft_job *job = job_of_two();
    struct weft_msg_peer peers[PROCESSES] = {0}, *const own = job->messages->peers;
    const struct weft_msg_peer *const other = &peers[1];

    job->messages->peers = peers;
    job->messages->mapped_count = 0;
    changes = &in;
    const weft_status status = weft_msg_module.meet(job);
    MUST(status == WEFT_OK || status == WEFT_ERR_PROTOCOL);
    MUST(size > 0 || other->box != NULL);
    if (status == WEFT_OK)
        check(other, (uint64_t)job->config.counter_start);
    if (other->box != NULL)
        weft_share_unmap(other->box, &other->share, false);
    free(other->far.shadow);
    job->messages->peers = own;
    return 0;
}
