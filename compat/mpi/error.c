/* compat/mpi/error.c - error classes, their texts, and handlers. */
#include "win.h"

#include <stdarg.h>
#include <stdio.h>

static const struct {
    int number;
    const char *text;
} classes[] = {
    {MPI_SUCCESS, "MPI_SUCCESS: no error"},
    {MPI_ERR_BUFFER, "MPI_ERR_BUFFER: bad buffer"},
    {MPI_ERR_COUNT, "MPI_ERR_COUNT: bad count"},
    {MPI_ERR_TYPE, "MPI_ERR_TYPE: bad datatype"},
    {MPI_ERR_TAG, "MPI_ERR_TAG: bad tag"},
    {MPI_ERR_COMM, "MPI_ERR_COMM: no communicator, or it was freed"},
    {MPI_ERR_RANK, "MPI_ERR_RANK: no such rank in the communicator"},
    {MPI_ERR_REQUEST, "MPI_ERR_REQUEST: no request, or it was freed"},
    {MPI_ERR_ROOT, "MPI_ERR_ROOT: bad root"},
    {MPI_ERR_GROUP, "MPI_ERR_GROUP: no group, or it was freed"},
    {MPI_ERR_OP, "MPI_ERR_OP: no operation, or not for this datatype"},
    {MPI_ERR_TOPOLOGY, "MPI_ERR_TOPOLOGY: the communicator has no such topology"},
    {MPI_ERR_DIMS, "MPI_ERR_DIMS: bad dimensions"},
    {MPI_ERR_ARG, "MPI_ERR_ARG: bad argument"},
    {MPI_ERR_UNKNOWN, "MPI_ERR_UNKNOWN: unknown error"},
    {MPI_ERR_TRUNCATE, "MPI_ERR_TRUNCATE: the message is longer than the receive"},
    {MPI_ERR_OTHER, "MPI_ERR_OTHER: another error"},
    {MPI_ERR_INTERN, "MPI_ERR_INTERN: internal error"},
    {MPI_ERR_PENDING, "MPI_ERR_PENDING: the request is not complete"},
    {MPI_ERR_IN_STATUS, "MPI_ERR_IN_STATUS: the error is in the status"},
    {MPI_ERR_ACCESS, "MPI_ERR_ACCESS: no permission"},
    {MPI_ERR_AMODE, "MPI_ERR_AMODE: bad mode"},
    {MPI_ERR_ASSERT, "MPI_ERR_ASSERT: bad assertion"},
    {MPI_ERR_BAD_FILE, "MPI_ERR_BAD_FILE: bad file name"},
    {MPI_ERR_BASE, "MPI_ERR_BASE: bad address"},
    {MPI_ERR_CONVERSION, "MPI_ERR_CONVERSION: a conversion failed"},
    {MPI_ERR_DISP, "MPI_ERR_DISP: bad displacement"},
    {MPI_ERR_DUP_DATAREP, "MPI_ERR_DUP_DATAREP: the representation exists"},
    {MPI_ERR_FILE_EXISTS, "MPI_ERR_FILE_EXISTS: the file exists"},
    {MPI_ERR_FILE_IN_USE, "MPI_ERR_FILE_IN_USE: the file is in use"},
    {MPI_ERR_FILE, "MPI_ERR_FILE: no file, or it was closed"},
    {MPI_ERR_IO, "MPI_ERR_IO: input or output failed"},
    {MPI_ERR_LOCKTYPE, "MPI_ERR_LOCKTYPE: no such kind of lock"},
    {MPI_ERR_NAME, "MPI_ERR_NAME: no such service"},
    {MPI_ERR_NOT_SAME, "MPI_ERR_NOT_SAME: arguments differ between processes"},
    {MPI_ERR_NO_SPACE, "MPI_ERR_NO_SPACE: no space is left"},
    {MPI_ERR_NO_SUCH_FILE, "MPI_ERR_NO_SUCH_FILE: no such file"},
    {MPI_ERR_PORT, "MPI_ERR_PORT: bad port name"},
    {MPI_ERR_QUOTA, "MPI_ERR_QUOTA: the quota is reached"},
    {MPI_ERR_READ_ONLY, "MPI_ERR_READ_ONLY: only for reading"},
    {MPI_ERR_RMA_ATTACH, "MPI_ERR_RMA_ATTACH: memory cannot be attached"},
    {MPI_ERR_RMA_CONFLICT, "MPI_ERR_RMA_CONFLICT: conflicting accesses to a window"},
    {MPI_ERR_RMA_RANGE, "MPI_ERR_RMA_RANGE: the memory is not in the window"},
    {MPI_ERR_RMA_SHARED, "MPI_ERR_RMA_SHARED: memory cannot be shared"},
    {MPI_ERR_RMA_SYNC, "MPI_ERR_RMA_SYNC: synchronisation at the wrong time"},
    {MPI_ERR_RMA_FLAVOR, "MPI_ERR_RMA_FLAVOR: the window was made in another way"},
    {MPI_ERR_SERVICE, "MPI_ERR_SERVICE: no such service"},
    {MPI_ERR_SIZE, "MPI_ERR_SIZE: bad size"},
    {MPI_ERR_SPAWN, "MPI_ERR_SPAWN: processes cannot be started"},
    {MPI_ERR_UNSUPPORTED_DATAREP, "MPI_ERR_UNSUPPORTED_DATAREP: no such representation"},
    {MPI_ERR_INFO_KEY, "MPI_ERR_INFO_KEY: the key is too long"},
    {MPI_ERR_INFO_NOKEY, "MPI_ERR_INFO_NOKEY: no such key"},
    {MPI_ERR_INFO_VALUE, "MPI_ERR_INFO_VALUE: the value is too long"},
    {MPI_ERR_INFO, "MPI_ERR_INFO: no info, or it was freed"},
    {MPI_ERR_KEYVAL, "MPI_ERR_KEYVAL: no keyval, or it was freed"},
    {MPI_ERR_NO_MEM, "MPI_ERR_NO_MEM: out of memory"},
    {MPI_ERR_UNSUPPORTED_OPERATION, "MPI_ERR_UNSUPPORTED_OPERATION: not supported"},
    {MPI_ERR_WIN, "MPI_ERR_WIN: no window, or it was freed"},
};

