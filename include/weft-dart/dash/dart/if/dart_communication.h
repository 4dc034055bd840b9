/* dart_communication.h - collectives, puts, gets, updates, messages. */
#ifndef DART_COMMUNICATION_H
#define DART_COMMUNICATION_H

#include <dash/dart/if/dart_globmem.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- collectives over a team: blocking ----------------------------------------------------------
 * All units of the team make the same calls in the same order. Buffers are memory of the host; of
 * types that are strided or indexed there are none (INVAL). Reductions: the result does not depend
 * on who comes first; sendbuf may be recvbuf. A sendbuf of NULL in dart_allgather,
 * dart_allgatherv and, at the root alone, dart_gather: the unit's part is in recvbuf already.
 */
dart_ret_t dart_barrier(dart_team_t team) DART_NOTHROW;
dart_ret_t dart_bcast(void *buf, size_t nelem, dart_datatype_t type, dart_team_unit_t root,
                      dart_team_t team) DART_NOTHROW;
dart_ret_t dart_scatter(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t type,
                        dart_team_unit_t root, dart_team_t team) DART_NOTHROW;
dart_ret_t dart_gather(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t type,
                       dart_team_unit_t root, dart_team_t team) DART_NOTHROW;
dart_ret_t dart_allgather(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t type,
                          dart_team_t team) DART_NOTHROW;
/* Gathers nrecvelem[i] elements of unit i at recvdispls[i], also counted in elements. */
dart_ret_t dart_allgatherv(const void *sendbuf, size_t nsendelem, dart_datatype_t type,
                           void *recvbuf, const size_t *nrecvelem, const size_t *recvdispls,
                           dart_team_t team) DART_NOTHROW;
dart_ret_t dart_alltoall(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t type,
                         dart_team_t team) DART_NOTHROW;
dart_ret_t dart_allreduce(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t type,
                          dart_operation_t op, dart_team_t team) DART_NOTHROW;
dart_ret_t dart_reduce(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t type,
                       dart_operation_t op, dart_team_unit_t root, dart_team_t team) DART_NOTHROW;

/* ---- updates: each element undivided among all updates ------------------------------------------
 * Of predefined types of up to 8 bytes, with predefined operations but MINMAX. Elements are aligned
 * to their size. One of 1 or 2 bytes is updated with the 4 bytes around it, which must be in the
 * segment too (INVAL: at the ends of registered memory). The first two may return before the update
 * is made (dart_flush); values may be reused at once. The others return when it is.
 * compare_and_swap: integers.
 */
dart_ret_t dart_accumulate(dart_gptr_t gptr, const void *values, size_t nelem, dart_datatype_t type,
                           dart_operation_t op) DART_NOTHROW;
dart_ret_t dart_accumulate_blocking_local(dart_gptr_t gptr, const void *values, size_t nelem,
                                          dart_datatype_t type, dart_operation_t op) DART_NOTHROW;
dart_ret_t dart_fetch_and_op(dart_gptr_t gptr, const void *value, void *result,
                             dart_datatype_t type, dart_operation_t op) DART_NOTHROW;
dart_ret_t dart_compare_and_swap(dart_gptr_t gptr, const void *value, const void *compare,
                                 void *result, dart_datatype_t type) DART_NOTHROW;

/* ---- puts and gets ------------------------------------------------------------------------------
 * nelem elements of the same base, which src_type and dst_type lay out. What one unit sends to
 * another takes effect in the order of the calls; a get sees what the unit has put there before.
 * These two are complete after a flush: buffers are the call's until then.
 */
dart_ret_t dart_get(void *dest, dart_gptr_t gptr, size_t nelem, dart_datatype_t src_type,
                    dart_datatype_t dst_type) DART_NOTHROW;
dart_ret_t dart_put(dart_gptr_t gptr, const void *src, size_t nelem, dart_datatype_t src_type,
                    dart_datatype_t dst_type) DART_NOTHROW;
/* Completes all of this unit's operations on the pointer's segment, at all units. Blocking. */
dart_ret_t dart_flush(dart_gptr_t gptr) DART_NOTHROW;
dart_ret_t dart_flush_all(dart_gptr_t gptr) DART_NOTHROW;
dart_ret_t dart_flush_local(dart_gptr_t gptr) DART_NOTHROW;
dart_ret_t dart_flush_local_all(dart_gptr_t gptr) DART_NOTHROW;

/*
 * The same with a handle, to be waited for, tested until complete, or freed. NULL: it is complete.
 */
typedef struct dart_handle_struct *dart_handle_t;
#define DART_HANDLE_NULL ((dart_handle_t)0)
dart_ret_t dart_get_handle(void *dest, dart_gptr_t gptr, size_t nelem, dart_datatype_t src_type,
                           dart_datatype_t dst_type, dart_handle_t *handle) DART_NOTHROW;
dart_ret_t dart_put_handle(dart_gptr_t gptr, const void *src, size_t nelem,
                           dart_datatype_t src_type, dart_datatype_t dst_type,
                           dart_handle_t *handle) DART_NOTHROW;
/*
 * Wait for handles; they become DART_HANDLE_NULL. Blocking. local: buffers may be reused; others:
 * the data is there.
 */
dart_ret_t dart_wait(dart_handle_t *handle) DART_NOTHROW;
dart_ret_t dart_waitall(dart_handle_t handles[], size_t n) DART_NOTHROW;
dart_ret_t dart_wait_local(dart_handle_t *handle) DART_NOTHROW;
dart_ret_t dart_waitall_local(dart_handle_t handles[], size_t n) DART_NOTHROW;
/*
 * Test handles. Non-blocking. 1: all are complete, and become DART_HANDLE_NULL; 0: they stay as
 * they were.
 */
dart_ret_t dart_test(dart_handle_t *handle, int32_t *finished) DART_NOTHROW;
dart_ret_t dart_testall(dart_handle_t handles[], size_t n, int32_t *finished) DART_NOTHROW;
dart_ret_t dart_test_local(dart_handle_t *handle, int32_t *finished) DART_NOTHROW;
dart_ret_t dart_testall_local(dart_handle_t handles[], size_t n, int32_t *finished) DART_NOTHROW;
/* Does not wait; dart_flush completes it. */
dart_ret_t dart_handle_free(dart_handle_t *handle) DART_NOTHROW;

/* Blocking: complete on return. */
dart_ret_t dart_get_blocking(void *dest, dart_gptr_t gptr, size_t nelem, dart_datatype_t src_type,
                             dart_datatype_t dst_type) DART_NOTHROW;
dart_ret_t dart_put_blocking(dart_gptr_t gptr, const void *src, size_t nelem,
                             dart_datatype_t src_type, dart_datatype_t dst_type) DART_NOTHROW;

/* ---- messages between units: blocking -----------------------------------------------------------
 * tag: 0 or more. A message matches a receive of its sender and tag, in the order sent. recv:
 * INVAL if it is longer.
 */
dart_ret_t dart_send(const void *sendbuf, size_t nelem, dart_datatype_t type, int tag,
                     dart_global_unit_t unit) DART_NOTHROW;
dart_ret_t dart_recv(void *recvbuf, size_t nelem, dart_datatype_t type, int tag,
                     dart_global_unit_t unit) DART_NOTHROW;
dart_ret_t dart_sendrecv(const void *sendbuf, size_t send_nelem, dart_datatype_t send_type,
                         int send_tag, dart_global_unit_t dest, void *recvbuf, size_t recv_nelem,
                         dart_datatype_t recv_type, int recv_tag,
                         dart_global_unit_t src) DART_NOTHROW;

#ifdef __cplusplus
}
#endif
#endif
