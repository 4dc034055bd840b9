/*
 * fuzz_ask.c - asks and answers of other processes: mailboxes with any bytes, and notices that any
 * process sends. Only words and rows of exposed memory are updated or queued; an answer is taken
 * when it is the next one that was asked for. Nothing else is written, whatever comes.
 */
#include "fuzz.h"

#include "abi/notice.h"
#include "net/net.h"
#include "order/update.h"
#include "runtime/job/job.h"
#include "runtime/service/ask.h"

#include <weft/weft.h>

enum { PROCESSES = 3, BYTES = 256, BESIDE = 64 };

static unsigned char memory[BESIDE + BYTES + BESIDE] __attribute__((aligned(64)));

/* A job of one whose mailbox is that of process 0 of three; the others do not exist. */
static struct weft_job *job_of_three(uint64_t *key)
{
    static weft_job *job;
    static uint64_t registered;

    if (job == NULL) {
        setenv("WEFT_DEVICE", "cpu", 1);
        MUST(weft_open(&job, NULL, NULL) == WEFT_OK);
        MUST(weft_register(job, memory + BESIDE, BYTES) == WEFT_OK);
        registered = job->space.regions[0].key;
        weft_services_stop(job); /* what follows is theirs */
        job->numbers.processes = PROCESSES;
        MUST(weft_asks_open(job) == WEFT_OK);
        job->numbers.processes = 1; /* for the tasks */
    }
    *key = registered;
    return job;
}

static struct weft_ask any_ask(struct fuzz_bytes *in, uint64_t key)
{
    struct weft_ask ask = {.key = fuzz_byte(in) < 200 ? key : fuzz_number(in)};

    ask.offset = fuzz_number(in);
    ask.width = fuzz_number(in);
    ask.pitch = fuzz_number(in);
    ask.height = (uint32_t)fuzz_number(in);
    ask.how = (uint8_t)fuzz_byte(in);
    ask.type = (uint8_t)fuzz_byte(in);
    ask.wants = (uint8_t)fuzz_byte(in);
    return ask;
}

/* Whether all of its rows lie in the memory, by long division. */
static bool fits(const struct weft_ask *ask)
{
    const unsigned __int128 rows = ask->height > 0 ? ask->height - 1 : 0;
    const unsigned __int128 end = ask->offset + rows * ask->pitch + ask->width;

    return ask->width == 0 || ask->height == 0 ? ask->offset <= BYTES : end <= BYTES;
}

static void check_ask(struct weft_job *job, struct fuzz_bytes *in, uint64_t key)
{
    struct weft_asks *asks = &job->proxy.asks;
    const uint32_t place = fuzz_byte(in) % (PROCESSES * WEFT_ASKS + 8);
    const int from = (int)(fuzz_byte(in) % 4) - 1;
    const struct weft_ask ask = any_ask(in, key);
    const struct weft_net_delivery delivery = {.process = from,
                                               .notice = weft_notice(WEFT_NOTICE_ASK, 0, place)};
    const uint64_t before = asks->come;

    if (place < PROCESSES * WEFT_ASKS) {
        asks->posts[place].ask = ask;
        for (int i = 0; i < 16; i++)
            asks->posts[place].operands[i] = (unsigned char)fuzz_byte(in);
    }
    job->numbers.processes = PROCESSES;
    const weft_status status = weft_notice_take(&job->proxy.kinds, &delivery);
    job->numbers.processes = 1;
    if (asks->come != before) {
        const bool update = ask.how != WEFT_ASK_GET;
        MUST(status == WEFT_OK && place >= WEFT_ASKS && place < PROCESSES * WEFT_ASKS);
        MUST(from < 0 || (uint32_t)from == place / WEFT_ASKS);
        MUST(ask.key == key && fits(&ask));
        MUST(!update || ((ask.how != WEFT_COMPARE || ask.width <= 8) &&
                         (ask.wants == 0 || !weft_element_is_half(ask.type))));
        MUST(!update || (weft_update_exists(ask.how, ask.type) && ask.height == 1 &&
                         ask.offset % weft_element_bytes(ask.type) == 0));
    }
    for (int i = 0; i < BESIDE; i++)
        MUST(memory[i] == 0 && memory[BESIDE + BYTES + i] == 0);
    asks->taken = asks->come; /* nobody answers here */
}

/* Two were asked of process 1, from its first places. */
static void check_answer(struct weft_job *job, struct fuzz_bytes *in)
{
    struct weft_asks *asks = &job->proxy.asks;
    static unsigned char to[2 * WEFT_ASK_ROOM];
    const uint32_t index = fuzz_byte(in) % (PROCESSES * WEFT_ASKS + 8);
    const uint32_t ended = fuzz_byte(in) % 3;
    const struct weft_net_delivery delivery = {.process = (int)(fuzz_byte(in) % 4) - 1,
                                               .notice = weft_notice(WEFT_NOTICE_ANSWER, 0, index)};

    asks->begun[1] = 2;
    asks->ended[1] = ended;
    for (uint32_t i = 0; i < 2; i++)
        asks->asked[WEFT_ASKS + i] =
            (struct weft_asked){.to = to, .bytes = WEFT_ASK_ROOM, .tag = -1};
    job->numbers.processes = PROCESSES;
    const weft_status status = weft_notice_take(&job->proxy.kinds, &delivery);
    job->numbers.processes = 1;
    const bool next =
        ended < 2 && index == WEFT_ASKS + ended && (delivery.process < 0 || delivery.process == 1);
    MUST((status == WEFT_OK) == next && asks->ended[1] == ended + (next ? 1 : 0));
    for (size_t i = WEFT_ASK_ROOM; i < sizeof(to); i++)
        MUST(to[i] == 0);
    asks->begun[1] = asks->ended[1] = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_bytes in = {data, size};
    uint64_t key;
    struct weft_job *job = job_of_three(&key);

    while (in.size > 0) {
        if (fuzz_byte(&in) % 4 != 0)
            check_ask(job, &in, key);
        else
            check_answer(job, &in);
    }
    return 0;
}
