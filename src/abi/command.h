/*
 * abi/command.h - what a rank asks of its host: one line of 64 bytes, or several when a payload
 * travels inline. Seven bytes of content and one of sequence in each word, so that every word says
 * by itself whether it has arrived (ring/command.h).
 */
#ifndef WEFT_ABI_COMMAND_H
#define WEFT_ABI_COMMAND_H

#include "order/inline.h"

#include <assert.h>
#include <stdint.h>

#define WEFT_LINE_WORDS 8
#define WEFT_LINE_BYTES 56 /* content of a line */

struct weft_line {
    uint64_t word[WEFT_LINE_WORDS];
};

enum weft_command_kind {
    WEFT_COMMAND_PUT = 1,    /* data, with a notice if WEFT_COMMAND_NOTIFY is set */
    WEFT_COMMAND_COUNT,      /* notify: no data; object is a communicator */
    WEFT_COMMAND_BARRIER,    /* barrier word: target is a process, offset the word */
    WEFT_COMMAND_COLLECTIVE, /* tag is a weft_collective_op; the host answers with a reply */
    WEFT_COMMAND_LOG,        /* inline: format, values, their text; in the ring of logs */
    WEFT_COMMAND_FAIL,       /* an error's text, as of LOG, in the command ring; tag: its status */
    WEFT_COMMAND_FLUSH,      /* waits until all before it is delivered at a process, the target */
    WEFT_COMMAND_ASK         /* a get or an update of memory that is not mapped: abi/ask.h */
};

/* INLINE: its payload is in the lines behind it. WITHIN: in its own words, source and source_pitch.
 */
enum weft_command_flag {
    WEFT_COMMAND_NOTIFY = 1,
    WEFT_COMMAND_INLINE = 2,
    WEFT_COMMAND_WITHIN = 4
};

enum {
    WEFT_INLINE_MOST = 1024,  /* bytes that WEFT_INLINE may be, at most (rank/settings.def) */
    WEFT_WITHIN_MOST = 16,    /* bytes of a payload inside a command, at most */
    WEFT_COMMANDS_A_TURN = 32 /* commands of a rank that its host takes in one turn */
};

enum weft_collective_op {
    WEFT_COLLECTIVE_WIN_CREATE = 1, /* source: base, width: bytes */
    WEFT_COLLECTIVE_WIN_FREE,       /* object: its communicator, offset: the window */
    WEFT_COLLECTIVE_COMM_SPLIT,     /* offset: color, width: key (signed) */
    WEFT_COLLECTIVE_COMM_FREE
};

struct weft_command {
    uint8_t kind;
    uint8_t flags;
    uint16_t tag;
    uint32_t object; /* window or communicator */
    uint32_t target; /* member of the object, or process */
    uint32_t height; /* rows of a put; arguments of a log */
    uint64_t offset; /* bytes from the start of the target's window; LOG: length of the format */
    uint64_t source; /* address of the data */
    uint64_t width;  /* bytes of a row; of the inline payload if there is one */
    uint64_t pitch;  /* bytes between rows at the target */
    uint64_t source_pitch; /* bytes between rows at the source */
};

static_assert(sizeof(struct weft_command) == WEFT_LINE_BYTES, "a command fills a line");
static_assert(sizeof(struct weft_line) == 64, "a line is a cache line of most machines");

/* Lines that a command with so many inline bytes takes. */
WEFT_INLINE uint32_t weft_command_lines(uint64_t inline_bytes)
{
    return 1 + (uint32_t)((inline_bytes + WEFT_LINE_BYTES - 1) / WEFT_LINE_BYTES);
}

#endif
