/*
 * compat/mpi/request.c - requests: an operation under way, what is to be done when it completes,
 * and what then is told. Whoever waits for one drives what only moves when it is driven.
 */
#include "internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct weftmpi_request *orphans; /* freed by the program while they were active */
static struct weftmpi_request done_request = {.complete = true};

void weftmpi_request_open(struct weftmpi_request *request, enum weftmpi_way way, const char *call,
                          struct weftmpi_comm *comm)
{
    memset(request, 0, sizeof(*request));
    request->way = way;
    request->call = call;
    request->comm = comm;
    weftmpi_empty_status(&request->status);
}

void *weftmpi_request_memory(struct weftmpi_request *request, size_t bytes)
{
    void **list = realloc(request->memory, (request->memory_count + 1) * sizeof(*list));
    void *memory = malloc(bytes + 1);

    if (list != NULL)
        request->memory = list;
    if (list == NULL || memory == NULL) {
        free(memory);
        return NULL;
    }
    list[request->memory_count++] = memory;
    return memory;
}

bool weftmpi_request_unpack(struct weftmpi_request *request, void *packed, void *into,
                            struct weftmpi_type *type, size_t bytes)
{
    struct weftmpi_unpack *list =
        realloc(request->unpacks, (request->unpacks_count + 1) * sizeof(*list));

    if (list == NULL)
        return false;
    request->unpacks = list;
    list[request->unpacks_count++] = (struct weftmpi_unpack){packed, into, type, bytes, 0};
    weftmpi_hold(&type->references);
    return true;
}

/* It is over: what it held is given back. */
static void let_go(struct weftmpi_request *request)
{
    for (size_t i = 0; i < request->unpacks_count; i++)
        weftmpi_type_leave(request->unpacks[i].type);
    for (size_t i = 0; i < request->memory_count; i++)
        free(request->memory[i]);
    free(request->unpacks);
    free(request->memory);
    request->unpacks = NULL;
    request->memory = NULL;
    request->unpacks_count = request->memory_count = 0;
}

/* ---- completion -------------------------------------------------------------------------------
 */

static weft_status poll_message(weft_message_op *op, double seconds, weft_message *message,
                                bool *done)
{
    int is_done = 1;
    weft_status status = WEFT_OK;

    if (seconds == 0)
        status = weft_host_message_test(weftmpi.job, op, &is_done, message);
    else if (isinf(seconds))
        status = weft_host_message_wait(weftmpi.job, op, message);
    else if ((status = weft_host_message_wait_for(weftmpi.job, op, seconds, message)) ==
             WEFT_ERR_TIMEOUT) {
        is_done = 0; /* if the job has failed, the next look says so */
        status = WEFT_OK;
    }
    *done = is_done || (status != WEFT_OK && status != WEFT_ERR_BOUNDS);
    return status;
}

static bool is_zero(weft_message_op op)
{
    return op.index == 0 && op.generation == 0;
}

/* The receive of a request, or its send. */
static bool poll_point(struct weftmpi_request *request, double seconds)
{
    const bool receives = request->way == WEFTMPI_RECEIVE || request->way == WEFTMPI_SENDRECV;
    weft_message message = {0};
    bool done = true;
    weft_status status = WEFT_OK;

    if (!is_zero(request->op)) {
        status = poll_message(&request->op, seconds, &message, &done);
        if (!done)
            return false;
        if (receives && (status == WEFT_OK || status == WEFT_ERR_BOUNDS)) {
            weftmpi_set_status(&request->status, &message);
            if (request->unpacks_count != 0 && message.bytes < request->unpacks[0].bytes)
                request->unpacks[0].bytes = message.bytes;
        }
        request->error = weftmpi_failed(request->comm, request->call, status);
    }
    if (!is_zero(request->second)) {
        status = poll_message(&request->second, seconds, &message, &done);
        if (done && request->error == MPI_SUCCESS)
            request->error = weftmpi_failed(request->comm, request->call, status);
    }
    return done;
}

