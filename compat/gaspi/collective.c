/*
 * compat/gaspi/collective.c - barriers and reductions of a group: collectives of its team, which a
 * call begins or, after a time limit, goes on with.
 */
#include "internal.h"

/* ---- operations ------------------------------------------------------------------------------ */

ELEMENT_INTEGERS(int, gaspi_int)
ELEMENT_INTEGERS(uint, gaspi_uint)
ELEMENT_REALS(float, gaspi_float)
ELEMENT_REALS(double, gaspi_double)
ELEMENT_INTEGERS(long, gaspi_long)
ELEMENT_INTEGERS(ulong, gaspi_ulong)

/* In the order of gaspi_datatype_t and gaspi_operation_t. */
#define ROW(type)                                                                                  \
    {                                                                                              \
        sizeof(gaspi_##type),                                                                      \
        {                                                                                          \
            min_##type, max_##type, sum_##type                                                     \
        }                                                                                          \
    }
static const struct {
    size_t bytes;
    void (*combine[3])(const weft_combine *combine, const void *from, void *into, size_t number);
} types[] = {ROW(int), ROW(uint), ROW(float), ROW(double), ROW(long), ROW(ulong)};

/* Combines by the program's own operation. Threads that wait in the collective call it. */
static void combine_user(const weft_combine *combine, const void *from, void *into, size_t number)
{
    struct weftgaspi_user *const user = (struct weftgaspi_user *)(uintptr_t)combine->operation;
    const gaspi_return_t code =
        user->operation((void *)(uintptr_t)from, into, user->result, user->state,
                        (gaspi_number_t)number, combine->bytes, user->timeout);

    if (code == GASPI_SUCCESS)
        memcpy(into, user->result, number * combine->bytes);
    else
        user->code = code;
}

/* ---- the calls ------------------------------------------------------------------------------- */

static gaspi_return_t begin_collective(struct weftgaspi_group *g,
                                       const struct weftgaspi_collective *call)
{
    g->call = *call;
    g->call.kind = WEFTGASPI_NONE;
    if (call->kind == WEFTGASPI_ALLREDUCE_USER) {
        void *const result = realloc(g->result, call->number * call->combine.bytes);
        if (result == NULL)
            return GASPI_ERR_MEMALLOC;
        g->call.user.result = g->result = result;
        g->call.combine.operation = &g->call.user;
    }
    const weft_status status = call->kind == WEFTGASPI_BARRIER
                                   ? weft_team_barrier(g->team, &g->op)
                                   : weft_team_allreduce(g->team, call->send, call->receive,
                                                         call->number, &g->call.combine, &g->op);
    if (status == WEFT_OK)
        g->call.kind = call->kind;
    weftgaspi_count(WEFTGASPI_COLLECTIVES, 0, status == WEFT_OK);
    return weftgaspi_result(status, -1);
}

/* Begins a collective, or goes on with it, and waits; meanwhile the lock is given up. */
static gaspi_return_t collective(gaspi_group_t group, gaspi_timeout_t timeout_ms,
                                 const struct weftgaspi_collective *call)
{
    const double until = weftgaspi_until(timeout_ms);
    gaspi_return_t code = GASPI_SUCCESS;
    struct weftgaspi_group *g;

    LOCKED;
    TRY(weftgaspi_group_enter(group, until, &g));
    if (g->team == NULL)
        code = GASPI_ERR_INV_GROUP;
    else if (g->call.kind == WEFTGASPI_NONE)
        code = begin_collective(g, call);
    else if (g->call.kind != call->kind || g->call.receive != call->receive)
        code = GASPI_ERR_ACTIVE_COLL;
    if (code == GASPI_SUCCESS) {
        pthread_mutex_unlock(&weftgaspi.lock);
        code = weftgaspi_result(weft_team_wait_for(&g->op, weftgaspi_left(until)), -1);
        pthread_mutex_lock(&weftgaspi.lock);
        if (code != GASPI_TIMEOUT)
            g->call.kind = WEFTGASPI_NONE;
        if (code == GASPI_SUCCESS)
            code = g->call.user.code;
    }
    weftgaspi_group_leave(g);
    return code;
}

CALL(barrier, (const gaspi_group_t group, const gaspi_timeout_t timeout_ms),
     collective(group, timeout_ms, &(struct weftgaspi_collective){.kind = WEFTGASPI_BARRIER}))

static gaspi_return_t check_buffers(const void *send, const void *receive, gaspi_number_t number)
{
    NEED(send != NULL && receive != NULL, GASPI_ERR_NULLPTR);
    NEED(number != 0 && number <= weftgaspi.config.allreduce_elem_max, GASPI_ERR_INV_NUM,
         "%u elements, at most %u", number, weftgaspi.config.allreduce_elem_max);
    return GASPI_SUCCESS;
}

API(allreduce,
    (const gaspi_pointer_t send, const gaspi_pointer_t receive, const gaspi_number_t number,
     const gaspi_operation_t operation, const gaspi_datatype_t type, const gaspi_group_t group,
     const gaspi_timeout_t timeout_ms))
{
    TRY_OPEN();
    TRY(check_buffers(send, receive, number));
    NEED((unsigned)operation <= GASPI_OP_SUM && (unsigned)type <= GASPI_TYPE_ULONG,
         GASPI_ERR_INV_NUM, "operation %d of type %d", (int)operation, (int)type);
    return collective(group, timeout_ms,
                      &(struct weftgaspi_collective){
                          .kind = WEFTGASPI_ALLREDUCE,
                          .send = send,
                          .receive = receive,
                          .number = number,
                          .combine = {.combine = types[type].combine[operation],
                                      .bytes = types[type].bytes,
                                      .commutes = 1,
                                      .check = (uint32_t)type << 8 | (uint32_t)operation}});
}

API(allreduce_user,
    (const gaspi_pointer_t send, const gaspi_pointer_t receive, const gaspi_number_t number,
     const gaspi_size_t element_size, gaspi_reduce_operation_t const operation,
     gaspi_reduce_state_t const state, const gaspi_group_t group, const gaspi_timeout_t timeout_ms))
{
    TRY_OPEN();
    TRY(check_buffers(send, receive, number));
    TRY_PLACES(operation);
    NEED(element_size != 0 && element_size <= weftgaspi.config.allreduce_buf_size / number,
         GASPI_ERR_INV_SIZE, "%u elements of %lu bytes, at most %lu bytes", number, element_size,
         weftgaspi.config.allreduce_buf_size);
    return collective(group, timeout_ms,
                      &(struct weftgaspi_collective){
                          .kind = WEFTGASPI_ALLREDUCE_USER,
                          .send = send,
                          .receive = receive,
                          .number = number,
                          .combine = {.combine = combine_user,
                                      .bytes = element_size,
                                      .commutes = 1,
                                      .in_calls = 1,
                                      .check = UINT32_MAX},
                          .user = {.operation = operation, .state = state, .timeout = timeout_ms}});
}
