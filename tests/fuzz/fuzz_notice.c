/*
 * fuzz_notice.c - the 32 bits that travel with a put, at a process that runs: those that name a
 * counter of its own count there, all others are refused. And regions: no key but the right one
 * writes, and nothing outside it.
 */
#include "fuzz.h"

#include "abi/notice.h"
#include "net/peer/inside.h"
#include "runtime/job/job.h"

#include <weft/weft.h>

enum { REGION = 64 };

static struct weft_job *job_of_one(void)
{
    static weft_job *job;

    if (job == NULL) {
        setenv("WEFT_DEVICE", "cpu", 1);
        MUST(weft_open(&job, NULL, NULL) == WEFT_OK);
    }
    return job;
}

static void check_notice(struct weft_job *job, uint32_t notice)
{
    const uint32_t slot = weft_notice_slot(notice);
    bool good = false;

    if (weft_notice_kind_of(notice) == WEFT_NOTICE_COUNT)
        good = slot < WEFT_SLOTS;
    else if (weft_notice_kind_of(notice) == WEFT_NOTICE_BARRIER)
        good = slot < job->space.state.comms_count * WEFT_BARRIER_WORDS;
    const struct weft_net_delivery delivery = {.notice = notice};
    const bool taken = weft_notice_take(&job->proxy.kinds, &delivery) == WEFT_OK;
    MUST(!taken || good);
}

static void check_region(struct weft_net *net, uint64_t key, struct fuzz_bytes *in, size_t size)
{
    static const unsigned char source[512];
    const unsigned change = fuzz_byte(in);
    const uint64_t k = change & 1 ? (uint64_t)fuzz_word(in) << 32 | fuzz_word(in) : key;
    const uint64_t offset =
        change & 2 ? (uint64_t)fuzz_word(in) << 32 | fuzz_word(in) : fuzz_byte(in);
    const size_t bytes = fuzz_byte(in) * (change & 4 ? 2u : 1u);
    const bool inside = k == key && offset <= size && bytes <= size - offset;

    MUST((weft_peer_deliver(net, 0, k, offset, source, bytes, 0) == WEFT_OK) ==
         (inside || bytes == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct weft_config config = {0};
    const struct weft_net_open open = {.config = &config, .processes = 1};
    struct weft_net *net;
    struct fuzz_bytes in = {data, size};
    unsigned char *memory = malloc(REGION);
    uint64_t gone, key;

    MUST(weft_net_open(&net, &weft_transport_shm, &open) == WEFT_OK);
    MUST(memory != NULL);
    MUST(weft_net_reg(net, memory, REGION, false, &gone) == WEFT_OK);
    weft_net_dereg(net, gone);
    MUST(weft_net_reg(net, memory, REGION, false, &key) == WEFT_OK);
    MUST(weft_peer_deliver(net, 0, gone, 0, memory, 1, 0) != WEFT_OK);
    while (in.size > 0) {
        check_notice(job_of_one(), fuzz_word(&in));
        check_region(net, key, &in, REGION);
    }
    weft_net_close(net);
    free(memory);
    return 0;
}
