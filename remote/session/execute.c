/*
 * remote/session/execute.c - turns a record into a call of the driver, or of the session's own, as
 * calls.def describes it. Session's thread only.
 */
#include "base/say.h"
#include "remote/session/inside.h"

#include <string.h>

/* ---- handles --------------------------------------------------------------------------------- */

/* Finds a stream of the device, or a default one. */
static int find_stream(const struct weft_session *session, int device, uint64_t handle,
                       CUstream *stream)
{
    *stream = NULL;
    if (weft_is_default(handle))
        return CUDA_SUCCESS;
    const struct weft_place *place = weft_handles_find(&session->handles, WEFT_STREAM, handle);
    if (place == NULL || place->device != device)
        return CUDA_ERROR_INVALID_HANDLE;
    *stream = place->object;
    return CUDA_SUCCESS;
}

/* Finds a handle of the device; -1: of any. A function that is not there is wrong: none goes. */
static int find_place(const struct weft_session *session, enum weft_argument kind, int device,
                      uint64_t handle, struct weft_place **place)
{
    *place = weft_handles_find(&session->handles, kind, handle);
    if (*place != NULL && (device < 0 || (*place)->device == device))
        return CUDA_SUCCESS;
    return kind == WEFT_FUNCTION ? SESSION_WRONG : CUDA_ERROR_INVALID_HANDLE;
}

/* ---- functions of the driver ---------------------------------------------------------------- */

#define PASS_IN(name)          , call->name
#define PASS_OUT(name)         , &call->name
#define PASS_STREAM(name)      , call->name
#define PASS_EVENT(name)       , call->name->object
#define PASS_GIVE(name)        , &call->name
#define PASS_TAKE(name)        , &call->name
#define PASS_FUNCTION(name)    , ((const struct session_kernel *)call->name->object)->function
#define PASS(kind, type, name) PASS_##kind(name)

#define WEFT_CALL(name, class, ...)                                                                \
    SESSION_DO(name)                                                                               \
    {                                                                                              \
        return (int)session->table->name(WEFT_LIST(WEFT_EACH(PASS, __VA_ARGS__)));                 \
    }
#define WEFT_CALL_BY_HAND(name, ...)
#include "remote/wire/calls.def"

/* ---- from words to arguments, and back ------------------------------------------------------ */

#define TAKE_IN(name) call.name = (__typeof__(call.name))*word++;
#define TAKE_OUT(name)
#define TAKE_TAKE(name)
#define TAKE_GIVE(name)                                                                            \
    memcpy(&call.name, given, sizeof(call.name));                                                  \
    given += sizeof(call.name);
#define TAKE_STREAM(name)   TAKE_HANDLE(name, find_stream, record->device)
#define TAKE_EVENT(name)    TAKE_HANDLE(name, find_place, WEFT_EVENT, -1)
#define TAKE_FUNCTION(name) TAKE_HANDLE(name, find_place, WEFT_FUNCTION, record->device)
#define TAKE_LIBRARY(name)  TAKE_HANDLE(name, find_place, WEFT_LIBRARY, -1)
#define TAKE_ARRAY(name)    TAKE_HANDLE(name, find_place, WEFT_ARRAY, record->device)
#define TAKE_HANDLE(name, find, ...)                                                               \
    if (result == CUDA_SUCCESS)                                                                    \
        result = find(session, __VA_ARGS__, *word++, &call.name);
#define TAKE(kind, type, name) TAKE_##kind(name)

#define GIVE(kind, type, name)                                                                     \
    if (WEFT_##kind == WEFT_OUT) {                                                                 \
        memcpy(&answer[outs++], &call.name, sizeof(type));                                         \
    } else if (WEFT_##kind == WEFT_TAKE) {                                                         \
        taken = &call.name;                                                                        \
        bytes = sizeof(type);                                                                      \
    }

#define WEFT_CALL(name, class, ...)                                                                \
    static int take_##name(struct weft_session *session, struct weft_record *record,               \
                           const uint64_t *word)                                                   \
    {                                                                                              \
        struct session_call_##name call = {};                                                      \
        uint64_t answer[WEFT_WORDS_MOST] = {0};                                                    \
        const unsigned char *given = weft_record_extra(record);                                    \
        const void *taken = NULL;                                                                  \
        uint32_t outs = 0, bytes = 0;                                                              \
        int result = CUDA_SUCCESS;                                                                 \
        (void)word, (void)given;                                                                   \
        WEFT_EACH(TAKE, __VA_ARGS__)                                                               \
        if (result != CUDA_SUCCESS)                                                                \
            return WEFT_CLASS_##class == WEFT_CLASS_GATE ? SESSION_WRONG : result;                 \
        result = session_do_##name(session, record, &call);                                        \
        WEFT_EACH(GIVE, __VA_ARGS__)                                                               \
        return result == CUDA_SUCCESS && outs + bytes != 0                                         \
                   ? session_reply(session, record, answer, outs, taken, bytes)                    \
                   : result;                                                                       \
    }
#define WEFT_CALL_BY_HAND WEFT_CALL
#include "remote/wire/calls.def"

/* ---- all ------------------------------------------------------------------------------------- */

static const struct {
    int (*take)(struct weft_session *session, struct weft_record *record, const uint64_t *word);
    uint32_t words, given; /* words of the request; bytes of structs behind them */
    enum weft_class class;
    uint8_t arguments[WEFT_WORDS_MOST + 1];
} calls[WEFT_CALLS] = {
#define KIND(kind, type, name) WEFT_##kind,
#define WEFT_CALL(name, class, ...)                                                                \
    [WEFT_CALL_##name] = {take_##name,                                                             \
                          WEFT_WORDS(__VA_ARGS__),                                                 \
                          WEFT_GIVES(__VA_ARGS__),                                                 \
                          WEFT_CLASS_##class,                                                      \
                          {WEFT_EACH(KIND, __VA_ARGS__) WEFT_HANDLE_NONE}},
#define WEFT_CALL_BY_HAND WEFT_CALL
#include "remote/wire/calls.def"
};

const uint8_t *session_arguments(uint32_t call, enum weft_class *class)
{
    *class = calls[call].class;
    return calls[call].arguments;
}

bool session_is_formed(const struct weft_session *session, const struct weft_record *record)
{
    return record->call < WEFT_CALLS && record->device < session->count &&
           record->words == calls[record->call].words && calls[record->call].take != NULL &&
           (record->extra == calls[record->call].given ||
            (calls[record->call].given == 0 && (calls[record->call].class == WEFT_CLASS_DATA ||
                                                calls[record->call].class == WEFT_CLASS_LIBRARY)));
}

int session_execute(struct weft_session *session, struct weft_record *record)
{
    uint64_t words[WEFT_WORDS_MOST];
    CUresult result = CUDA_SUCCESS;

    if (record->call == WEFT_CALL_context_synchronize &&
        session->device[record->device].context == NULL)
        return CUDA_SUCCESS; /* it was given nothing */
    memcpy(words, weft_record_words(record), record->words * sizeof(words[0]));
    if (calls[record->call].class != WEFT_CLASS_BEFORE)
        result = session_use(session, record->device);
    return result == CUDA_SUCCESS ? calls[record->call].take(session, record, words) : (int)result;
}