static bool poll_collective(struct weftmpi_request *request, double seconds)
{
    const weft_status status = weft_team_wait_for(&request->collective, seconds);

    if (status == WEFT_ERR_TIMEOUT && request->collective != NULL)
        return false;
    request->error = weftmpi_failed(request->comm, request->call, status);
    return true;
}

static void unpack(const struct weftmpi_unpack *what)
{
    void *packed = what->spread == 0 ? what->packed : malloc(what->bytes + 1);

    if (packed == NULL) /* elements with gaps: no memory, and nobody left to tell */
        weftmpi_exit(MPI_ERR_NO_MEM);
    if (what->spread != 0)
        weftmpi_pack(what->type, what->spread, (char *)what->packed - what->type->lower, packed);
    weftmpi_unpack(what->type, what->bytes, packed, what->into);
    if (what->spread != 0)
        free(packed);
}

/* Whether it is complete; waits so long at most for something that belongs to it. */
static bool poll(struct weftmpi_request *request, double seconds)
{
    bool done;

    if (request->complete)
        return true;
    if (request->way == WEFTMPI_COLLECTIVE)
        done = poll_collective(request, seconds);
    else if (request->way == WEFTMPI_AGREE)
        done = weftmpi_agree_poll(request, seconds, &request->error);
    else
        done = poll_point(request, seconds);
    if (!done)
        return false;
    for (size_t i = 0; i < request->unpacks_count; i++)
        unpack(&request->unpacks[i]);
    let_go(request);
    if (request->counted)
        __atomic_sub_fetch(&weftmpi.collectives, 1, __ATOMIC_RELAXED);
    request->counted = false;
    request->complete = true;
    return true;
}

bool weftmpi_drive(void)
{
    int left = 0;

    if (__atomic_load_n(&weftmpi.collectives, __ATOMIC_RELAXED) != 0)
        weft_team_drive(weftmpi.job, &left);
    if (__atomic_load_n(&weftmpi.agreements, __ATOMIC_RELAXED) != 0) {
        weftmpi_agree_drive();
        left++;
    }
    return left != 0;
}

void weftmpi_pause(void)
{
    nanosleep(&(struct timespec){0, 20000}, NULL);
}

/* Until it is complete. */
static void wait(struct weftmpi_request *request)
{
    const double alone = weftmpi.level == MPI_THREAD_MULTIPLE ? 10e-3 : INFINITY;

    while (!poll(request, 0) && !poll(request, weftmpi_drive() ? 50e-6 : alone))
        ;
}

weft_status weftmpi_team_wait(weft_team_op **op)
{
    weft_status status = WEFT_OK;

    while (*op != NULL) {
        const double alone = weftmpi.level == MPI_THREAD_MULTIPLE ? 10e-3 : INFINITY;
        status = weft_team_wait_for(op, weftmpi_drive() ? 50e-6 : alone);
        if (status != WEFT_OK && status != WEFT_ERR_TIMEOUT)
            break;
    }
    return status;
}

int weftmpi_request_wait(struct weftmpi_request *request, int error, MPI_Status *status)
{
    if (error != MPI_SUCCESS) {
        let_go(request);
        return error;
    }
    wait(request);
    if (status != MPI_STATUS_IGNORE) {
        const int before = status->MPI_ERROR;
        *status = request->status;
        status->MPI_ERROR = before;
    }
    return request->error;
}

/* ---- handles ----------------------------------------------------------------------------------
 */

int weftmpi_request_keep(const struct weftmpi_request *request, int error, MPI_Request *handle)
{
    struct weftmpi_request begun = *request;

    *handle = MPI_REQUEST_NULL;
    if (error != MPI_SUCCESS) {
        let_go(&begun);
        return error;
    }
    begun.active = !begun.persistent;
    if (!begun.persistent && begun.way <= WEFTMPI_SEND_BUFFERED && is_zero(begun.op)) {
        let_go(&begun);
        *handle = WEFTMPI_REQUEST_DONE;
        return MPI_SUCCESS;
    }
    struct weftmpi_request *kept = malloc(sizeof(*kept));
    const uint64_t number = kept == NULL ? 0 : weftmpi_handle_make(WEFTMPI_REQUEST, kept);
    if (number == 0) {
        free(kept);
        wait(&begun);
        return weftmpi_fail(begun.comm, begun.call, MPI_ERR_NO_MEM, "no memory for a request");
    }
    begun.counted = begun.way == WEFTMPI_COLLECTIVE;
    if (begun.counted)
        __atomic_add_fetch(&weftmpi.collectives, 1, __ATOMIC_RELAXED);
    begun.handle = *handle = (MPI_Request)(uintptr_t)number;
    *kept = begun;
    weftmpi_hold(&kept->comm->references);
    if (kept->type != NULL)
        weftmpi_hold(&kept->type->references);
    return MPI_SUCCESS;
}

