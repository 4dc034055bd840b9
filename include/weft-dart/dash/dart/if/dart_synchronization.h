/* dart_synchronization.h - locks of a team, first come first served among units. */
#ifndef DART_SYNCHRONIZATION_H
#define DART_SYNCHRONIZATION_H

#include <dash/dart/if/dart_types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dart_lock_struct *dart_lock_t;
#define DART_LOCK_NULL ((dart_lock_t)0)

/*
 * Create and destroy a lock. Collective over the team. destroy: nobody holds it or waits; *lock
 * becomes DART_LOCK_NULL. INVAL: a thread of this unit has it.
 */
dart_ret_t dart_team_lock_init(dart_team_t team, dart_lock_t *lock) DART_NOTHROW;
dart_ret_t dart_team_lock_destroy(dart_lock_t *lock) DART_NOTHROW;
/*
 * Acquire, try and release a lock. One thread of one unit has it at a time, and releases it.
 * acquire blocks. try does not; *acquired says whether the caller has the lock. The holder sees
 * what was put and updated before the last release. Not recursive (INVAL; also a release by a
 * thread that does not have it).
 */
dart_ret_t dart_lock_acquire(dart_lock_t lock) DART_NOTHROW;
dart_ret_t dart_lock_try_acquire(dart_lock_t lock, int32_t *acquired) DART_NOTHROW;
dart_ret_t dart_lock_release(dart_lock_t lock) DART_NOTHROW;
bool dart_lock_initialized(struct dart_lock_struct const *lock) DART_NOTHROW;

#ifdef __cplusplus
}
#endif
#endif
