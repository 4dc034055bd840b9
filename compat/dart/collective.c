/* compat/dart/collective.c - collectives of a team, and messages. */
#include "internal.h"

/* ---- collectives ----------------------------------------------------------------------------- */

/* Finds the team, and the bytes of nelem elements; checks the root where there is one. */
static dart_ret_t enter(dart_team_t team, size_t nelem, dart_datatype_t type, int root,
                        struct weftdart_team **t, size_t *bytes)
{
    TRY(weftdart_team_of(team, t));
    TRY(weftdart_bytes(nelem, type, bytes));
    return root >= 0 && root < (*t)->members ? DART_OK
                                             : INVALID("root %d of %d", root, (*t)->members);
}

/* Begins a collective: finds the team t, and the bytes of nelem elements. */
#define ENTER(nelem, root)                                                                         \
    struct weftdart_team *t;                                                                       \
    size_t bytes;                                                                                  \
    TRY(NAMED(enter(team, nelem, type, root, &t, &bytes)))

dart_ret_t dart_barrier(dart_team_t team)
{
    const dart_datatype_t type = DART_TYPE_BYTE;

    ENTER(0, 0);
    return weftdart_result(weft_team_barrier(t->team, NULL));
}

dart_ret_t dart_bcast(void *buf, size_t nelem, dart_datatype_t type, dart_team_unit_t root,
                      dart_team_t team)
{
    ENTER(nelem, root.id);
    return weftdart_result(weft_team_broadcast(t->team, root.id, buf, bytes, NULL));
}

dart_ret_t dart_scatter(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t type,
                        dart_team_unit_t root, dart_team_t team)
{
    ENTER(nelem, root.id);
    return weftdart_result(weft_team_scatter(t->team, root.id, sendbuf, recvbuf, bytes, NULL));
}

dart_ret_t dart_gather(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t type,
                       dart_team_unit_t root, dart_team_t team)
{
    ENTER(nelem, root.id);
    return weftdart_result(weft_team_gather(t->team, root.id, sendbuf, bytes, recvbuf, NULL));
}

dart_ret_t dart_allgather(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t type,
                          dart_team_t team)
{
    ENTER(nelem, 0);
    return weftdart_result(weft_team_allgather(t->team, sendbuf, bytes, recvbuf, NULL));
}

dart_ret_t dart_allgatherv(const void *sendbuf, size_t nsendelem, dart_datatype_t type,
                           void *recvbuf, const size_t *nrecvelem, const size_t *recvdispls,
                           dart_team_t team)
{
    TRY_PLACES(nrecvelem, recvdispls);
    ENTER(nsendelem, 0);
    if (nsendelem != nrecvelem[t->me])
        return INVALID("unit %d sends %zu elements, and receives %zu", t->me, nsendelem,
                       nrecvelem[t->me]);
    const size_t members = (size_t)t->members;
    FREED size_t *const sizes = calloc(2 * members, sizeof(*sizes));
    TRY_MEMORY(sizes);
    for (size_t i = 0; i < 2 * members; i++)
        TRY(weftdart_bytes(i < members ? nrecvelem[i] : recvdispls[i - members], type, &sizes[i]));
    return weftdart_result(
        weft_team_allgather_sizes(t->team, sendbuf, recvbuf, sizes, sizes + members, NULL));
}

dart_ret_t dart_alltoall(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t type,
                         dart_team_t team)
{
    ENTER(nelem, 0);
    return weftdart_result(weft_team_alltoall(t->team, sendbuf, recvbuf, bytes, NULL));
}

dart_ret_t dart_allreduce(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t type,
                          dart_operation_t op, dart_team_t team)
{
    weft_combine combine;

    ENTER(nelem, 0);
    TRY(weftdart_combine(type, op, &nelem, &combine));
    return weftdart_result(weft_team_allreduce(t->team, sendbuf, recvbuf, nelem, &combine, NULL));
}

dart_ret_t dart_reduce(const void *sendbuf, void *recvbuf, size_t nelem, dart_datatype_t type,
                       dart_operation_t op, dart_team_unit_t root, dart_team_t team)
{
    weft_combine combine;

    ENTER(nelem, root.id);
    TRY(weftdart_combine(type, op, &nelem, &combine));
    return weftdart_result(
        weft_team_reduce(t->team, root.id, sendbuf, recvbuf, nelem, &combine, NULL));
}

/* ---- messages -------------------------------------------------------------------------------- */

dart_ret_t dart_send(const void *sendbuf, size_t nelem, dart_datatype_t type, int tag,
                     dart_global_unit_t unit)
{
    size_t bytes;

    TRY_OPEN();
    TRY(weftdart_bytes(nelem, type, &bytes));
    return weftdart_result(
        weft_host_send(weftdart.job, WEFT_COMM_HOST, unit.id, tag, sendbuf, bytes));
}

/* Checks a receive: WEFT_ANY is no unit and no tag of DART. */
static dart_ret_t check_receive(int tag, dart_global_unit_t unit)
{
    TRY(weftdart_open());
    return tag >= 0 && unit.id >= 0 ? DART_OK : INVALID("tag %d, unit %d", tag, unit.id);
}

dart_ret_t dart_recv(void *recvbuf, size_t nelem, dart_datatype_t type, int tag,
                     dart_global_unit_t unit)
{
    size_t bytes;

    TRY(NAMED(check_receive(tag, unit)));
    TRY(weftdart_bytes(nelem, type, &bytes));
    return weftdart_result(
        weft_host_receive(weftdart.job, WEFT_COMM_HOST, unit.id, tag, recvbuf, bytes, NULL));
}

dart_ret_t dart_sendrecv(const void *sendbuf, size_t send_nelem, dart_datatype_t send_type,
                         int send_tag, dart_global_unit_t dest, void *recvbuf, size_t recv_nelem,
                         dart_datatype_t recv_type, int recv_tag, dart_global_unit_t src)
{
    weft_message_op op;
    size_t send_bytes, recv_bytes;
    int cancelled;

    TRY(NAMED(check_receive(recv_tag, src)));
    TRY(weftdart_bytes(send_nelem, send_type, &send_bytes));
    TRY(weftdart_bytes(recv_nelem, recv_type, &recv_bytes));
    TRY_WEFT(weft_host_receive_begin(weftdart.job, WEFT_COMM_HOST, src.id, recv_tag, recvbuf,
                                     recv_bytes, &op));
    const weft_status sent =
        weft_host_send(weftdart.job, WEFT_COMM_HOST, dest.id, send_tag, sendbuf, send_bytes);
    if (sent != WEFT_OK) {
        if (weft_host_message_cancel(weftdart.job, &op, &cancelled) == WEFT_OK && !cancelled)
            weft_host_message_wait(weftdart.job, &op, NULL); /* into the caller's memory */
        return weftdart_result(sent);
    }
    return weftdart_result(weft_host_message_wait(weftdart.job, &op, NULL));
}
