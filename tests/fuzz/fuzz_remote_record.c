/*
 * fuzz_remote_record.c - records of a program at a session over the fake driver. An input is a list
 * of records: a byte for the call, one for what is wrong with it, words, and bytes behind them.
 * Words are small numbers, handles and addresses that the session gave before, or anything.
 */
#include "fuzz.h"

#include "abi/notice.h"
#include "base/say.h"
#include "fake/fake.h"
#include "remote/rows/row.h"
#include "remote/session/inside.h"

enum { KNOWN = 32, RECORDS = 64, KERNEL_BYTES = 16 };

uint64_t fuzz_remote_records; /* taken so far */
static uint64_t known[KNOWN];
static unsigned known_count;

static void nothing(const struct weft_fake_launch *launch)
{
    (void)launch;
}

weft_status __wrap_weft_net_put(struct weft_net *net, const struct weft_net_put *what);
weft_status __wrap_weft_net_put(struct weft_net *net, const struct weft_net_put *what)
{
    (void)net;
    (void)what;
    return WEFT_OK;
}

weft_status __wrap_weft_net_reg(struct weft_net *net, void *base, size_t bytes, bool own,
                                uint64_t *key);
weft_status __wrap_weft_net_reg(struct weft_net *net, void *base, size_t bytes, bool own,
                                uint64_t *key)
{
    (void)net;
    (void)base;
    (void)bytes;
    (void)own;
    *key = 1;
    return WEFT_OK;
}

/* Libraries have every function; each of them does nothing. */
static int nothing_done(void)
{
    return 0;
}

/* A sanitizer's runtime calls these, too. */
void *__real_dlopen(const char *file, int how);
void *__wrap_dlopen(const char *file, int how);
void *__wrap_dlopen(const char *file, int how)
{
    return file != NULL && strncmp(file, "libcu", 5) == 0 ? known : __real_dlopen(file, how);
}

void *__real_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name)
{
    return library == known ? (void *)nothing_done : __real_dlsym(library, name);
}

/* ---- the session ----------------------------------------------------------------------------- */

static unsigned char rings[2][WEFT_RING_BYTES] __attribute__((aligned(16)));
static const struct weft_cuda_table *table;
static const struct weft_session_limits limits = {
    .memory = 4 << 20, .devices = (const int[]){0, 1}, .device_count = 2};

static struct weft_session *begin(void)
{
    static struct weft_config config;
    static const size_t sizes[] = {4, 8};

    if (table == NULL) {
        (void)weft_err_level(WEFT_SAY_INFO);
        weft_say_level(WEFT_SAY_ERROR);
        MUST(weft_config_load(&config, NULL, NULL) == WEFT_OK);
        config.process = 1;
        config.processes = 3;
        config.stage_memory = 1 << 20;
        MUST(weft_fake_open(&table, "devices=2,memory=16M") == WEFT_OK);
        weft_fake_registry.kernel("k", nothing, 2, sizes);
        weft_fake_registry.global("g", 64);
    }
    struct weft_session *session = session_make(&config, table, &limits);
    MUST(session != NULL);
    session->links.process = 1;
    session->links.processes = 3;
    session->links.link[0].in.memory = rings[0];
    session->links.link[0].out.mirror = rings[1];
    MUST(session_copies_open(session) == WEFT_OK);
    MUST(weft_arena_open(&session->device[0].arena, table, 0, 0x200000000000, 8 << 20, 4 << 20) ==
         CUDA_SUCCESS);
    known_count = 0;
    return session;
}

static void end(struct weft_session *session)
{
    for (int p = 0; p < session->links.processes; p++)
        free(session->links.link[p].notices);
    session_free(session);
    for (int d = 0; d < 2; d++)
        MUST(table->context_reset(d) == CUDA_SUCCESS);
}

/* What answers bring is used again; then the ring is empty. */
static void read_answers(struct weft_session *session)
{
    struct weft_ring_out *out = &session->links.link[0].out;
    struct weft_ring_in in = {.memory = out->mirror, .head = out->head, .tail = out->put};
    struct weft_record *record;

    for (;;) {
        MUST(weft_ring_in_next(&in, &record) == WEFT_OK);
        if (record == NULL)
            break;
        MUST(record->call == WEFT_CALL_answer && record->words >= 1);
        for (uint32_t i = 1; i < record->words; i++)
            known[known_count++ % KNOWN] = weft_record_words(record)[i];
        weft_ring_in_done(&in, record);
    }
    out->put = out->taken = out->head;
}

