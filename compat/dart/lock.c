/* compat/dart/lock.c - locks of a team: weft's among units, a mutex among a unit's threads. */
#include "internal.h"

struct dart_lock_struct {
    weft_glock among_units;
    pthread_mutex_t among_threads;
    pthread_t owner; /* 0: nobody here has it */
};

static bool is_own(struct dart_lock_struct *lock)
{
    return __atomic_load_n(&lock->owner, __ATOMIC_RELAXED) == pthread_self();
}

dart_ret_t dart_team_lock_init(dart_team_t team, dart_lock_t *lock)
{
    TRY_PLACES(lock);
    TRY_TEAM(t, team);
    struct dart_lock_struct *const made = calloc(1, sizeof(*made));
    TRY_MEMORY(made);
    const dart_ret_t code =
        weftdart_result(weft_glock_create(weftdart.job, t->group, 0, &made->among_units));
    if (code != DART_OK) {
        free(made);
        return code;
    }
    weftdart_segment_enter(team, 0, false, &made->among_units.memory);
    pthread_mutex_init(&made->among_threads, NULL);
    *lock = made;
    return DART_OK;
}

dart_ret_t dart_team_lock_destroy(dart_lock_t *lock)
{
    TRY_OPEN();
    TRY_PLACES(lock);
    TRY_PLACES(*lock);
    if (__atomic_load_n(&(*lock)->owner, __ATOMIC_RELAXED) != 0)
        return INVALID("a thread of this unit has the lock");
    TRY_SEGMENT(segment, (*lock)->among_units.memory.base.segment);
    TRY_WEFT(weft_glock_free(weftdart.job, &(*lock)->among_units));
    segment->there = false;
    pthread_mutex_destroy(&(*lock)->among_threads);
    free(*lock);
    *lock = DART_LOCK_NULL;
    return DART_OK;
}

dart_ret_t dart_lock_acquire(dart_lock_t lock)
{
    TRY_OPEN();
    TRY_PLACES(lock);
    if (is_own(lock))
        return INVALID("this thread has the lock already");
    pthread_mutex_lock(&lock->among_threads);
    const dart_ret_t code =
        weftdart_result(weft_host_glock_acquire(weftdart.job, &lock->among_units));
    if (code == DART_OK)
        __atomic_store_n(&lock->owner, pthread_self(), __ATOMIC_RELAXED);
    else
        pthread_mutex_unlock(&lock->among_threads);
    return code;
}

dart_ret_t dart_lock_try_acquire(dart_lock_t lock, int32_t *acquired)
{
    int taken = 0;

    TRY_OPEN();
    TRY_PLACES(lock, acquired);
    if (is_own(lock) || pthread_mutex_trylock(&lock->among_threads) != 0) {
        *acquired = 0;
        return DART_OK;
    }
    const dart_ret_t code =
        weftdart_result(weft_host_glock_try(weftdart.job, &lock->among_units, &taken));
    if (taken)
        __atomic_store_n(&lock->owner, pthread_self(), __ATOMIC_RELAXED);
    else
        pthread_mutex_unlock(&lock->among_threads);
    if (code == DART_OK)
        *acquired = taken;
    return code;
}

dart_ret_t dart_lock_release(dart_lock_t lock)
{
    TRY_OPEN();
    TRY_PLACES(lock);
    if (!is_own(lock))
        return INVALID("this thread has not the lock");
    __atomic_store_n(&lock->owner, 0, __ATOMIC_RELAXED);
    const dart_ret_t code =
        weftdart_result(weft_host_glock_release(weftdart.job, &lock->among_units));
    pthread_mutex_unlock(&lock->among_threads);
    return code;
}

bool dart_lock_initialized(struct dart_lock_struct const *lock)
{
    return lock != DART_LOCK_NULL;
}
