/*
 * fuzz_verbs.c - what processes tell each other over the network verbs: addresses, and datagrams
 * that make connections. What is taken names a process of the job.
 */
#include "fuzz.h"

#include "net/verbs/wire.h"

enum { PROCESSES = 5 };
static const uint64_t TOKEN = 0x0102030405060708;

static void check_control(const uint8_t *data, size_t size)
{
    struct weft_verbs_control control;

    if (weft_verbs_parse_control(data, size, PROCESSES, TOKEN, &control) != NULL)
        return;
    MUST(size == sizeof(control) && memcmp(&control, data, size) == 0);
    MUST(control.token == TOKEN && control.process < PROCESSES);
    MUST(control.qpn <= WEFT_VERBS_QPN_MOST);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weft_verbs_address address;
    uint8_t ours[sizeof(struct weft_verbs_control)];

    if (size == sizeof(address) && weft_verbs_parse_address(data, &address))
        MUST(address.mtu <= 5 && memcmp(&address, data, sizeof(address)) == 0);
    check_control(data, size);
    /* The same bytes from somebody who knows the token. */
    if (size == sizeof(ours)) {
        memcpy(ours, data, size);
        memcpy(ours + offsetof(struct weft_verbs_control, token), &TOKEN, sizeof(TOKEN));
        check_control(ours, size);
    }
    return 0;
}
