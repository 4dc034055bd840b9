/*
 * test_output.c - what kernels print travels before the answer that lets the program go on. A
 * session alone: its ring of answers is read here.
 */
#include "fuzz/fuzz.h"

#include "fake/fake.h"
#include "remote/session/inside.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned char rings[2][WEFT_RING_BYTES] __attribute__((aligned(16)));
static struct weft_ring_out to_session = {.mirror = rings[0]};
static struct weft_ring_in from_session = {.memory = rings[1]};
static struct weft_session *session;
static char told[64]; /* of each record that came: a letter of what was printed, or '.' */

static void say_a(const struct weft_fake_launch *launch)
{
    (void)launch;
    weft_fake_registry.print(1, "a");
}

static uint64_t take(struct weft_record *record)
{
    const bool prints = record->call == WEFT_CALL_output;
    const uint64_t *words = weft_record_words(record);

    snprintf(told + strlen(told), sizeof(told) - strlen(told), "%.*s",
             prints ? (int)record->extra : 1,
             prints ? (const char *)weft_record_extra(record) : ".");
    MUST(prints || words[0] == CUDA_SUCCESS);
    return !prints && record->words > 1 ? words[1] : 0;
}

/* A call, until it is answered; the first word of its answer. */
static uint64_t ask(enum weft_call call, const uint64_t *words, uint32_t count, const void *extra,
                    uint32_t bytes, bool waits)
{
    struct weft_record *record = weft_ring_out_begin(&to_session, (uint16_t)call, count, bytes);
    struct weft_ring_out *out = &session->links.link[0].out;
    uint64_t value = 0;
    bool did;

    MUST(record != NULL);
    record->lane = waits;
    if (count != 0)
        memcpy(weft_record_words(record), words, count * sizeof(*words));
    if (bytes != 0)
        memcpy(weft_record_extra(record), extra, bytes);
    weft_ring_out_end(&to_session, record);
    MUST(weft_ring_in_came(&session->links.link[0].in,
                           (uint32_t)(to_session.head - to_session.put)));
    to_session.put = to_session.head;
    while (waits && out->put == out->head) {
        MUST(session_take_records(session, &did) == WEFT_OK);
        session_waits_poll(session, &did);
    }
    from_session.head = out->put = out->head;
    while (weft_ring_in_next(&from_session, &record) == WEFT_OK && record != NULL) {
        value = take(record);
        weft_ring_in_done(&from_session, record);
    }
    return value;
}
#define WORDS(...)                                                                                 \
    (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)

int main(void)
{
    static const struct {
        uint32_t magic;
        uint16_t version, header;
        uint64_t bytes;
    } image = {0xba55ed50, 1, 16, 0};
    const int output[] = {memfd_create("1", 0), memfd_create("2", 0)};
    const struct weft_session_limits limits = {
        .devices = (const int[]){0}, .device_count = 1, .output = output};
    const struct weft_cuda_table *table;
    struct weft_config config;

    MUST(fcntl(output[0], F_SETFL, O_APPEND) == 0);
    MUST(dup2(output[0], STDOUT_FILENO) == STDOUT_FILENO);
    MUST(weft_config_load(&config, NULL, NULL) == WEFT_OK);
    config.process = 1;
    MUST(weft_fake_open(&table, "devices=1,memory=16M") == WEFT_OK);
    weft_fake_registry.kernel("say_a", say_a, 0, NULL);
    session = session_make(&config, table, &limits);
    MUST(session != NULL);
    session->links.link[0].in.memory = rings[0];
    session->links.link[0].out.mirror = rings[1];

    const uint64_t library =
        ask(WEFT_CALL_load, WORDS(sizeof(image), 0), &image, sizeof(image), true);
    const uint64_t kernel = ask(WEFT_CALL_kernel, WORDS(library), "say_a", 5, true);
    const uint64_t stream = ask(WEFT_CALL_stream_create, WORDS(0, 0), NULL, 0, true);
    const uint64_t event = ask(WEFT_CALL_event_create, WORDS(0), NULL, 0, true);
    for (int way = 0; way < 3; way++) {
        told[0] = 0;
        ask(WEFT_CALL_launch,
            WORDS(kernel, 1ull << 32 | 1, 1ull << 32 | 1, 1ull << 32 | 1, 0, stream), NULL, 0,
            false);
        ask(WEFT_CALL_event_record, WORDS(event, stream), NULL, 0, false);
        if (way == 0)
            ask(WEFT_CALL_stream_synchronize, WORDS(stream), NULL, 0, true);
        else if (way == 1)
            ask(WEFT_CALL_event_synchronize, WORDS(event), NULL, 0, true);
        else
            ask(WEFT_CALL_context_synchronize, NULL, 0, NULL, 0, true);
        MUST(strcmp(told, "a.") == 0);
    }
    session_free(session);
    fputs("all good\n", stderr);
    return EXIT_SUCCESS;
}