static void destroy(struct weftmpi_request *request)
{
    let_go(request);
    if (request->type != NULL)
        weftmpi_type_leave(request->type);
    weftmpi_comm_leave(request->comm);
    free(request);
}

/* The request of a handle; NULL: MPI_REQUEST_NULL, or a persistent one that is not active. */
static int find(const char *call, MPI_Request handle, bool idle_too,
                struct weftmpi_request **request)
{
    *request = NULL;
    if (handle == MPI_REQUEST_NULL)
        return MPI_SUCCESS;
    if (handle == WEFTMPI_REQUEST_DONE) {
        weftmpi_empty_status(&done_request.status);
        *request = &done_request;
        return MPI_SUCCESS;
    }
    *request = weftmpi_handle_find(WEFTMPI_REQUEST, WEFTMPI_NUMBER(handle));
    if (*request == NULL)
        return weftmpi_fail(NULL, call, MPI_ERR_REQUEST, "no request, or it was freed");
    if (!(*request)->active && !idle_too)
        *request = NULL;
    return MPI_SUCCESS;
}

/* It is complete (or NULL): tells, and ends it. Returns its error. */
static int end(struct weftmpi_request *request, MPI_Request *handle, MPI_Status *status)
{
    MPI_Status empty;

    if (request == NULL)
        weftmpi_empty_status(&empty);
    if (status != MPI_STATUS_IGNORE) {
        const int before = status->MPI_ERROR;
        *status = request == NULL ? empty : request->status;
        status->MPI_ERROR = before;
    }
    if (request == NULL)
        return MPI_SUCCESS;
    const int error = request->error;
    if (request->persistent) {
        request->active = false;
        return error;
    }
    *handle = MPI_REQUEST_NULL;
    if (request != &done_request) {
        weftmpi_handle_drop(WEFTMPI_NUMBER(request->handle));
        destroy(request);
    }
    return error;
}

/* ---- one --------------------------------------------------------------------------------------
 */

API(Wait, (MPI_Request * handle, MPI_Status *status))
{
    struct weftmpi_request *request;

    TRY(weftmpi_is_open("MPI_Wait"));
    TRY(find("MPI_Wait", *handle, false, &request));
    if (request != NULL)
        wait(request);
    return end(request, handle, status);
}

API(Test, (MPI_Request * handle, int *flag, MPI_Status *status))
{
    struct weftmpi_request *request;

    TRY(weftmpi_is_open("MPI_Test"));
    TRY(find("MPI_Test", *handle, false, &request));
    weftmpi_drive();
    *flag = request == NULL || poll(request, 0);
    return *flag ? end(request, handle, status) : MPI_SUCCESS;
}

API(Request_get_status, (MPI_Request handle, int *flag, MPI_Status *status))
{
    struct weftmpi_request *request;

    TRY(weftmpi_is_open("MPI_Request_get_status"));
    TRY(find("MPI_Request_get_status", handle, false, &request));
    weftmpi_drive();
    *flag = request == NULL || poll(request, 0);
    if (*flag && status != MPI_STATUS_IGNORE) {
        if (request == NULL)
            weftmpi_empty_status(status);
        else
            *status = request->status;
    }
    return MPI_SUCCESS;
}

