/*
 * boot/frame.h - the bytes of the control channel, as pure functions on buffers.
 *
 * A connection begins with one hello of fixed size. Then both directions carry packets: a header
 * of 12 bytes and up to WEFT_FRAME_MAX bytes of payload. Numbers are as all hosts of a job have
 * them: one with another order of bytes is refused by its version. Whatever comes from a socket is
 * hostile until weft_hello_check or weft_stream_take has passed it.
 */
#ifndef WEFT_BOOT_FRAME_H
#define WEFT_BOOT_FRAME_H

#include "weft/types.h"

#include <stdbool.h>

#define WEFT_HEADER_BYTES 12
#define WEFT_HELLO_BYTES  156
#define WEFT_SECRET_BYTES 128 /* as in settings.def, the end included */

enum weft_frame_op {
    WEFT_OP_FRAME = 1, /* what control.h calls a frame; kind 0 says that `source` is lost */
    WEFT_OP_BYE,       /* source leaves in order and sends no more */
    WEFT_OP_WELCOME,   /* root to a new member: the hello was right */
    WEFT_OP_START,     /* root: all processes are there */
    WEFT_OP_REFUSED    /* kind: a weft_refusal; source: the process concerned, or BARRED's errno */
};

struct weft_header {
    uint32_t bytes; /* of payload; 0 but in frames */
    uint16_t kind;
    uint16_t source;
    uint16_t op; /* enum weft_frame_op */
};

/* Why a connection is not let in. X(name, status at the one refused, "what differs") */
#define WEFT_REFUSAL_MAP(X)                                                                        \
    X(NONE, OK, "")                                                                                \
    X(STRANGER, ERR_PROTOCOL, "does not speak weft's protocol")                                    \
    X(VERSION, ERR_CONFIG, "uses another version of weft")                                         \
    X(SECRET, ERR_CONFIG, "has another WEFT_SECRET")                                               \
    X(PROCESSES, ERR_CONFIG, "has another WEFT_PROCESSES")                                         \
    X(INDEX, ERR_CONFIG, "has a WEFT_PROCESS outside the job")                                     \
    X(TAKEN, ERR_CONFIG, "has the WEFT_PROCESS of another member")                                 \
    X(MISSING, ERR_TIMEOUT, "did not come in time")                                                \
    X(BARRED, ERR_SYSTEM, "cannot accept connections")                                             \
    X(ENDED, ERR_PEER_LOST, "came when process 0 had ended")                                       \
    X(LOST, ERR_PEER_LOST, "came again when its connection had ended")

enum weft_refusal {
#define WEFT_REFUSAL_ENUM(name, status, text) WEFT_REFUSAL_##name,
    WEFT_REFUSAL_MAP(WEFT_REFUSAL_ENUM)
#undef WEFT_REFUSAL_ENUM
        WEFT_REFUSAL_COUNT
};

extern const struct weft_refusal_row {
    weft_status status;
    const char *text;
} weft_refusals[WEFT_REFUSAL_COUNT];

struct weft_hello {
    int process, processes;
    uint64_t identity; /* drawn at random: the same in all hellos of a process, no other's */
    char secret[WEFT_SECRET_BYTES];
};

void weft_hello_put(unsigned char wire[WEFT_HELLO_BYTES], const struct weft_hello *hello);

/*
 * Compares a hello with what the root expects (its `process` and `identity` are not looked at). On
 * REFUSAL_NONE *hello is what was expected, of this process. The secret is compared in constant
 * time.
 */
enum weft_refusal weft_hello_check(const unsigned char wire[WEFT_HELLO_BYTES],
                                   const struct weft_hello *expected, struct weft_hello *hello);

void weft_header_put(unsigned char wire[WEFT_HEADER_BYTES], const struct weft_header *header);
/* Reads a header. False: malformed: unknown op, too many bytes, or bytes where none may be. */
bool weft_header_get(struct weft_header *header, const unsigned char wire[WEFT_HEADER_BYTES]);

/* What was received and not yet taken. All zero is an empty stream. */
struct weft_stream {
    unsigned char *data;
    size_t begin, end, capacity;
};

/* Makes room behind `end`, for the whole of the current packet at least. False: no memory. */
bool weft_stream_reserve(struct weft_stream *stream);

/* Takes the next packet. 1: *payload is in the stream, valid until the next reserve; 0: more bytes
 * are needed; -1: the stream is malformed. */
int weft_stream_take(struct weft_stream *stream, struct weft_header *header, const void **payload);
void weft_stream_free(struct weft_stream *stream);

#endif
