/*
 * remote/session/execute.c - from a record to a call of the driver: the calls that calls.def
 * describes whole, and the way to the others.
 */
#include "base/say.h"
#include "remote/session/inside.h"

#include <string.h>

/* ---- handles --------------------------------------------------------------------------------- */

bool session_stream(const struct weft_session *session, int device, uint64_t handle,
                    CUstream *stream)
{
    *stream = NULL;
    if (weft_is_default(handle))
        return true;
    const struct weft_place *place = weft_handles_find(&session->handles, WEFT_STREAM, handle);
    if (place == NULL || place->device != device)
        return false;
    *stream = place->object;
    return true;
}

static bool event_of(const struct weft_session *session, uint64_t handle, CUevent *event)
{
    const struct weft_place *place = weft_handles_find(&session->handles, WEFT_EVENT, handle);

    if (place != NULL)
        *event = place->object;
    return place != NULL;
}

static bool function_of(struct weft_session *session, int device, uint64_t handle,
                        CUfunction *function)
{
    const struct weft_place *place = weft_handles_find(&session->handles, WEFT_FUNCTION, handle);

    if (place == NULL)
        return false;
    struct session_kernel *kernel = place->object;
    CUfunction *there = &kernel->functions[device];
    if (*there == NULL && session->table->kernel_function(there, kernel->kernel) != CUDA_SUCCESS)
        return false;
    *function = *there;
    return true;
}

static CUresult add_stream(struct weft_session *session, int device, CUstream stream,
                           uint64_t *handle)
{
    *handle = weft_handles_add(&session->handles, WEFT_STREAM, device, stream);
    if (*handle == 0)
        session->table->stream_destroy(stream);
    return *handle != 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

/* ---- calls of calls.def, whole ----------------------------------------------------------------
 */

/* A variable for each parameter, from the next word. */
#define TAKE_IN(type, name)  const type name = (type)*word++;
#define TAKE_OUT(type, name) type name = (type)0;
#define TAKE_STREAM(type, name)                                                                    \
    type name;                                                                                     \
    good = session_stream(session, record->device, *word++, &name) && good;
#define TAKE_EVENT(type, name)                                                                     \
    type name = NULL;                                                                              \
    good = event_of(session, *word++, &name) && good;
#define TAKE_FUNCTION(type, name)                                                                  \
    type name = NULL;                                                                              \
    good = function_of(session, record->device, *word++, &name) && good;
#define TAKE_NEW(type, name)   TAKE_OUT(type, name)
#define TAKE(kind, type, name) TAKE_##kind(type, name)

/* It as an argument. */
#define PASS_IN(name)          , name
#define PASS_OUT(name)         , &name
#define PASS_STREAM(name)      , name
#define PASS_EVENT(name)       , name
#define PASS_FUNCTION(name)    , name
#define PASS_NEW(name)         , &name
#define PASS(kind, type, name) PASS_##kind(name)

/* It in the answer. */
#define GIVE_IN(name)
#define GIVE_OUT(name) answer[given++] = (uint64_t)name;
#define GIVE_STREAM(name)
#define GIVE_EVENT(name)
#define GIVE_FUNCTION(name)
#define GIVE_NEW(name)                                                                             \
    if (result == CUDA_SUCCESS)                                                                    \
        result = add_stream(session, record->device, name, &answer[given++]);
#define GIVE(kind, type, name) GIVE_##kind(name)

enum { POST, CALL, QUERY, CHANGE };

#define WEFT_CALL(name, class, ...)                                                                \
    enum { name##_words = WEFT_WORDS(__VA_ARGS__) };                                               \
    static int take_##name(struct weft_session *session, const struct weft_record *record,         \
                           const uint64_t *word)                                                   \
    {                                                                                              \
        uint64_t answer[WEFT_ANSWER_WORDS];                                                        \
        uint32_t given = 0;                                                                        \
        bool good = true;                                                                          \
        (void)answer, (void)given, (void)word;                                                     \
        WEFT_EACH(TAKE, __VA_ARGS__)                                                               \
        CUresult result = good ? session->table->name(WEFT_LIST(WEFT_EACH(PASS, __VA_ARGS__)))     \
                               : CUDA_ERROR_INVALID_HANDLE;                                        \
        WEFT_EACH(GIVE, __VA_ARGS__)                                                               \
        if ((class) == POST)                                                                       \
            return result;                                                                         \
        return session_reply(session, record, result, answer, given, NULL, 0);                     \
    }
#define WEFT_CALL_BY_HAND(name, words, extra)
#include "remote/wire/calls.def"

/* ---- all ------------------------------------------------------------------------------------- */

static const struct {
    int (*whole)(struct weft_session *session, const struct weft_record *record,
                 const uint64_t *word);
    int (*by_hand)(struct weft_session *session, struct weft_record *record, const uint64_t *word);
    uint32_t words;
    bool extra;
} calls[WEFT_CALLS] = {
#define WEFT_CALL(name, class, ...) [WEFT_CALL_##name] = {take_##name, NULL, name##_words, false},
#define WEFT_CALL_BY_HAND(name, words, extra)                                                      \
    [WEFT_CALL_##name] = {NULL, session_do_##name, words, extra},
#include "remote/wire/calls.def"
};

bool session_is_formed(const struct weft_session *session, const struct weft_record *record)
{
    return record->call < WEFT_CALLS && record->device < session->count &&
           record->words == calls[record->call].words &&
           (record->extra == 0 || calls[record->call].extra);
}

int session_execute(struct weft_session *session, struct weft_record *record)
{
    uint64_t words[8];

    memcpy(words, weft_record_words(record), record->words * sizeof(words[0]));
    if (session_use(session, record->device) != CUDA_SUCCESS)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (calls[record->call].whole != NULL)
        return calls[record->call].whole(session, record, words);
    if (calls[record->call].by_hand != NULL)
        return calls[record->call].by_hand(session, record, words);
    return SESSION_WRONG;
}