API(Request_free, (MPI_Request * handle))
{
    static const char call[] = "MPI_Request_free";
    struct weftmpi_request *request;

    TRY(weftmpi_is_open(call));
    TRY(find(call, *handle, true, &request));
    if (request == NULL)
        return weftmpi_fail(NULL, call, MPI_ERR_REQUEST, "MPI_REQUEST_NULL");
    *handle = MPI_REQUEST_NULL;
    if (request == &done_request)
        return MPI_SUCCESS;
    weftmpi_handle_drop(WEFTMPI_NUMBER(request->handle));
    if (!request->active || poll(request, 0)) {
        destroy(request);
        return MPI_SUCCESS;
    }
    weftmpi_lock();
    request->next = orphans;
    orphans = request;
    weftmpi_unlock();
    return MPI_SUCCESS;
}

void weftmpi_orphans_end(void)
{
    while (orphans != NULL) {
        struct weftmpi_request *request = orphans;
        orphans = request->next;
        if (request->way != WEFTMPI_RECEIVE) /* one that nobody sends to would never end */
            wait(request);
        destroy(request);
    }
}

API(Cancel, (MPI_Request * handle))
{
    struct weftmpi_request *request;
    int cancelled = 0;

    TRY(weftmpi_is_open("MPI_Cancel"));
    TRY(find("MPI_Cancel", *handle, false, &request));
    /* A send is not taken back: it completes. */
    if (request == NULL || request->complete || request->way != WEFTMPI_RECEIVE)
        return MPI_SUCCESS;
    const weft_status status = weft_host_message_cancel(weftmpi.job, &request->op, &cancelled);
    if (cancelled) {
        request->unpacks_count = request->unpacks_count == 0 ? 0 : 1;
        if (request->unpacks_count != 0)
            request->unpacks[0].bytes = 0;
        request->status.MPI_internal[2] = 1;
    }
    return weftmpi_failed(request->comm, "MPI_Cancel", status);
}

API(Test_cancelled, (const MPI_Status *status, int *flag))
{
    *flag = status->MPI_internal[2];
    return MPI_SUCCESS;
}

/* ---- several ----------------------------------------------------------------------------------
 */

/* Ends one of several; its error stands in its status. */
static int end_one(MPI_Request *handle, MPI_Status *status)
{
    struct weftmpi_request *request;
    int error = find("MPI_Waitall", *handle, false, &request);

    if (error == MPI_SUCCESS)
        error = end(request, handle, status);
    if (status != MPI_STATUS_IGNORE)
        status->MPI_ERROR = error;
    return error == MPI_SUCCESS ? MPI_SUCCESS : MPI_ERR_IN_STATUS;
}

API(Waitall, (int count, MPI_Request handles[], MPI_Status statuses[]))
{
    int error = MPI_SUCCESS;

    TRY(weftmpi_is_open("MPI_Waitall"));
    for (int i = 0; i < count; i++) {
        struct weftmpi_request *request;
        TRY(find("MPI_Waitall", handles[i], false, &request));
        if (request != NULL)
            wait(request);
        if (end_one(&handles[i], statuses == MPI_STATUSES_IGNORE ? NULL : &statuses[i]) !=
            MPI_SUCCESS)
            error = MPI_ERR_IN_STATUS;
    }
    return error;
}

API(Testall, (int count, MPI_Request handles[], int *flag, MPI_Status statuses[]))
{
    int error = MPI_SUCCESS;

    TRY(weftmpi_is_open("MPI_Testall"));
    weftmpi_drive();
    *flag = 1;
    for (int i = 0; i < count && *flag; i++) {
        struct weftmpi_request *request;
        TRY(find("MPI_Testall", handles[i], false, &request));
        *flag = request == NULL || poll(request, 0);
    }
    for (int i = 0; i < count && *flag; i++)
        if (end_one(&handles[i], statuses == MPI_STATUSES_IGNORE ? NULL : &statuses[i]) !=
            MPI_SUCCESS)
            error = MPI_ERR_IN_STATUS;
    return error;
}

/*
 * Looks at all that are active. *done: how many are complete, whose places are in indices (at most
 * `most`); MPI_UNDEFINED: none is active.
 */
