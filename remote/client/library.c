/*
 * remote/client/library.c - calls of CUDA's libraries: a stub's arguments become a record. What a
 * library made at a server has a number here, which the program takes for its handle. Any thread.
 */
#include "remote/client/inside.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { OBJECTS = 1 << 16, PACKED = WEFT_COPY_INSIDE };

/* A number is the place, and how often it was used: a stale one is recognised. */
struct object {
    uint64_t handle; /* the session's; 0: none */
    struct client_device *device;
    CUstream stream;
    uint32_t age;
    bool on_device; /* WEFT_ROW_MODE */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct object *objects; /* 0 is nobody's */
static uint32_t hint = 1;

/* Finds the object of a number; NULL: there is none. Lock held. */
static struct object *object_of(uint64_t number)
{
    struct object *object = objects != NULL ? &objects[number % OBJECTS] : NULL;

    return object != NULL && object->handle != 0 && (uint32_t)number / OBJECTS == object->age
               ? object
               : NULL;
}

/* Makes an object; returns its number, 0: there is no room. */
static uint64_t make_object(struct client_device *device, uint64_t handle)
{
    uint64_t number = 0;

    pthread_mutex_lock(&lock);
    if (objects == NULL)
        objects = calloc(OBJECTS, sizeof(*objects));
    for (uint32_t i = 0; i < OBJECTS && objects != NULL && number == 0; i++, hint++) {
        struct object *object = &objects[hint % OBJECTS];
        if (hint % OBJECTS == 0 || object->handle != 0)
            continue;
        *object = (struct object){.handle = handle, .device = device, .age = object->age};
        number = (uint64_t)object->age * OBJECTS + hint % OBJECTS;
    }
    pthread_mutex_unlock(&lock);
    return number;
}

static void drop_object(uint64_t number)
{
    pthread_mutex_lock(&lock);
    struct object *object = object_of(number);
    if (object != NULL)
        *object = (struct object){.age = (object->age + 1) % (INT32_MAX / OBJECTS)};
    pthread_mutex_unlock(&lock);
}

/* ---- a call ---------------------------------------------------------------------------------- */

struct call {
    enum weft_row row;
    struct object of; /* copy of the first object; without one: the call's device and stream */
    uint64_t first;   /* number of the first object */
    bool led, keeps, local; /* `of` is set; it is written back; nothing is sent */
    uint32_t type;          /* WEFT_ROW_TYPE */
    uint32_t bytes;         /* bytes of `packed` in use */
    uint32_t news, takes;
    bool waits;
    uint64_t inside; /* bit an argument: its bytes travel with the call, or the answer */
    _Alignas(8) unsigned char packed[PACKED];
};

static uint64_t word_of(const struct weft_row_argument *argument)
{
    uint64_t word = 0;

    memcpy(&word, argument->value, argument->size);
    return word;
}

/* Appends bytes to the call, and fills up to a multiple of `unit`. */
static CUresult put(struct call *call, const void *bytes, uint64_t count, uint32_t unit)
{
    const uint64_t room = (count + unit - 1) / unit * unit;

    if (count > PACKED || room > PACKED - call->bytes)
        return CUDA_ERROR_INVALID_VALUE;
    memset(call->packed + call->bytes, 0, room);
    memcpy(call->packed + call->bytes, bytes, count);
    call->bytes += (uint32_t)room;
    return CUDA_SUCCESS;
}

/* Takes an object: the first one says where the call is made, and in which stream. */
static CUresult lead(struct call *call, uint64_t number, uint64_t *word)
{
    CUresult result = CUDA_SUCCESS;

    *word = 0;
    pthread_mutex_lock(&lock);
    const struct object *object = object_of(number);
    if (object == NULL && (number != 0 || !call->led))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (object != NULL) {
        *word = object->handle;
        if (!call->led) {
            call->of = *object;
            call->first = number;
        }
    }
    call->led = true;
    pthread_mutex_unlock(&lock);
    return result;
}

/* Uses a stream, on the call's device, for this call. */
static CUresult use_stream(struct call *call, CUstream stream)
{
    struct client_route route = {call->of.device, false};
    const CUresult result = client_route_stream(&route, stream);

    call->of.stream = stream;
    return result == CUDA_SUCCESS && route.device != call->of.device ? CUDA_ERROR_INVALID_VALUE
                                                                     : result;
}

/* Keeps what a call has set for the later calls of its first object. */
static void keep(const struct call *call)
{
    pthread_mutex_lock(&lock);
    struct object *object = object_of(call->first);
    if (object != NULL)
        *object = call->of;
    pthread_mutex_unlock(&lock);
}

/* Whether memory is the host's. Managed memory is of both: where either may be meant the object
 * says which; but of a handle of cuBLAS, not to cuBLASLt. */
static bool is_of_host(const struct call *call, uint64_t address, uint64_t bytes, bool either)
{
    struct client_device *device;
    unsigned flags;

    return client_find(address, bytes, &device) == CLIENT_HOST ||
           (!(either && call->of.on_device &&
              call->row / WEFT_ROWS_EACH != WEFT_LIBRARY_cublasLt) &&
            client_managed_at(address, &flags));
}

/* Packs memory of the host, which travels with the call, or its answer. */
static CUresult pack_memory(struct call *call, const struct weft_row_argument *argument,
                            uint32_t index, uint64_t *word)
{
    const bool either = argument->kind >= WEFT_ROW_SCALAR, takes = weft_row_takes(argument->kind);

    if (*word == 0)
        return CUDA_SUCCESS;
    if (!is_of_host(call, *word, argument->bytes, either))
        return either ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    call->takes += takes ? (uint32_t)weft_row_room(argument->bytes) : 0;
    call->waits |= takes;
    if (argument->bytes == 0 || argument->bytes > WEFT_COPY_INSIDE || call->takes > WEFT_ROW_TAKES)
        return CUDA_ERROR_INVALID_VALUE;
    *word = WEFT_ROW_INSIDE;
    call->inside |= 1ull << index;
    return CUDA_SUCCESS;
}

/* Packs the word of an argument; a value that is host memory travels. */
static CUresult pack(struct call *call, const struct weft_row_argument *argument, uint32_t index)
{
    uint64_t word = word_of(argument);
    CUresult result = CUDA_SUCCESS;

    if (argument->kind == WEFT_ROW_NEW) {
        call->news++;
        call->waits = true;
        return word != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    }
    call->keeps |= argument->kind == WEFT_ROW_MODE || argument->kind == WEFT_ROW_SET_STREAM;
    call->local |= argument->kind == WEFT_ROW_SET_STREAM || argument->kind == WEFT_ROW_GET_STREAM;
    if (argument->kind == WEFT_ROW_STREAM || argument->kind == WEFT_ROW_SET_STREAM)
        return use_stream(call, (CUstream)word);
    if (argument->kind == WEFT_ROW_GET_STREAM && word == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (argument->kind == WEFT_ROW_GET_STREAM)
        *(CUstream *)word = call->of.stream;
    if (argument->kind == WEFT_ROW_TYPE)
        call->type = (uint32_t)word;
    if (argument->kind == WEFT_ROW_MODE)
        call->of.on_device = word != 0;
    if (argument->kind == WEFT_ROW_OBJECT || argument->kind == WEFT_ROW_DROP) {
        call->waits |= argument->kind == WEFT_ROW_DROP;
        result = lead(call, word, &word);
    }
    if (argument->kind >= WEFT_ROW_GIVE && argument->kind <= WEFT_ROW_UPDATE)
        result = pack_memory(call, argument, index, &word);
    return result == CUDA_SUCCESS ? put(call, &word, sizeof(word), sizeof(word)) : result;
}

/* Takes what an answer brings to where the program wants it. */
static CUresult unpack(const struct call *call, const struct weft_row_argument *arguments,
                       uint32_t count, const struct client_call *answer)
{
    const unsigned char *from = answer->extra;
    uint32_t news = 1;

    if (answer->count < 1 || (answer->words[0] == 0 && answer->count != 1 + call->news) ||
        (answer->got != call->takes && (answer->words[0] == 0 || answer->got != 0)))
        return CUDA_ERROR_UNKNOWN;
    const bool failed = answer->words[0] != 0;
    if (failed && answer->got == 0)
        return CUDA_SUCCESS;
    for (uint32_t i = 0; i < count; i++) {
        const struct weft_row_argument *argument = &arguments[i];
        void *to = (void *)(uintptr_t)word_of(argument);
        if (argument->kind == WEFT_ROW_NEW && !failed) {
            uint64_t number = make_object(call->of.device, answer->words[news++]);
            if (number == 0)
                return CUDA_ERROR_OUT_OF_MEMORY;
            number |= (uint64_t)call->type << 32;
            memcpy(to, &number, argument->bytes);
        } else if (argument->kind == WEFT_ROW_DROP && !failed) {
            drop_object(word_of(argument));
        } else if (weft_row_takes(argument->kind) && (call->inside >> i & 1) != 0) {
            if (weft_row_gives(argument->kind) || !failed)
                memcpy(to, from, argument->bytes);
            from += weft_row_room(argument->bytes);
        }
    }
    return CUDA_SUCCESS;
}

CUresult client_library(enum weft_row row, const struct weft_row_argument *arguments,
                        uint32_t count, int *status)
{
    struct call call;
    unsigned char taken[WEFT_ROW_TAKES];
    struct client_call answer = {.extra = taken, .room = sizeof(taken)};
    CUresult result = client_now() != NULL ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;

    memset(&call, 0, offsetof(struct call, packed));
    call.row = row;
    call.of.device = client_now();
    for (uint32_t i = 0; i < count && result == CUDA_SUCCESS; i++)
        result = pack(&call, &arguments[i], i);
    if (result == CUDA_SUCCESS && call.bytes % WEFT_RECORD_UNIT != 0)
        result = put(&call, &(const uint64_t){0}, sizeof(uint64_t), sizeof(uint64_t));
    for (uint32_t i = 0; i < count && result == CUDA_SUCCESS; i++)
        if (weft_row_gives(arguments[i].kind) && (call.inside >> i & 1) != 0)
            result = put(&call, *(const void *const *)arguments[i].value, arguments[i].bytes,
                         WEFT_RECORD_UNIT);
    *status = 0;
    if (result == CUDA_SUCCESS && call.keeps)
        keep(&call);
    if (result != CUDA_SUCCESS || call.local)
        return result;
    const uint64_t words[] = {(uint64_t)row, WORD(call.of.stream)};
    const bool waits = call.waits || client.links.config.remote_sync;
    result = client_work(call.of.device, WEFT_CALL_library, words, 2, call.packed, call.bytes,
                         waits ? &answer : NULL);
    if (!waits)
        return result;
    if (result == CUDA_SUCCESS)
        result = unpack(&call, arguments, count, &answer);
    if (result == CUDA_SUCCESS)
        *status = (int)answer.words[0];
    return result;
}
