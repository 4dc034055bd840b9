/*
 * pgas/lock.c - locks are made, and host programs take them.
 */
#include "pgas/lock.h"
#include "pgas/pgas.h"

weft_status weft_glock_create(weft_job *job, weft_comm group, int ranks, weft_glock *lock)
{
    static const uint64_t zeros[512];
    weft_status status = weft_job_owned(job, "weft_glock_create");
    weft_glock made;

    if (status == WEFT_OK)
        status = weft_host_place(job, "weft_glock_create", "lock", lock);
    if (status == WEFT_OK && (ranks < 0 || ranks >= (int)WEFT_SLOTS))
        status = weft_refused(job, WEFT_ERR_ARGUMENT, "weft_glock_create: %d ranks", ranks);
    if (status != WEFT_OK)
        return status;
    const size_t bytes = (2 + (size_t)ranks) * WEFT_GLOCK_WORDS * 8;
    status = weft_galloc(job, group, bytes, &made.memory);
    for (size_t at = 0; status == WEFT_OK && at < bytes; at += sizeof(zeros))
        status = weft_host_gput(
            job,
            weft_gptr_add(weft_gptr_at_place(made.memory.base, job->numbers.process), (int64_t)at),
            zeros, bytes - at < sizeof(zeros) ? bytes - at : sizeof(zeros));
    if (status == WEFT_OK)
        status = weft_host_gflush(job);
    if (status == WEFT_OK)
        status = weft_host_group_barrier(job, group);
    if (status == WEFT_OK)
        *lock = made;
    return status;
}

weft_status weft_glock_free(weft_job *job, weft_glock *lock)
{
    return weft_gfree(job, lock != NULL ? &lock->memory : NULL);
}

/* ---- host programs --------------------------------------------------------------------------- */

/* This program's number in the queue. */
static weft_status enter(weft_job *job, const char *call, const weft_glock *lock, uint64_t *me)
{
    weft_status status = weft_job_owned(job, call);

    if (status == WEFT_OK)
        status = weft_host_place(job, call, "lock", lock);
    if (status == WEFT_OK)
        *me = weft_glock_who(job->numbers.process, WEFT_HOST_SLOT);
    return status;
}

/* Waits until a word of this place is not 0. */
static weft_status look_at_lock(weft_job *job, weft_gptr word)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_glock");
    struct weft_gplace at;

    WEFT_HOST_TRY(weft_pgas_find(job, host_name, word, 8, 0, 1, &at));
    unsigned char *const base = weft_ptr(self, at.win, at.member);
    weft_wait_until(self, (uint64_t *)(void *)(base + at.offset), WEFT_NE, 0);
    return weft_host_leave(job, WEFT_OK);
}

static weft_status await(weft_job *job, weft_gptr word)
{
    uint64_t value = 0;
    weft_status status = WEFT_OK;

    if (job->device_ops->host_access)
        return look_at_lock(job, word);
    while (status == WEFT_OK && value == 0) /* by the device, which alone sees it whole */
        status = weft_host_gfetch_add(job, word, 0, &value);
    return status;
}

weft_status weft_host_glock_try(weft_job *job, const weft_glock *lock, int *taken)
{
    uint64_t me, last = 0;
    weft_status status = enter(job, "weft_host_glock_try", lock, &me);

    if (status == WEFT_OK)
        status = weft_host_place(job, "weft_host_glock_try", "taken", taken);
    if (status == WEFT_OK)
        status = weft_host_gcompare_swap(job, lock->memory.base, 0, me, &last);
    if (status == WEFT_OK)
        *taken = last == 0;
    return status;
}

weft_status weft_host_glock_acquire(weft_job *job, const weft_glock *lock)
{
    uint64_t me, before = 0;
    weft_status status = enter(job, "weft_host_glock_acquire", lock, &me);

    if (status == WEFT_OK)
        status = weft_host_gswap(job, lock->memory.base, me, &before);
    if (status != WEFT_OK || before == 0)
        return status;
    const weft_gptr granted = weft_glock_word(lock, me, WEFT_GLOCK_GRANTED);
    status = weft_host_gswap(job, weft_glock_word(lock, before, WEFT_GLOCK_NEXT), me, NULL);
    if (status == WEFT_OK)
        status = await(job, granted);
    if (status == WEFT_OK)
        status = weft_host_gswap(job, granted, 0, NULL);
    return status;
}

weft_status weft_host_glock_release(weft_job *job, const weft_glock *lock)
{
    uint64_t me, next = 0, last = 0;
    weft_status status = enter(job, "weft_host_glock_release", lock, &me);

    if (status != WEFT_OK)
        return status;
    const weft_gptr word = weft_glock_word(lock, me, WEFT_GLOCK_NEXT);
    status = weft_host_gflush(job);
    if (status == WEFT_OK)
        status = weft_host_gswap(job, word, 0, &next);
    if (status == WEFT_OK && next == 0) {
        status = weft_host_gcompare_swap(job, lock->memory.base, me, 0, &last);
        if (status != WEFT_OK || last == me)
            return status;
        if (last == 0)
            return weft_refused(job, WEFT_ERR_STATE,
                                "weft_host_glock_release: nobody has the lock");
        status = await(job, word); /* it has come, and is about to say so */
        if (status == WEFT_OK)
            status = weft_host_gswap(job, word, 0, &next);
    }
    if (status == WEFT_OK)
        status = weft_host_gswap(job, weft_glock_word(lock, next, WEFT_GLOCK_GRANTED), 1, NULL);
    return status;
}
