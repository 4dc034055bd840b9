/* dart_initialization.h - beginning and end. */
#ifndef DART_INITIALIZATION_H
#define DART_INITIALIZATION_H

#include <dash/dart/if/dart_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Begin and end DART; all other calls come between. Collective over all units. Options
 * --weft-NAME=VALUE are removed from the arguments; argc and argv may be NULL. After dart_exit a
 * program may begin again.
 */
dart_ret_t dart_init(int *argc, char ***argv) DART_NOTHROW;
/*
 * The same, but any thread may call afterwards: *provided is DART_THREAD_MULTIPLE. One thread at a
 * time makes collective calls on a team. One thread of the unit at a time creates or frees teams,
 * segments and locks.
 */
dart_ret_t dart_init_thread(int *argc, char ***argv,
                            dart_thread_support_level_t *provided) DART_NOTHROW;
/* Frees what is left. */
dart_ret_t dart_exit(void) DART_NOTHROW;
/* Any thread. */
bool dart_initialized(void) DART_NOTHROW;
/* Ends the job in error: this unit with the status errorcode. */
void dart_abort(int errorcode) __attribute__((noreturn));

#ifdef __cplusplus
}
#endif
#endif
