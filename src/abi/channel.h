/*
 * abi/channel.h - eager channels: rings in the target's memory through which one rank of another
 * process sends small notified puts, and all its notices, as data and flag in the same store.
 *
 * A process exposes, behind its counters, a box for each slot, which names the channels of that
 * rank, and a pool of channels: a control and a ring each. A sender takes a channel for itself
 * (rank/path/channel.h) and keeps it until the kernel ends; the host clears what was taken before
 * the next run (runtime/kernel/run.c).
 *
 * A ring is a sequence of lines of two 64-bit words. Each word is stored undivided. Its upper part
 * is a flag that tells this lap of the ring from the one before. Every lap writes every line, so a
 * word that is not of this lap has the flag of the lap before. So nothing needs to be cleaned, and
 * no store needs to be ordered after another. A message is a head line, and a line for each 8 bytes
 * of the payload. What is left over, up to 4 bytes, is in the head:
 *
 *     head:  flag 8 | left over 32 | unused 10 | release 1 | bye 1 | notice 1 | bytes 11
 *            flag 8 | tag 8 | address 48
 *     rest:  flag 8 | unused 24 | payload 32      (both words)
 *
 * The address is one of the target's own. The target copies the payload there without a check: who
 * can write into a ring maps the target's memory, and could write there anyway.
 */
#ifndef WEFT_ABI_CHANNEL_H
#define WEFT_ABI_CHANNEL_H

#include "abi/line.h"
#include "order/inline.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WEFT_CHANNELS_IN = 15,  /* channels into one rank */
    WEFT_CHANNELS_OUT = 16, /* channels out of one rank */
    WEFT_RING_LINES = 4096, /* lines of a channel; a power of two */
    WEFT_EAGER_MOST = 1024, /* bytes of a payload, at most */
    WEFT_CHANNEL_NONE = -1  /* index in a box: the pool was empty */
};

/* A slot's box. asked: senders that asked; channel: index + 1, 0 until its sender has named it. */
struct weft_box {
    uint32_t asked;
    int32_t channel[WEFT_CHANNELS_IN];
};

/* A channel's control. open: the target looks into it. taken: lines that the target has read. */
struct weft_channel {
    uint32_t open, taken;
    uint32_t unused[14];
};

static_assert(sizeof(struct weft_box) == 64, "boxes do not share lines");
static_assert(sizeof(struct weft_channel) == 64, "channels do not share lines");

/* The sender's end of a channel. */
enum weft_out_state { WEFT_OUT_NEW, WEFT_OUT_ASKED, WEFT_OUT_OPEN, WEFT_OUT_REFUSED };
/* FENCE: fence what went directly. SAY: tell that it stands for more than channels brought. */
enum weft_out_dirty { WEFT_OUT_FENCE = 1, WEFT_OUT_SAY = 2 };
struct weft_out {
    int32_t process;    /* process of the target */
    uint32_t slot;      /* slot of the target; 0: this end is unused */
    uint32_t state;     /* enum weft_out_state */
    uint32_t talks;     /* NEW: puts so far that would fit; ASKED: such puts since it asked */
    uint32_t head;      /* next line to write */
    uint32_t taken;     /* lines that the target has taken, as last seen */
    uint32_t dirty;     /* set of weft_out_dirty: what the next message does besides */
    uint32_t data_end;  /* line after the last one of a payload */
    uint64_t low, high; /* addresses of payloads not yet copied, while taken is before data_end */
    struct weft_channel *channel;
    struct weft_ring_line *ring;
};

/* The target's end of a channel. */
struct weft_in {
    struct weft_ring_line *ring;
    struct weft_channel *channel;
    uint32_t tail;  /* next line to read */
    uint32_t given; /* lines that the sender knows to be read */
    uint32_t bye;   /* the sender has ended */
    uint32_t unused;
};

/* A channel area: boxes of all slots, controls, rings. */
WEFT_INLINE size_t weft_channels_bytes(uint32_t slots, uint32_t channels)
{
    return channels == 0 ? 0
                         : slots * sizeof(struct weft_box) +
                               channels * (sizeof(struct weft_channel) +
                                           WEFT_RING_LINES * sizeof(struct weft_ring_line));
}

WEFT_INLINE struct weft_box *weft_channels_box(unsigned char *area, uint32_t slot)
{
    return (struct weft_box *)(void *)area + slot;
}

WEFT_INLINE struct weft_channel *weft_channels_control(unsigned char *area, uint32_t slots,
                                                       uint32_t index)
{
    return (struct weft_channel *)(void *)(area + slots * sizeof(struct weft_box)) + index;
}

WEFT_INLINE struct weft_ring_line *weft_channels_ring(unsigned char *area, uint32_t slots,
                                                      uint32_t channels, uint32_t index)
{
    unsigned char *rings =
        area + slots * sizeof(struct weft_box) + channels * sizeof(struct weft_channel);
    return (struct weft_ring_line *)(void *)rings + (size_t)index * WEFT_RING_LINES;
}

/* ---- lines -------------------------------------------------------------------------------- */

struct weft_head {
    uint64_t address;
    uint32_t bytes, left; /* bytes of the payload; its last bytes, which fill no line */
    uint32_t tag;
    bool notice, bye, release; /* release: it stands for more than channels brought */
};

/* Lines of a message: each takes two words of 4 bytes, and the head what is left over. */
WEFT_INLINE uint32_t weft_message_lines(uint32_t bytes)
{
    return 1 + (bytes + 3) / 4 / 2;
}

/* Whether a line of a message has a word of a payload that is made of whole words. */
WEFT_INLINE bool weft_line_has(uint32_t bytes, uint32_t at)
{
    return at == 0 ? (bytes & 4) != 0 : 8 * at <= bytes;
}

/* Never 0, which is what a ring holds at first; not that of the lap before. */
WEFT_INLINE uint32_t weft_lap_flag(uint32_t position)
{
    return position / WEFT_RING_LINES % 128 + 1;
}

WEFT_INLINE uint64_t weft_head_word(const struct weft_head *head, uint32_t flag, int word)
{
    if (word == 1)
        return (uint64_t)flag << 56 | (uint64_t)head->tag << 48 | head->address;
    return (uint64_t)flag << 56 | (uint64_t)head->left << 24 | (uint64_t)head->bye << 12 |
           (uint64_t)head->notice << 11 | (uint64_t)head->release << 13 | (head->bytes & 0x7ff);
}

WEFT_INLINE struct weft_head weft_head_of(uint64_t word0, uint64_t word1)
{
    struct weft_head head;
    head.bytes = (uint32_t)(word0 & 0x7ff);
    head.notice = (word0 >> 11 & 1) != 0;
    head.bye = (word0 >> 12 & 1) != 0;
    head.release = (word0 >> 13 & 1) != 0;
    head.left = (uint32_t)(word0 >> 24);
    head.tag = (uint32_t)(word1 >> 48 & 0xff);
    head.address = word1 & 0xffffffffffff;
    return head;
}

WEFT_INLINE uint64_t weft_rest_word(uint32_t payload, uint32_t flag)
{
    return (uint64_t)flag << 56 | payload;
}

/* Less than 1 << 24 if both words are of this lap. */
WEFT_INLINE uint32_t weft_lap_differs(uint64_t word0, uint64_t word1, uint32_t flag)
{
    return ((uint32_t)(word0 >> 32) ^ flag << 24) | ((uint32_t)(word1 >> 32) ^ flag << 24);
}

WEFT_INLINE bool weft_lap_there(uint64_t word0, uint64_t word1, uint32_t flag)
{
    return weft_lap_differs(word0, word1, flag) >> 24 == 0;
}

#endif