static int look(const char *call, int count, MPI_Request handles[], int most, int *done,
                int indices[])
{
    int active = 0;

    TRY(weftmpi_is_open(call));
    weftmpi_drive();
    *done = 0;
    for (int i = 0; i < count && *done < most; i++) {
        struct weftmpi_request *request;
        TRY(find(call, handles[i], false, &request));
        active += request != NULL;
        if (request != NULL && poll(request, 0))
            indices[(*done)++] = i;
    }
    if (active == 0)
        *done = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

/* The same; waits for one. While it waits it looks often, and sleeps in the first one's wait. */
static int look_until(const char *call, int count, MPI_Request handles[], int most, int *done,
                      int indices[])
{
    for (int round = 0;; round++) {
        struct weftmpi_request *request = NULL;
        TRY(look(call, count, handles, most, done, indices));
        if (*done != 0)
            return MPI_SUCCESS;
        for (int i = 0; i < count && request == NULL; i++)
            TRY(find(call, handles[i], false, &request));
        if (round > 100 && request != NULL)
            poll(request, round > 1000 ? 200e-6 : 20e-6);
    }
}

API(Waitany, (int count, MPI_Request handles[], int *index, MPI_Status *status))
{
    int done, one = MPI_UNDEFINED;

    TRY(look_until("MPI_Waitany", count, handles, 1, &done, &one));
    *index = done == MPI_UNDEFINED ? MPI_UNDEFINED : one;
    if (done == MPI_UNDEFINED)
        return end(NULL, NULL, status);
    struct weftmpi_request *request;
    TRY(find("MPI_Waitany", handles[one], false, &request));
    return end(request, &handles[one], status);
}

API(Testany, (int count, MPI_Request handles[], int *index, int *flag, MPI_Status *status))
{
    int done, one = MPI_UNDEFINED;

    TRY(look("MPI_Testany", count, handles, 1, &done, &one));
    *flag = done != 0;
    *index = done == 1 ? one : MPI_UNDEFINED;
    if (done == 0)
        return MPI_SUCCESS;
    struct weftmpi_request *request = NULL;
    if (done == 1)
        TRY(find("MPI_Testany", handles[one], false, &request));
    return end(request, done == 1 ? &handles[one] : NULL, status);
}

static int end_some(MPI_Request handles[], int done, const int indices[], MPI_Status statuses[])
{
    int error = MPI_SUCCESS;

    for (int i = 0; i < done; i++)
        if (end_one(&handles[indices[i]], statuses == MPI_STATUSES_IGNORE ? NULL : &statuses[i]) !=
            MPI_SUCCESS)
            error = MPI_ERR_IN_STATUS;
    return error;
}

API(Waitsome, (int count, MPI_Request handles[], int *done, int indices[], MPI_Status statuses[]))
{
    TRY(look_until("MPI_Waitsome", count, handles, count, done, indices));
    return end_some(handles, *done, indices, statuses);
}

API(Testsome, (int count, MPI_Request handles[], int *done, int indices[], MPI_Status statuses[]))
{
    TRY(look("MPI_Testsome", count, handles, count, done, indices));
    return end_some(handles, *done, indices, statuses);
}

/* ---- persistent -------------------------------------------------------------------------------
 */

API(Start, (MPI_Request * handle))
{
    struct weftmpi_request *request;

    TRY(weftmpi_is_open("MPI_Start"));
    TRY(find("MPI_Start", *handle, true, &request));
    if (request == NULL || !request->persistent || request->active)
        return weftmpi_fail(request == NULL || request == &done_request ? NULL : request->comm,
                            "MPI_Start", MPI_ERR_REQUEST, "%s",
                            request != NULL && request->active ? "the request is active"
                                                               : "no persistent request");
    request->complete = false;
    request->error = MPI_SUCCESS;
    weftmpi_empty_status(&request->status);
    TRY(weftmpi_point_begin(request));
    request->active = true;
    return MPI_SUCCESS;
}

API(Startall, (int count, MPI_Request handles[]))
{
    for (int i = 0; i < count; i++)
        TRY(PMPI_Start(&handles[i]));
    return MPI_SUCCESS;
}