/* Classes and codes of the program, from MPI_ERR_LASTCODE + 1 on. */
static struct added {
    int error_class;
    char text[MPI_MAX_ERROR_STRING];
} * added;
int weftmpi_last_code = MPI_ERR_LASTCODE;

/* By weft's statuses; of the others MPI_ERR_OTHER, which is not 0. */
static const int class_of[WEFT_STATUS_COUNT] = {
    [WEFT_ERR_BOUNDS] = MPI_ERR_TRUNCATE,
    [WEFT_ERR_RANK] = MPI_ERR_RANK,
    [WEFT_ERR_TAG] = MPI_ERR_TAG,
    [WEFT_ERR_COMM] = MPI_ERR_COMM,
    [WEFT_ERR_MEMORY] = MPI_ERR_NO_MEM,
    [WEFT_ERR_ARGUMENT] = MPI_ERR_ARG,
    [WEFT_ERR_UNSUPPORTED] = MPI_ERR_UNSUPPORTED_OPERATION,
};

/* Ends the whole job, for an error that is fatal. */
static void die(const char *text, int error_class)
{
    if (weftmpi.job != NULL)
        weft_abort(weftmpi.job, text);
    weftmpi_exit(error_class);
}

struct weftmpi_errhandler *weftmpi_errhandler_of(struct weftmpi_object *object)
{
    LOCKED;
    return weftmpi_hold(object->errhandler);
}

/* Calls the handler of a communicator or window. */
static int raise_error(struct weftmpi_object *object, int error_class, const char *text)
{
    struct weftmpi_errhandler *handler = weftmpi_errhandler_of(object);

    if (handler == NULL || (handler->function == NULL && handler != &weftmpi_errhandlers[1])) {
        fprintf(stderr, "weft-mpi: [p%d] %s\n",
                weftmpi.job == NULL ? 0 : weft_numbers_of(weftmpi.job)->process, text);
        die(text, error_class);
    } else if (handler->function != NULL) {
        MPI_Comm handle = object->handle;
        int code = error_class;
        handler->function(&handle, &code);
    }
    weftmpi_leave(handler);
    return error_class;
}

