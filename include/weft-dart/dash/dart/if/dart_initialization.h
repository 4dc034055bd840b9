/* dart_initialization.h - beginning and end. */
#ifndef DART_INITIALIZATION_H
#define DART_INITIALIZATION_H

#include <dash/dart/if/dart_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Collective over all units; all other calls lie between these. Options --weft-NAME=VALUE are
 * removed from the arguments; argc and argv may be NULL. After dart_exit a program may begin again.
 */
dart_ret_t dart_init(int *argc, char ***argv) DART_NOTHROW;
/*
 * The same; any thread may call afterwards: *provided is DART_THREAD_MULTIPLE. Collective calls on
 * one team are made by one thread at a time, those that make or free teams, segments and locks by
 * one thread of the unit at a time.
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
