/*
 * pgas/lock.c - locks are made, and host programs take them.
 */
#include "pgas/lock.h"
#include "pgas/pgas.h"

weft_status weft_glock_create(weft_job *job, weft_comm group, int ranks, weft_glock *lock)
{
    static const uint64_t zeros[512];
    weft_glock made;

    WEFT_TRY(weft_job_owned(job, "weft_glock_create"));
    WEFT_TRY(weft_host_place(job, "weft_glock_create", "lock", lock));
    if (ranks < 0 || ranks >= (int)WEFT_SLOTS)
        return weft_refused(job, WEFT_ERR_ARGUMENT, "weft_glock_create: %d ranks", ranks);
    const size_t bytes = (2 + (size_t)ranks) * WEFT_GLOCK_WORDS * 8;
    WEFT_TRY(weft_galloc(job, group, bytes, &made.memory));
    const weft_gptr mine = weft_gptr_at_place(made.memory.base, job->numbers.process);
    for (size_t at = 0; at < bytes; at += sizeof(zeros))
        WEFT_TRY(weft_host_gput(job, weft_gptr_add(mine, (int64_t)at), zeros,
                                bytes - at < sizeof(zeros) ? bytes - at : sizeof(zeros)));
    WEFT_TRY(weft_host_gflush(job));
    WEFT_TRY(weft_host_group_barrier(job, group));
    *lock = made;
    return WEFT_OK;
}

weft_status weft_glock_free(weft_job *job, weft_glock *lock)
{
    return weft_gfree(job, lock != NULL ? &lock->memory : NULL);
}

/* ---- host programs --------------------------------------------------------------------------- */

/* This program's number in the queue. */
static weft_status enter(weft_job *job, const char *call, const weft_glock *lock, uint64_t *me)
{
    WEFT_TRY(weft_job_owned(job, call));
    WEFT_TRY(weft_host_place(job, call, "lock", lock));
    *me = weft_glock_who(job->numbers.process, WEFT_HOST_SLOT);
    return WEFT_OK;
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

/* The same; takes it, and leaves 0. */
static weft_status await(weft_job *job, weft_gptr word, uint64_t *value)
{
    if (job->device_ops->host_access) {
        WEFT_TRY(look_at_lock(job, word));
        return weft_host_gswap(job, word, 0, value);
    }
    do /* by the device, which alone sees it whole */
        WEFT_TRY(weft_host_gswap(job, word, 0, value));
    while (*value == 0);
    return WEFT_OK;
}

weft_status weft_host_glock_try(weft_job *job, const weft_glock *lock, int *taken)
{
    uint64_t me, last = 0;

    WEFT_TRY(enter(job, "weft_host_glock_try", lock, &me));
    WEFT_TRY(weft_host_place(job, "weft_host_glock_try", "taken", taken));
    WEFT_TRY(weft_host_gcompare_swap(job, lock->memory.base, 0, me, &last));
    *taken = last == 0;
    return WEFT_OK;
}

weft_status weft_host_glock_acquire(weft_job *job, const weft_glock *lock)
{
    uint64_t me, before = 0;

    WEFT_TRY(enter(job, "weft_host_glock_acquire", lock, &me));
    WEFT_TRY(weft_host_gswap(job, lock->memory.base, me, &before));
    if (before == 0)
        return WEFT_OK;
    WEFT_TRY(weft_host_gswap(job, weft_glock_word(lock, before, WEFT_GLOCK_NEXT), me, NULL));
    return await(job, weft_glock_word(lock, me, WEFT_GLOCK_GRANTED), &before);
}

weft_status weft_host_glock_release(weft_job *job, const weft_glock *lock)
{
    uint64_t me, next = 0, last = 0;

    WEFT_TRY(enter(job, "weft_host_glock_release", lock, &me));
    const weft_gptr word = weft_glock_word(lock, me, WEFT_GLOCK_NEXT);
    WEFT_TRY(weft_host_gflush(job));
    WEFT_TRY(weft_host_gswap(job, word, 0, &next));
    if (next == 0) {
        WEFT_TRY(weft_host_gcompare_swap(job, lock->memory.base, me, 0, &last));
        if (last == me)
            return WEFT_OK;
        if (last == 0)
            return weft_refused(job, WEFT_ERR_STATE,
                                "weft_host_glock_release: nobody has the lock");
        WEFT_TRY(await(job, word, &next)); /* it has come, and is about to say so */
    }
    return weft_host_gswap(job, weft_glock_word(lock, next, WEFT_GLOCK_GRANTED), 1, NULL);
}