int weftmpi_fail(void *on, const char *call, int error_class, const char *format, ...)
{
    char text[MPI_MAX_ERROR_STRING];
    va_list list;

    const int used = call == NULL ? 0 : snprintf(text, sizeof(text), "%s: ", call);
    va_start(list, format);
    weftmpi_lock(); /* a name may be among it */
    vsnprintf(text + used, sizeof(text) - (size_t)used, format, list);
    weftmpi_unlock();
    va_end(list);
    struct weftmpi_object *object = on; /* a datatype has no handler */
    if (object == NULL || object->errhandler == NULL)
        object = &weftmpi_comms[0].object;
    return raise_error(object, error_class, text);
}

int weftmpi_raise(void *on, const char *call, weft_status status)
{
    return weftmpi_fail(on, call, class_of[status] != 0 ? class_of[status] : MPI_ERR_OTHER, "%s",
                        *weft_error(weftmpi.job) != '\0' ? weft_error(weftmpi.job)
                                                         : weft_status_text(status));
}

int weftmpi_no_memory(void *on, const char *call)
{
    return weftmpi_fail(on, call, MPI_ERR_NO_MEM, "no memory");
}

int weftmpi_check_rank(void *on, const char *call, int rank, int size)
{
    return rank >= 0 && rank < size
               ? MPI_SUCCESS
               : weftmpi_fail(on, call, MPI_ERR_RANK, "rank %d of %d", rank, size);
}

int weftmpi_not_open(const char *call)
{
    fprintf(stderr, "weft-mpi: %s was called %s\n", call,
            weftmpi.ended ? "after MPI_Finalize" : "before MPI_Init");
    weftmpi_exit(MPI_ERR_OTHER);
}

/* ---- classes and codes of the program -------------------------------------------------------- */

/* What a code of the program stands for; NULL: it is none. Locked. */
static struct added *added_at(int code)
{
    return code > MPI_ERR_LASTCODE && code <= weftmpi_last_code
               ? &added[code - MPI_ERR_LASTCODE - 1]
               : NULL;
}

/* A code of that class, or a class of its own (0). */
static int add(const char *call, int error_class, int *code)
{
    TRY(weftmpi_is_open(call));
    TRY(weftmpi_place_in(call, code));
    LOCKED;
    const size_t count = (size_t)(weftmpi_last_code - MPI_ERR_LASTCODE);
    struct added *more = realloc(added, (count + 1) * sizeof(*added));
    TRY(weftmpi_memory_in(NULL, call, more));
    added = more;
    *code = ++weftmpi_last_code;
    more[count] = (struct added){.error_class = error_class != 0 ? error_class : *code};
    return MPI_SUCCESS;
}

CALL(Add_error_class, (int *error_class), add(__func__, 0, error_class))
API(Add_error_code, (int error_class, int *code))
{
    int known;

    TRY(PMPI_Error_class(error_class, &known));
    return known == error_class
               ? add(__func__, error_class, code)
               : weftmpi_fail(NULL, __func__, MPI_ERR_ARG, "%d is no class", error_class);
}

API(Add_error_string, (int code, const char *text))
{
    TRY(weftmpi_is_open(__func__));
    LOCKED;
    struct added *at = added_at(code);
    if (at == NULL)
        return weftmpi_fail(NULL, __func__, MPI_ERR_ARG, "%d is no code of the program", code);
    snprintf(at->text, sizeof(at->text), "%s", text);
    return MPI_SUCCESS;
}

API(Error_class, (int code, int *error_class))
{
    OUT(error_class);
    LOCKED;
    const struct added *at = added_at(code);
    if (code < 0 || (code > MPI_ERR_LASTCODE && at == NULL))
        return weftmpi_fail(NULL, __func__, MPI_ERR_ARG, "%d is no code", code);
    *error_class = at != NULL ? at->error_class : code;
    return MPI_SUCCESS;
}

