/*
 * remote/session/library.c - CUDA's libraries: turns a record into a call of the vendor's function,
 * as its row says. A library is loaded at its first call. It may wait for the GPU here: what the
 * GPU does never waits for the session. Session's thread only.
 */
#include "remote/rows/vendor.h"

#include "base/say.h"
#include "remote/rows/row.h"
#include "remote/session/inside.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* What a library made. */
struct session_object {
    const char *type;
    uint64_t value;  /* a pointer or a number */
    CUstream stream; /* the stream that the library was last given for it */
    int late;        /* status of a call that nobody waited for; comes with the next one */
};

struct row_call {
    struct weft_session *session;
    const struct weft_record *record;
    enum weft_library library;
    CUstream stream; /* of the call */
    void *function;
    const unsigned char *words, *bytes, *end; /* what is left of the record */
    int result;                               /* not CUDA_SUCCESS: the function is not called */
    bool wrong;  /* an argument makes no sense to the library: the function is not called */
    bool called; /* the function was called */
    int status;  /* the function's own */
    struct session_object *first;
    struct weft_place *dropped;
    uint64_t made[WEFT_WORDS_MOST - 1]; /* by NEW: the object made, then its handle */
    const char *types[WEFT_WORDS_MOST - 1];
    uint32_t news, taken;
    unsigned char *takes; /* room for WEFT_ROW_TAKES bytes */
};

#define LIBRARY(name, shared, type, function, ...)                                                 \
    static int set_stream_##name(void *setter, uint64_t handle, CUstream stream)                   \
    {                                                                                              \
        return (int)((__typeof__(&function))setter)((type)(uintptr_t)handle, stream);              \
    }
#include "remote/rows/all.def"

