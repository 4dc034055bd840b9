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

/* ---- host programs: as their ranks do -------------------------------------------------------- */

static weft_status check(weft_job *job, const char *call, const weft_glock *lock)
{
    struct weft_gplace at;

    WEFT_TRY(weft_host_place(job, call, "lock", lock));
    return weft_pgas_find(job, call, lock->memory.base, 8, 0, 1, &at);
}

weft_status weft_host_glock_try(weft_job *job, const weft_glock *lock, int *taken)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_glock_try");
    WEFT_HOST_TRY(check(job, host_name, lock));
    WEFT_HOST_TRY(weft_host_place(job, host_name, "taken", taken));
    *taken = weft_glock_try(self, &job->pgas->space, lock);
    return weft_host_leave(job, WEFT_OK);
}

weft_status weft_host_glock_acquire(weft_job *job, const weft_glock *lock)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_glock_acquire");
    WEFT_HOST_TRY(check(job, host_name, lock));
    weft_glock_acquire(self, &job->pgas->space, lock);
    return weft_host_leave(job, WEFT_OK);
}

weft_status weft_host_glock_release(weft_job *job, const weft_glock *lock)
{
    WEFT_HOST_BEGIN(job, self, "weft_host_glock_release");
    const uint64_t me = weft_glock_who(job->numbers.process, WEFT_HOST_SLOT);

    WEFT_HOST_TRY(check(job, host_name, lock));
    weft_gflush(self, &job->pgas->space);
    if (!weft_glock_give(self, &job->pgas->space, lock, me,
                         weft_glock_word(lock, me, WEFT_GLOCK_NEXT)))
        WEFT_HOST_TRY(weft_refused(job, WEFT_ERR_STATE, "%s: nobody has the lock", host_name));
    return weft_host_leave(job, WEFT_OK);
}
