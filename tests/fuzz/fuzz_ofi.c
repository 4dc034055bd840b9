/*
 * fuzz_ofi.c - what crosses the fabric of the network ofi: messages, remote completion data and
 * greetings. What is taken is of this job and lies within what arrived; data that is taken packs to
 * itself; an address that is taken lies within its greeting.
 */
#include "fuzz.h"

#include "net/ofi/bytes.h"

#include <stddef.h>

enum { PROCESSES = 5 };
static const uint64_t TOKEN = 0x0102030405060708;

static void check_message(const uint8_t *data, size_t size)
{
    struct weft_ofi_message message;
    const char *reason = NULL;

    switch (weft_ofi_parse(data, size, TOKEN, PROCESSES, &message, &reason)) {
    case WEFT_OFI_GOOD:
        MUST(message.header.token == TOKEN && message.header.process < PROCESSES);
        if (message.header.kind == WEFT_OFI_PUT && message.bytes != 0)
            MUST(message.data >= data && message.bytes <= size &&
                 message.data + message.bytes == data + size);
        if (message.header.kind == WEFT_OFI_ROWS)
            MUST(message.data + message.bytes == data + size && message.rows.rows > 0 &&
                 message.bytes % message.rows.rows == 0 &&
                 message.rows.pitch >= message.bytes / message.rows.rows &&
                 message.header.offset + message.rows.rows * message.rows.pitch >=
                     message.rows.rows);
        break;
    case WEFT_OFI_MALFORMED:
        MUST(reason != NULL);
        break;
    case WEFT_OFI_STRANGER:
        MUST(size < sizeof(TOKEN) || memcmp(data, &TOKEN, sizeof(TOKEN)) != 0 ||
             size < sizeof(struct weft_ofi_header));
        break;
    }
}

/* What a sender left in a dock. */
static void check_berth(const uint8_t *data, size_t size)
{
    enum { MOST = 100 };
    unsigned char berth[sizeof(struct weft_ofi_berth) + MOST] = {0};
    struct weft_ofi_arrival arrival = {.process = 3};
    struct weft_ofi_message message;
    const char *reason;

    memcpy(berth, data, size < sizeof(berth) ? size : sizeof(berth));
    memcpy(&arrival.event, berth + offsetof(struct weft_ofi_header, event), sizeof(arrival.event));
    if (weft_ofi_parse_berth(berth, MOST, TOKEN, &arrival, &message, &reason))
        MUST(message.header.token == TOKEN && message.header.process == arrival.process &&
             message.data == berth + sizeof(struct weft_ofi_berth) && message.bytes > 0 &&
             message.bytes <= MOST && message.header.offset + message.bytes >= message.bytes);
    else
        MUST(reason != NULL);
}

static void check_data(enum weft_ofi_data form, uint64_t data)
{
    struct weft_ofi_arrival arrival;
    uint64_t again;

    if (!weft_ofi_data_parse(form, PROCESSES, data, &arrival))
        return;
    MUST(arrival.process >= 0 && arrival.process < PROCESSES);
    MUST(weft_ofi_data_pack(form, PROCESSES, &arrival, &again) && again == data);
}

static void check_hello(const uint8_t *data, size_t size, bool text)
{
    const struct weft_ofi_hello mine = {.provider = "shm", .name_bytes = 16};
    struct weft_ofi_hello theirs = mine;
    const char *reason;

    memcpy(&theirs, data, size < sizeof(theirs) ? size : sizeof(theirs));
    memcpy(&theirs, &mine,
           offsetof(struct weft_ofi_hello, name_bytes)); /* the rest is plain equality */
    if (weft_ofi_hello_fits(&mine, &theirs, text, &reason))
        MUST(theirs.name_bytes <= sizeof(theirs.name) &&
             (!text || strnlen((char *)theirs.name, sizeof(theirs.name)) < theirs.name_bytes));
    else
        MUST(reason != NULL);
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
        check_berth(ours, size);
    }
    check_berth(data, size);
    check_hello(data, size, false);
    check_hello(data, size, true);
    memcpy(&word, data, size < sizeof(word) ? size : sizeof(word));
    check_data(WEFT_OFI_WIDE, word);
    check_data(WEFT_OFI_NARROW, word & UINT32_MAX);
    return 0;
}
