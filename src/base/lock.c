/*
 * base/lock.c - a mutex in one word: 0 free, 1 held, 2 held and perhaps waited for. Who has waited
 * takes it as 2, since others may still sleep; unlocking a 2 wakes one of them.
 */
#include "base/futex.h"
#include "base/task.h"

bool weft_lock_try(struct weft_lock *lock)
{
    uint32_t free = 0;

    return __atomic_compare_exchange_n(&lock->word, &free, 1, false, __ATOMIC_ACQUIRE,
                                       __ATOMIC_RELAXED);
}

void weft_lock(struct weft_lock *lock)
{
    if (weft_model != NULL)
        weft_model->lock(lock);
    else if (!weft_lock_try(lock))
        while (__atomic_exchange_n(&lock->word, 2, __ATOMIC_ACQUIRE) != 0)
            weft_futex_wait(&lock->word, 2, false, NULL);
}

void weft_unlock(struct weft_lock *lock)
{
    if (weft_model != NULL)
        weft_model->unlock(lock);
    else if (__atomic_exchange_n(&lock->word, 0, __ATOMIC_RELEASE) == 2)
        weft_futex_wake(&lock->word, 1, false);
}
