/*
 * fuzz_ofi.c - what crosses the fabric of the network ofi: messages and remote completion data.
 * What is taken is of this job and lies within what arrived; data that is taken packs to itself.
 */
#include "fuzz.h"

#include "net/ofi/bytes.h"

enum { PROCESSES = 5 };
static const uint64_t TOKEN = 0x0102030405060708;

static void check_message(const uint8_t *data, size_t size)
{
    struct ofi_message message;
    const char *reason = NULL;

    switch (ofi_parse(data, size, TOKEN, PROCESSES, &message, &reason)) {
    case OFI_GOOD:
        MUST(message.header.token == TOKEN && message.header.process < PROCESSES);
        if (message.header.kind == OFI_PUT && message.bytes != 0)
            MUST(message.data >= data && message.bytes <= size &&
                 message.data + message.bytes == data + size);
        break;
    case OFI_MALFORMED:
        MUST(reason != NULL);
        break;
    case OFI_STRANGER:
        MUST(size < sizeof(TOKEN) || memcmp(data, &TOKEN, sizeof(TOKEN)) != 0 ||
             size < sizeof(struct ofi_header));
        break;
    }
}

static void check_data(enum ofi_data form, uint64_t data)
{
    struct ofi_arrival arrival;
    uint64_t again;

    if (!ofi_data_parse(form, data, PROCESSES, &arrival))
        return;
    MUST(arrival.process >= 0 && arrival.process < PROCESSES);
    MUST(ofi_data_pack(form, &arrival, &again) && again == data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t ours[256];
    uint64_t word = 0;

    check_message(data, size);
    /* The same bytes from somebody who knows the token. */
    if (size >= sizeof(TOKEN) && size <= sizeof(ours)) {
        memcpy(ours, data, size);
        memcpy(ours, &TOKEN, sizeof(TOKEN));
        check_message(ours, size);
    }
    memcpy(&word, data, size < sizeof(word) ? size : sizeof(word));
    check_data(OFI_WIDE, word);
    check_data(OFI_NARROW, word & UINT32_MAX);
    return 0;
}