/* ---- records --------------------------------------------------------------------------------- */

static uint64_t word(struct fuzz_bytes *bytes)
{
    const unsigned how = fuzz_byte(bytes);

    if (how < 96)
        return how % 8;
    if (how < 192)
        return known_count != 0 ? known[how % (known_count < KNOWN ? known_count : KNOWN)] : 0;
    if (how < 208)
        return 0x200000000000 + fuzz_word(bytes) % (8 << 20) / 512 * 512;
    if (how < 240)
        return fuzz_word(bytes);
    return (uint64_t)fuzz_word(bytes) << 32 | fuzz_word(bytes);
}

static uint32_t words_of(unsigned call)
{
    static const uint8_t words[] = {
        0,
#define WEFT_CALL(name, class, ...) WEFT_WORDS(__VA_ARGS__),
#define WEFT_CALL_BY_HAND           WEFT_CALL
#include "remote/wire/calls.def"
    };
    return call < WEFT_CALLS ? words[call] : 0;
}

/* Bytes of structs behind the words. */
static uint32_t given_of(unsigned call)
{
    static const uint16_t given[] = {
        0,
#define WEFT_CALL(name, class, ...) WEFT_GIVES(__VA_ARGS__),
#define WEFT_CALL_BY_HAND           WEFT_CALL
#include "remote/wire/calls.def"
    };
    return call < WEFT_CALLS ? given[call] : 0;
}

/* The last handle or address that the session gave, perhaps of an array; or anything. */
static uint64_t recent(struct fuzz_bytes *bytes)
{
    const unsigned how = fuzz_byte(bytes);

    return how < 200 && known_count != 0 ? known[(known_count - 1 - how % 2) % KNOWN] : word(bytes);
}

/* Structs: small numbers, handles and addresses of the session's; some that make sense. */
static void give(void *at, uint32_t bytes, unsigned call, struct fuzz_bytes *from)
{
    for (uint32_t i = 0; i + 8 <= bytes; i += 8)
        memcpy((char *)at + i, &(uint64_t){word(from)}, 8);
    if (fuzz_byte(from) < 32)
        return;
    if (call == WEFT_CALL_array_create) {
        static const CUarray_format formats[] = {CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_HALF,
                                                 CU_AD_FORMAT_FLOAT, CU_AD_FORMAT_NV12};
        CUDA_ARRAY3D_DESCRIPTOR *shape = at;
        *shape = (CUDA_ARRAY3D_DESCRIPTOR){.Width = fuzz_byte(from) % 9,
                                           .Height = fuzz_byte(from) % 5,
                                           .Depth = fuzz_byte(from) % 3,
                                           .Format = formats[fuzz_byte(from) % 4],
                                           .NumChannels = 1u << fuzz_byte(from) % 4,
                                           .Flags = fuzz_byte(from) % 4 * 2u};
    } else if (call == WEFT_CALL_texture_create || call == WEFT_CALL_surface_create) {
        CUDA_RESOURCE_DESC *resource = at;
        resource->resType = (CUresourcetype)(fuzz_byte(from) % 5);
        resource->res.pitch2D.devPtr = recent(from); /* or array */
        resource->res.pitch2D.format = CU_AD_FORMAT_FLOAT;
        resource->res.pitch2D.numChannels = 1;
        resource->flags = fuzz_byte(from) < 16;
    } else if (call == WEFT_CALL_copy_near) {
        struct weft_box *box = at;
        struct weft_box_side *sides[] = {&box->from, &box->to};
        for (int i = 0; i < 2; i++) {
            sides[i]->type = (CUmemorytype)(2 + fuzz_byte(from) % 3);
            sides[i]->array = (CUarray)recent(from);
            sides[i]->device = recent(from);
            sides[i]->pitch = fuzz_byte(from);
            sides[i]->height = fuzz_byte(from) % 4;
        }
        box->width = fuzz_byte(from);
        box->rows = fuzz_byte(from) % 8;
        box->slices = fuzz_byte(from) % 4;
    }
}

