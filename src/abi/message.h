/*
 * abi/message.h - the frames of messages between host programs (weft/message.h): a line each, with
 * or without a payload behind it. ring/mail.h and msg/far.c carry them.
 *
 * The sender of a message sends EAGER, with all its bytes, or OFFER, and keeps them. The receiver
 * of an offer reads the bytes itself, or answers GRANT, upon which the sender sends PIECEs, or
 * copies them and says COPIED, or PUT, upon which the network puts them. What it has read, or what
 * was put, it answers with TAKEN. The sender may ask for a message back by RECALL: where no receive
 * has met it, it is forgotten, and RECALLED is the answer. A frame names the requests that it is
 * about by their numbers, which are the receiver's business to check: they come from another
 * process.
 */
#ifndef WEFT_ABI_MESSAGE_H
#define WEFT_ABI_MESSAGE_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum { WEFT_MAIL_WITHIN = 32 /* bytes of a payload that fit the line */ };

enum weft_mail_kind {
    WEFT_MAIL_EAGER = 1, /* the message */
    WEFT_MAIL_OFFER,     /* `bytes` lie at data.offer; `request` is the sender's */
    WEFT_MAIL_TAKEN,     /* the sender's `request` is complete: it was matched, and has come */
    WEFT_MAIL_GRANT,     /* send `bytes` of `request` to the receiver's data.grant, or copy them */
    WEFT_MAIL_PUT,       /* put `bytes` of `request` into data.region; a notice says it is done */
    WEFT_MAIL_PIECE,     /* bytes of the receiver's `request`; `bytes` is where they begin */
    WEFT_MAIL_CREDIT,    /* units read so far: `bytes` in the ring, data.taken in kept memory */
    WEFT_MAIL_RECALL,    /* the message of the sender's `request` is wanted back */
    WEFT_MAIL_RECALLED,  /* the message of `request` was not matched, and is gone */
    WEFT_MAIL_COPIED     /* the receiver's `request`, granted, has its bytes: see data.into */
};

/* Flags. */
enum {
    WEFT_MAIL_WANTED = 1, /* EAGER: the receiver answers TAKEN */
    WEFT_MAIL_IS_NEAR = 2 /* the payload is in the near ring (ring/mail.h) */
};

/* What a frame says, apart from its place in the ring. */
struct weft_mail_text {
    uint32_t context; /* a communicator's handle */
    int32_t tag;
    uint64_t bytes;   /* bytes of the message; see the kinds */
    uint64_t request; /* number of a request at one end; 0: none */
    union {
        unsigned char within[WEFT_MAIL_WITHIN];
        uint64_t offer; /* an address in the sender's process, or device memory as
                           weft_memory_offer says it; 0: it cannot be read */
        struct {
            uint64_t grant; /* number of a request of the receiver's */
            uint64_t into;  /* its buffer, as data.offer says it, for a sender that reaches it and
                               answers COPIED; 0: none */
        };
        uint32_t taken; /* units of payload in kept memory */
        struct {
            uint64_t key, place[2];
        } region; /* memory of the receiver, as the network names it (net/net.h) */
    } data;
};

/*
 * A line. commit: bits 0 to 31 are the ring's, then 16 bits bytes of payload, 8 the kind, 8 flags.
 * It is stored last: who sees it there sees the rest.
 */
struct weft_mail {
    uint64_t commit;
    struct weft_mail_text text;
};

static_assert(sizeof(struct weft_mail) == 64, "a frame crosses in one line");
static_assert(offsetof(struct weft_mail, text.data) == 32, "the payload is the line's second half");

/* What a commit word says, but for the ring's half. */
struct weft_mail_head {
    uint16_t count; /* bytes of payload */
    uint8_t kind, flags;
};

static inline uint64_t weft_mail_commit(struct weft_mail_head head, uint32_t ring)
{
    return (uint64_t)head.flags << 56 | (uint64_t)head.kind << 48 | (uint64_t)head.count << 32 |
           ring;
}

static inline struct weft_mail_head weft_mail_head_of(uint64_t commit)
{
    return (struct weft_mail_head){.count = (uint16_t)(commit >> 32),
                                   .kind = (uint8_t)(commit >> 48),
                                   .flags = (uint8_t)(commit >> 56)};
}

#endif