API(Error_string, (int code, char *text, int *length))
{
    OUT(text);
    OUT(length);
    LOCKED;
    const struct added *at = added_at(code);
    const char *known = at != NULL ? at->text : NULL;
    for (size_t i = 0; i < sizeof(classes) / sizeof(*classes) && known == NULL; i++)
        if (classes[i].number == code)
            known = classes[i].text;
    if (known == NULL && (code < 0 || code > MPI_ERR_LASTCODE))
        return weftmpi_fail(NULL, __func__, MPI_ERR_ARG, "%d is no code", code);
    *length = known != NULL ? snprintf(text, MPI_MAX_ERROR_STRING, "%s", known)
                            : snprintf(text, MPI_MAX_ERROR_STRING, "error %d", code);
    return MPI_SUCCESS;
}

/* ---- handlers -------------------------------------------------------------------------------- */

struct weftmpi_errhandler weftmpi_errhandlers[] = {
    {.object = {.handle = MPI_ERRORS_ARE_FATAL, .references = 1}},
    {.object = {.handle = MPI_ERRORS_RETURN, .references = 1}},
    {.object = {.handle = MPI_ERRORS_ABORT, .references = 1}},
};

static int make(const char *call, enum weftmpi_kind kind, void (*function)(void),
                MPI_Errhandler *handle)
{
    if (function == NULL)
        return weftmpi_fail(NULL, call, MPI_ERR_ARG, "no function");
    struct weftmpi_errhandler *handler = weftmpi_make(WEFTMPI_ERRHANDLER, sizeof(*handler));
    if (handler != NULL) {
        handler->kind = kind;
        handler->function = (MPI_Comm_errhandler_function *)function;
    }
    return weftmpi_give(call, handler, handle);
}

static int set(const char *call, struct weftmpi_object *object, enum weftmpi_kind kind,
               MPI_Errhandler handle)
{
    OBJECT_ON(object, handler, errhandler, WEFTMPI_ERRHANDLER, call, handle);

    if (handler->function != NULL && handler->kind != kind)
        return weftmpi_fail(object, call, MPI_ERR_ARG, "a handler of other objects");
    LOCKED;
    weftmpi_hold(handler);
    weftmpi_leave(object->errhandler);
    object->errhandler = handler;
    return MPI_SUCCESS;
}

static int call_handler(const char *call, struct weftmpi_object *object, int code)
{
    char text[MPI_MAX_ERROR_STRING], line[MPI_MAX_ERROR_STRING + 64];
    int length;

    TRY(PMPI_Error_string(code, text, &length));
    snprintf(line, sizeof(line), "%s: %s", call, text);
    raise_error(object, code, line);
    return MPI_SUCCESS;
}

#define HANDLERS(name, KIND, IN, type)                                                             \
    CALL(name##_create_errhandler,                                                                 \
         (MPI_##name##_errhandler_function * function, MPI_Errhandler * handle),                   \
         make(__func__, KIND, (void (*)(void))function, handle))                                   \
    ON(name##_set_errhandler, IN, (type handle, MPI_Errhandler errhandler),                        \
       set(__func__, &of->object, KIND, errhandler))                                               \
    ASK(name##_get_errhandler, IN, type, MPI_Errhandler,                                           \
        weftmpi_errhandler_of(&of->object)->object.handle)                                         \
    ON(name##_call_errhandler, IN, (type handle, int code),                                        \
       call_handler(__func__, &of->object, code))
HANDLERS(Comm, WEFTMPI_COMM, COMM_IN, MPI_Comm)
HANDLERS(Win, WEFTMPI_WIN, WIN_IN, MPI_Win)

CALL(Errhandler_create, (MPI_Comm_errhandler_function * function, MPI_Errhandler *handle),
     PMPI_Comm_create_errhandler(function, handle))
CALL(Errhandler_set, (MPI_Comm comm, MPI_Errhandler handle), PMPI_Comm_set_errhandler(comm, handle))
CALL(Errhandler_get, (MPI_Comm comm, MPI_Errhandler *handle),
     PMPI_Comm_get_errhandler(comm, handle))

API(Errhandler_free, (MPI_Errhandler * handle))
{
    OBJECT_IN(handler, errhandler, WEFTMPI_ERRHANDLER, __func__, *handle);
    weftmpi_leave(handler);
    *handle = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}
