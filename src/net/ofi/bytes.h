/*
 * net/ofi/bytes.h - what crosses the fabric: message headers, remote completion data, addresses;
 * how each is made, and how what arrives is taken apart. Pure functions, so that they can be
 * fuzzed.
 *
 * EVENTS are what a target must see in order: messages that are puts or parts of them, and writes,
 * each of which raises remote completion data. A sender numbers the events for
 * each target; the target applies them by number, whatever order the fabric keeps.
 */
#ifndef WEFT_NET_OFI_BYTES_H
#define WEFT_NET_OFI_BYTES_H

#include "net/net.h"
#include "net/rows.h"

#include <assert.h>

enum weft_ofi_kind {
    WEFT_OFI_PUT = 1, /* an event; its data follows the header */
    WEFT_OFI_RECEIPT, /* nothing but the receipt that every message carries */
    WEFT_OFI_ASK,     /* where is the region of this key? */
    WEFT_OFI_REGION,  /* the answer; an weft_ofi_place follows */
    WEFT_OFI_DOCKED,  /* no message: it begins a berth */
    WEFT_OFI_ROWS     /* an event; weft_net_rows and the rows follow the header */
};

/* WEFT_OFI_ASK and WEFT_OFI_REGION: the sender's quay of the receiver's dock (dock.c). No region
 * has it. */
enum { WEFT_OFI_DOCK_KEY = 0 };

enum weft_ofi_flag { WEFT_OFI_NOW = 1 /* the sender waits for a receipt */ };

struct weft_ofi_header {
    uint64_t token;   /* of the receiver: who does not know it is not of this job */
    uint8_t kind;     /* enum weft_ofi_kind */
    uint8_t flags;    /* enum weft_ofi_flag */
    uint16_t process; /* the sender */
    uint32_t
        event; /* its number; with WEFT_OFI_RECEIPT and WEFT_OFI_NOW: how many have been sent */
    uint32_t receipt; /* so many events of the receiver have been applied by the sender */
    uint32_t notice;
    uint64_t key;    /* weft's key of a region, */
    uint64_t offset; /* and where in it the data goes */
};
static_assert(sizeof(struct weft_ofi_header) == 40, "the same on both sides");

/* Where writes and reads find a region. */
struct weft_ofi_place {
    uint64_t mr_key;  /* libfabric's key, good if `exposed` */
    uint64_t address; /* of its first byte there */
    uint64_t bytes;
    uint32_t exposed; /* 0: only messages reach it */
    uint32_t unused;
};
static_assert(sizeof(struct weft_ofi_place) == 32, "the same on both sides");

/* What is written to a dock: this, and then the data of a put, or of a piece of one. */
struct weft_ofi_berth {
    struct weft_ofi_header header;
    uint64_t bytes;
    uint64_t unused[2];
};
static_assert(sizeof(struct weft_ofi_berth) == 64, "the same on both sides; data begins at a line");

struct weft_ofi_message {
    struct weft_ofi_header header;
    const unsigned char *data; /* of a put */
    size_t bytes;
    struct weft_net_rows rows;   /* of WEFT_OFI_ROWS: they have all of the data */
    struct weft_ofi_place place; /* of WEFT_OFI_REGION */
};

enum weft_ofi_parse { WEFT_OFI_GOOD, WEFT_OFI_STRANGER, WEFT_OFI_MALFORMED };

/*
 * Takes a message apart. A stranger's message has another token or is too short to have any; for
 * one that is malformed *reason says why. Writes nothing else unless it is good.
 */
enum weft_ofi_parse weft_ofi_parse(const void *bytes, size_t count, uint64_t token, int processes,
                                   struct weft_ofi_message *message, const char **reason);

/* An event that is a write. */
struct weft_ofi_arrival {
    int process;
    uint32_t notice;
    uint32_t event; /* packing takes the low bits, parsing of data gives them */
};

/*
 * The same of a berth which holds at most so many bytes of data, and in which this event of this
 * process should be. Its memory may change meanwhile: what is checked is what is given.
 */
bool weft_ofi_parse_berth(const void *bytes, size_t most, uint64_t token,
                          const struct weft_ofi_arrival *arrival, struct weft_ofi_message *message,
                          const char **reason);

/* ---- remote completion data --------------------------------------------------------------------
 *
 * Notice, sender, and the low bits of the event's number: WIDE, where the provider has 8 bytes, any
 * notice and 16 bits. NARROW, where it has 4: a notice that is a count of a rank, or none, and what
 * the job's size leaves for the number, from 11 bits for 2 processes down to none for 4096.
 */
enum weft_ofi_data { WEFT_OFI_NO_DATA, WEFT_OFI_NARROW, WEFT_OFI_WIDE };

/* Event numbers that such data tells apart, a power of two; 0: none, this form is not to be used.
 */
uint32_t weft_ofi_data_spread(enum weft_ofi_data form, int processes);
/* False: this notice does not fit. */
bool weft_ofi_data_pack(enum weft_ofi_data form, int processes,
                        const struct weft_ofi_arrival *arrival, uint64_t *data);
/* False: it cannot be of this job. */
bool weft_ofi_data_parse(enum weft_ofi_data form, int processes, uint64_t data,
                         struct weft_ofi_arrival *arrival);

/* ---- what processes tell each other at the start ------------------------------------------- */
enum { WEFT_OFI_NAME_BYTES = 160 };

struct weft_ofi_hello {
    char provider[40];
    uint64_t token;
    uint32_t message_bytes; /* a message has at most so many */
    uint32_t form;          /* enum weft_ofi_data */
    uint32_t writes;        /* WEFT_OFI_WRITES is on */
    uint32_t name_format;   /* of libfabric's address of its endpoint: FI_SOCKADDR_IN, ... */
    uint32_t name_bytes;
    unsigned char name[WEFT_OFI_NAME_BYTES];
};
static_assert(sizeof(struct weft_ofi_hello) <= WEFT_NET_ADDRESS_MAX, "it travels as the address");

/*
 * Whether endpoints with these greetings can talk; if not, *reason says why. `text`: addresses are
 * texts (FI_ADDR_STR), whose lengths may differ (they hold a process's number, for one) and which
 * end within the name. All others of one format have one length.
 */
bool weft_ofi_hello_fits(const struct weft_ofi_hello *mine, const struct weft_ofi_hello *theirs,
                         bool text, const char **reason);

#endif
