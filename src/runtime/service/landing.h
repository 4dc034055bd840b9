/*
 * runtime/service/landing.h - how what arrives gets to ranks: by the device's receive lane, which
 * does things in order, or by letters, which ranks that wait take out of host memory themselves
 * (rank/wait/letter.h).
 *
 * The lane and a rank's box are two ways with no order between them, so only one of them is in use
 * at a time: a letter is written only if nothing is on its way by the lane, and nothing is given to
 * the lane that has to come after a letter before it is known what became of that. Where the host
 * stores to device memory itself, the lane is its own stores.
 *
 * All of it on the receive side, one thread at a time.
 */
#ifndef WEFT_RUNTIME_SERVICE_LANDING_H
#define WEFT_RUNTIME_SERVICE_LANDING_H

#include "runtime/job/job.h"

/* Largest payload of letters to the ranks of this process; 0: there are none. After weft_meet. */
uint32_t weft_letters_wanted(const struct weft_job *job);

weft_status weft_landing_open(struct weft_job *job);
void weft_landing_close(struct weft_job *job);
/* The ranks, and their boxes, are new: nothing is under way. */
void weft_landing_reset(struct weft_job *job);

/* As the events of net.h. False: the device failed. */
void weft_landing_announced(void *job, uint32_t notice);
bool weft_landing_land(void *job, void *target, const void *source, size_t bytes);
bool weft_landing_settle(void *job);
bool weft_landing_mark(void *job, uint64_t *mark);
bool weft_landing_settled(void *job, uint64_t mark, bool *there);

/* One more of a counter: of a rank's tag, and of anything else, behind all that was landed. */
bool weft_landing_notify(struct weft_job *job, uint32_t slot, uint32_t tag);
bool weft_landing_count(struct weft_job *job, uint32_t index);

extern const struct weft_service weft_landing_service;

#endif
