/*
 * runtime/service/letters.h - letters to ranks that wait (rank/wait/letter.h): writing them, and
 * finding out what became of them. A letter that a rank left without goes by the receive stream.
 * landing.h says what must wait for which; the receive side's, one thread at a time.
 */
#ifndef WEFT_RUNTIME_SERVICE_LETTERS_H
#define WEFT_RUNTIME_SERVICE_LETTERS_H

#include "abi/letter.h"
#include "runtime/job/job.h"
#include "runtime/service/stream.h"

/* What was written to a rank's box, while it is not known what became of it. */
struct weft_letter_out {
    bool out;
    struct weft_letter_box *in;
    uint32_t number; /* of all letters */
    uint32_t door;   /* the upper half of the door it was written to, */
    uint32_t taken;  /* and the lower */
    uint32_t flags;  /* letters to this box so far */
    uint32_t tag;
    void *target;
    size_t bytes;
};

struct weft_letters {
    struct weft_receive_stream *stream;
    uint64_t again;                         /* its mark after what letters did not bring */
    uint32_t count, refused, out_count;     /* of all; not taken; not known yet */
    uint32_t out[WEFT_SLOTS];               /* the slots of those that are out */
    struct weft_letter_out box[WEFT_SLOTS]; /* by slot */
};

/* Where a rank looks for letters; NULL: it does not. */
struct weft_letter_box *weft_letters_box(const struct weft_job *job, uint32_t slot);

/* With its data, if there is any. False: not now, or not such data. */
bool weft_letters_write(struct weft_job *job, struct weft_letters *letters, uint32_t slot,
                        const struct weft_arrival *arrival);

/* Looks at all doors behind which a letter is; *did: of one it is known now. False: the device
 * failed. */
bool weft_letters_look(struct weft_job *job, struct weft_letters *letters, bool *did);

/*
 * Until it is known what became of the letter to a slot, or (slot 0) of all: what comes now must
 * not overtake it. The rank looks into its box all the time, or has left its wait: microseconds. If
 * the rank has failed, so does the job. False: the device failed.
 */
bool weft_letters_await(struct weft_job *job, struct weft_letters *letters, uint32_t slot);

/* Whether it is known of all letters before the number-th. */
bool weft_letters_known(const struct weft_letters *letters, uint32_t number);

#endif