/* Writes the next record into the ring; its length. */
static uint32_t make(struct weft_session *session, struct fuzz_bytes *bytes)
{
    const struct weft_ring_in *in = &session->links.link[0].in;
    const unsigned drawn = fuzz_byte(bytes), wrong = fuzz_byte(bytes);
    const unsigned call = drawn >= 216   ? WEFT_CALL_array_create + drawn % 6 /* to surfaces */
                          : drawn >= 200 ? WEFT_CALL_copy_near
                                         : drawn;
    const uint32_t words = wrong % 8 == 7 ? fuzz_byte(bytes) % 9 : words_of(call);
    const uint32_t extra = wrong & 8 ? fuzz_byte(bytes) : given_of(call);
    const uint32_t whole =
        (uint32_t)(sizeof(struct weft_record) + words * 8 + extra + 15) / 16 * 16;
    struct weft_record *record =
        (struct weft_record *)(void *)(in->memory + in->head % WEFT_RING_BYTES);

    if (WEFT_RING_BYTES - in->head % WEFT_RING_BYTES < whole)
        return 0;
    *record = (struct weft_record){.call = (uint16_t)call,
                                   .lane = (uint8_t)(wrong >> 4),
                                   .device = wrong % 8 == 6 ? 1 : 0,
                                   .bytes = whole,
                                   .extra = extra,
                                   .words = words};
    for (uint32_t i = 0; i < words; i++)
        weft_record_words(record)[i] = word(bytes);
    if (extra == given_of(call))
        give(weft_record_extra(record), extra, call, bytes);
    for (uint32_t i = 0; i < extra && extra != given_of(call); i++)
        weft_record_extra(record)[i] = (unsigned char)fuzz_byte(bytes);
    if (call == WEFT_CALL_library && words != 0) { /* handles and addresses of the session's */
        weft_record_words(record)[0] =
            fuzz_word(bytes) % (WEFT_LIBRARIES + 1) * WEFT_ROWS_EACH + fuzz_word(bytes) % 512;
        for (uint32_t i = 0; i < extra / 8; i++)
            memcpy(weft_record_extra(record) + 8 * (size_t)i, &(uint64_t){word(bytes)}, 8);
    }
    if (wrong % 8 == 5) /* a header whose numbers do not fit together */
        ((unsigned char *)record)[fuzz_byte(bytes) % sizeof(*record)] =
            (unsigned char)fuzz_byte(bytes);
    return whole;
}

/* Whether it cannot make sense, whatever the session has. A stream that it lacks comes first. */
static bool is_malformed(struct weft_record *record)
{
    const uint64_t *words = weft_record_words(record);

    if (record->words != words_of(record->call) || record->call >= WEFT_CALLS ||
        (given_of(record->call) != 0 && record->extra != given_of(record->call)))
        return true;
#if __has_include(<cublas_v2.h>)
    if (record->call == WEFT_CALL_library) /* words, and bytes at multiples of 16 */
        return record->extra % 8 != 0 && words[0] <= WEFT_ROW_cublasSetSmCountTarget &&
               weft_is_default(words[1]);
#endif
    if (record->call == WEFT_CALL_copy_in)
        return words[2] < 256 && words[3] < 256 && record->extra != words[2] * words[3] &&
               weft_is_default(words[4]);
    return record->call == WEFT_CALL_launch && record->extra != KERNEL_BYTES &&
           weft_is_default(words[5]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes bytes = {data, size};
    struct weft_session *session = begin();
    weft_status status = WEFT_OK;
    bool did;

    for (int i = 0; i < RECORDS && bytes.size > 0 && !session->ends; i++) {
        struct weft_ring_in *in = &session->links.link[0].in;
        const uint32_t length = make(session, &bytes);
        if (!weft_ring_in_came(in, length))
            break;
        struct weft_record *record =
            (struct weft_record *)(void *)(in->memory + in->tail % WEFT_RING_BYTES);
        const bool malformed =
            record->call != WEFT_RECORD_SKIP && TAILQ_EMPTY(&session->held) && is_malformed(record);
        status = session_take_records(session, &did);
        MUST(status == WEFT_OK || status == WEFT_ERR_PROTOCOL);
        MUST(status != WEFT_OK || !malformed);
        fuzz_remote_records++;
        if (status != WEFT_OK ||
            in->tail != in->head) { /* a session ends, or waits: here it goes on */
            session->links.status = WEFT_OK;
            in->tail = in->head;
        }
        if (fuzz_byte(&bytes) < 64)
            (void)session_copy_notice(session, 2,
                                      (enum weft_copy_step)(fuzz_byte(&bytes) % WEFT_COPY_STEPS),
                                      fuzz_byte(&bytes));
        for (int turn = 0; turn < 4; turn++) {
            session_waits_poll(session, &did);
            (void)session_copies_poll(session, &did);
        }
        read_answers(session);
    }
    end(session);
    return 0;
}