static const struct library {
    const char *file;
    int missing, invalid;        /* statuses: no such library; a wrong argument */
    const char *handle, *setter; /* type of its handle; function that gives that a stream */
    int (*set)(void *setter, uint64_t handle, CUstream stream);
} libraries[WEFT_LIBRARIES] = {
#define LIBRARY(name, shared, type, function, missing_status, invalid_status, ...)                 \
    [WEFT_LIBRARY_##name] = {.file = shared,                                                       \
                             .missing = missing_status,                                            \
                             .invalid = invalid_status,                                            \
                             .handle = #type " *",                                                 \
                             .setter = #function,                                                  \
                             .set = set_stream_##name},
#include "remote/rows/all.def"
};

static void *find_function(enum weft_library library, const char *name)
{
    static void *loaded[WEFT_LIBRARIES];
    static bool tried[WEFT_LIBRARIES];

    if (!tried[library]) {
        tried[library] = true;
        loaded[library] = dlopen(libraries[library].file, RTLD_NOW | RTLD_LOCAL);
        if (loaded[library] == NULL)
            weft_say(WEFT_SAY_ERROR, "a program wants %s: %s", libraries[library].file, dlerror());
    }
    return loaded[library] != NULL ? dlsym(loaded[library], name) : NULL;
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* Whether what was made is of a type. Of NEW a type has a star behind it. A descriptor that is
 * const is named so. The vendor says that a handle of cuBLAS may be used as one of cuBLASLt. */
static bool is_type(const char *made, const char *type)
{
    static const char constant[] = "cusparseConst";
    const size_t skip = sizeof(constant) - 1, length = strlen(type);
    const bool whole = strncmp(type, constant, skip) == 0 && strncmp(made, constant, skip) != 0;

    if (whole) /* any descriptor may be used as a const one */
        return strncmp(made, "cusparse", 8) == 0 && is_type(made + 8, type + skip);
    if (strcmp(type, "cublasLtHandle_t") == 0 && strcmp(made, "cublasHandle_t *") == 0)
        return true;
    return strncmp(made, type, length) == 0 && made[length] == ' ';
}

/* Returns the value of an object of that type; 0: none, which may be wrong. */
static uint64_t row_object(struct row_call *call, uint64_t handle, const char *type, bool drops)
{
    struct weft_place *place = weft_handles_find(&call->session->handles, WEFT_OBJECT, handle);
    struct session_object *object = place != NULL ? place->object : NULL;

    if (object == NULL || !is_type(object->type, type)) {
        call->wrong |= handle != 0 || call->first == NULL; /* the first has to be there */
        return 0;
    }
    if (call->first == NULL)
        call->first = object;
    if (drops)
        call->dropped = place;
    return object->value;
}

/* Sets the parameter's value from its word; of memory, to the word itself. */
static void row_value(struct row_call *call, enum weft_row_kind kind, const char *type, void *value,
                      size_t size)
{
    uint64_t word = 0;

    if (kind == WEFT_ROW_NEW) {
        call->types[call->news] = type;
        word = (uint64_t)(uintptr_t)&call->made[call->news++];
    } else if (kind == WEFT_ROW_STREAM) {
        word = (uint64_t)(uintptr_t)call->stream;
    } else if (kind == WEFT_ROW_SET_STREAM || kind == WEFT_ROW_GET_STREAM) {
        call->result = SESSION_WRONG; /* no program sends them */
    } else {
        memcpy(&word, call->words, sizeof(word)); /* as many as the row has were there */
        call->words += sizeof(word);
    }
    if (kind == WEFT_ROW_DEVICE) /* no host address reaches a library */
        call->wrong |= word != 0 && session_device_of(call->session, word, 1) < 0;
    if (kind == WEFT_ROW_OBJECT || kind == WEFT_ROW_DROP)
        word = row_object(call, word, type, kind == WEFT_ROW_DROP);
    memcpy(value, &word, size);
}

/* Returns where so many bytes are: on the device, in the record, or in the answer. */
static void *row_memory(struct row_call *call, enum weft_row_kind kind, const void *value,
                        uint64_t bytes)
{
    const uint64_t word = (uint64_t)(uintptr_t)value, room = weft_row_room(bytes);
    const bool gives = weft_row_gives(kind), takes = weft_row_takes(kind);
    const unsigned char *given = call->bytes;
    unsigned char *taken = call->takes + call->taken;

    if (kind == WEFT_ROW_NEW || word != WEFT_ROW_INSIDE) {
        call->wrong |=
            kind != WEFT_ROW_NEW && word != 0 &&
            (kind < WEFT_ROW_SCALAR || session_device_of(call->session, word, bytes) < 0);
        return (void *)(uintptr_t)word;
    }
    if (bytes == 0 || bytes > WEFT_COPY_INSIDE || (gives && room > (uint64_t)(call->end - given)) ||
        (takes && (call->record->lane == 0 || room > WEFT_ROW_TAKES - call->taken))) {
        call->result = SESSION_WRONG;
        return NULL;
    }
    call->bytes += gives ? room : 0;
    call->taken += takes ? (uint32_t)room : 0;
    if (!takes)
        return (void *)(uintptr_t)given;
    memset(taken, 0, room);
    return gives ? memcpy(taken, given, bytes) : taken;
}

/* Puts handles in the place of what was made. */
static void row_made(struct row_call *call)
{
    for (uint32_t i = 0; i < call->news && call->result == CUDA_SUCCESS; i++) {
        struct session_object *object = calloc(1, sizeof(*object));
        CUresult result = object != NULL ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
        if (object != NULL)
            *object = (struct session_object){.type = call->types[i], .value = call->made[i]};
        call->made[i] =
            session_name(call->session, WEFT_OBJECT, call->record->device, object, 0, &result);
        call->result = (int)result;
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Sets a handle's stream to that of its call, whatever other calls were held meanwhile. */
static int use_stream(struct row_call *call)
{
    struct session_object *object = call->first;
    const struct library *library = &libraries[call->library];

    if (object == NULL || object->stream == call->stream ||
        strcmp(object->type, library->handle) != 0)
        return 0;
    void *setter = find_function(call->library, library->setter);
    const int status =
        setter != NULL ? library->set(setter, object->value, call->stream) : library->missing;
    if (status == 0)
        object->stream = call->stream;
    return status;
}

/* Whether the function is to be called: its arguments are what the record has, and make sense. */
static bool row_begin(struct row_call *call)
{
    if (call->result == CUDA_SUCCESS && call->bytes != call->end)
        call->result = SESSION_WRONG;
    if (call->result != CUDA_SUCCESS)
        return false;
    call->status = call->function == NULL ? libraries[call->library].missing
                   : call->wrong          ? libraries[call->library].invalid
                                          : use_stream(call);
    call->called = call->status == 0;
    return call->called;
}

#define VALUE(kind, type, name, ...)                                                               \
    type name;                                                                                     \
    row_value(call, WEFT_ROW_##kind, #type, &name, sizeof(name));
#define MEMORY(kind, type, name, ...)                                                              \
    __VA_OPT__(name = row_memory(call, WEFT_ROW_##kind, name, __VA_ARGS__);)
#define PASS(kind, type, name, ...) , name
#define ROW(...)                    ROW_(__VA_ARGS__)
#define ROW_(function_name, ...)                                                                   \
    static void serve_##function_name(struct row_call *call)                                       \
    {                                                                                              \
        WEFT_EACH(VALUE, __VA_ARGS__)                                                              \
        WEFT_EACH(MEMORY, __VA_ARGS__)                                                             \
        if (row_begin(call))                                                                       \
            call->status = (int)((__typeof__(&function_name))call->function)(                      \
                WEFT_LIST(WEFT_EACH(PASS, __VA_ARGS__)));                                          \
    }
#include "remote/rows/all.def"

/* ---- all ------------------------------------------------------------------------------------- */

static const struct row {
    const char *name;
    void (*serve)(struct row_call *call); /* NULL: no row, or its header was not there */
    uint32_t words;
} rows[WEFT_ROWS] = {
#define WORDS(kind, type, name, ...)                                                               \
    +(WEFT_ROW_##kind != WEFT_ROW_NEW &&                                                           \
      (WEFT_ROW_##kind < WEFT_ROW_STREAM || WEFT_ROW_##kind > WEFT_ROW_GET_STREAM))
#define ROW(...) ROW_(__VA_ARGS__)
#define ROW_(function_name, ...)                                                                   \
    [WEFT_ROW_##                                                                                   \
        function_name] = {#function_name, serve_##function_name, 0 WEFT_EACH(WORDS, __VA_ARGS__)},
#include "remote/rows/all.def"
};

static int late_status(const struct row_call *call)
{
    struct session_object *object = call->first;
    int status = call->status;

    if (object == NULL || call->dropped != NULL || call->news != 0)
        return status;
    if (call->record->lane == 0 && object->late == 0) {
        object->late = status;
    } else if (status == 0) {
        status = object->late;
        object->late = 0;
    }
    return status;
}

SESSION_DO(library)
{
    const unsigned char *extra = weft_record_extra(record);
    const struct row *row = call->function < WEFT_ROWS ? &rows[call->function] : NULL;
    const uint32_t words = row != NULL ? (row->words + 1) / 2 * 2 * 8 : 0;

    if (row == NULL || record->extra < words)
        return SESSION_WRONG;
    if (row->serve == NULL)
        return CUDA_ERROR_NOT_SUPPORTED;
    _Alignas(16) unsigned char takes[WEFT_ROW_TAKES];
    struct row_call c = {.session = session,
                         .library = (enum weft_library)(call->function / WEFT_ROWS_EACH),
                         .takes = takes,
                         .record = record,
                         .stream = call->stream,
                         .words = extra,
                         .bytes = extra + words,
                         .end = extra + record->extra};
    c.function = find_function(c.library, row->name);
    row->serve(&c);
    if (c.result == CUDA_SUCCESS && c.status == 0)
        row_made(&c);
    if (c.result != CUDA_SUCCESS)
        return c.result;
    const uint64_t status = (uint64_t)(uint32_t)late_status(&c);
    if (c.dropped != NULL && c.status == 0)
        session_drop(session, c.dropped);
    if (record->lane == 0)
        return CUDA_SUCCESS;
    uint64_t answer[1 + sizeof(c.made) / sizeof(c.made[0])] = {status};
    memcpy(answer + 1, c.made, sizeof(c.made));
    return session_reply(session, record, answer, 1 + (status == 0 ? c.news : 0), c.takes,
                         c.called ? c.taken : 0);
}
