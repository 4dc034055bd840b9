/*
 * link.h - records between weftrun and its helper on another host, over whatever connects their
 * standard streams.
 *
 * The bytes are those of the control channel (boot/frame.h): a record is a frame, its kind one of
 * the list below, its source the process it is about. Nothing blocks: what cannot be sent yet
 * waits in the link. Each side sends a BEAT now and then; who hears nothing for silence_s
 * knows that the other is gone, whatever the connection says.
 */
#ifndef WEFTRUN_LINK_H
#define WEFTRUN_LINK_H

#include "boot/frame.h"

enum record {
    /* to the helper: the job, in this order; then START */
    RECORD_JOB = 1,  /* "VERSION FIRST COUNT PROCESSES SILENCE", numbers, and " UNITS" if any */
    RECORD_FOLDER,   /* the working directory */
    RECORD_SECRET,   /* of the job */
    RECORD_VARIABLE, /* NAME=VALUE, for the environment; one each */
    RECORD_ARGUMENT, /* of the program, its name first; one each */
    RECORD_LISTEN,   /* to the helper with process 0: open the root's socket; 1 byte, weft_reach */
    RECORD_START,    /* the text for WEFT_ROOT */
    /* to the helper, later */
    RECORD_SIGNAL, /* 1 byte: the number, for all its processes */
    RECORD_INPUT,  /* for process 0; without bytes: its end. Back: it took that */
    /* from the helper */
    RECORD_HELLO,  /* it is there, and of the right version */
    RECORD_ROOT,   /* the text for WEFT_ROOT */
    RECORD_PID,    /* 4 bytes */
    RECORD_OUT,    /* output */
    RECORD_ERR,    /* standard error */
    RECORD_END,    /* 4 bytes: the process has ended, with this status of wait */
    RECORD_FAILED, /* 1 byte: weftrun's exit status; then why, as text. Nothing runs there */
    /* both ways */
    RECORD_BEAT,
    RECORD_COUNT
};

enum {
    LINK_BEAT_MS = 2000,
    LINK_MORE_S = 2 /* than WEFT_SILENCE_S the silence of a link may last */
};
enum { LINK_OUTPUT_MOST = 65536 }; /* bytes of an OUT or ERR: copied before anything is written */

struct link {
    int in, out; /* -1: ended, or never there */
    struct weft_stream received;
    char *waiting; /* to be sent: from begin to end */
    size_t begin, end, capacity;
    int silence_s;
    uint64_t heard, spoke, asked; /* when; asked: link_silent */
};

/* Takes over both descriptors, and makes them non-blocking. False with errno. */
bool link_open(struct link *link, int in, int out, int silence_s);
void link_close(struct link *link);

/* Sends, as far as it goes now. False: the other side takes nothing more, or no memory. */
bool link_send(struct link *link, enum record kind, int process, const void *payload, size_t bytes);
bool link_text(struct link *link, enum record kind, const char *text); /* without its end */

/* Sends more of what waits. False as above. */
bool link_flush(struct link *link);

/* Sends a BEAT when it is time. False as above. */
bool link_beat(struct link *link);

/* Bytes that wait to be sent. */
static inline size_t link_backlog(const struct link *link)
{
    return link->end - link->begin;
}

/* Reads what is there. False when it has ended. */
bool link_read(struct link *link);

/* Takes the next whole record: 1; 0: none yet; -1: what came is no record. */
int link_take(struct link *link, struct weft_header *header, const void **payload);

/*
 * Whether nothing has been heard for silence_s. Asked once a round, after reading: where rounds are
 * further apart than beats, nobody listened, and the silence begins anew.
 */
bool link_silent(struct link *link);

/* A number of 4 bytes, as records carry it. */
void link_put_number(unsigned char wire[4], uint32_t number);
bool link_get_number(uint32_t *number, const void *payload, size_t bytes);

#endif
