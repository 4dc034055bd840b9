/*
 * runtime/service/landing.h - how what arrives gets to ranks: by the device's receive stream, which
 * does things in order. Where the host stores to device memory itself, its own stores take the
 * place of the stream.
 *
 * All of it on the receive side, one thread at a time.
 */
#ifndef WEFT_RUNTIME_SERVICE_LANDING_H
#define WEFT_RUNTIME_SERVICE_LANDING_H

#include "runtime/job/job.h"

/* Before the network is opened: registers the notices COUNT and BARRIER, too. */
weft_status weft_landing_open(struct weft_job *job);
void weft_landing_close(struct weft_job *job);

/* What the network's arrive.h asks of the device. NULL: nothing, the host stores to windows. */
const struct weft_arrive_device *weft_landing_device(struct weft_job *job);

/*
 * For answers (ask.h). bool: false, the device failed. copy: for the rank in `slot`, or the host
 * program, whose memory may be unknown to the device. store: a word of the host's, after all that
 * was copied. count: one more of a tag, after the same. mark and reached: as weft_arrive_device's
 * mark and settled; always there on a device without a stream.
 */
bool weft_landing_copy(struct weft_job *job, uint32_t slot, void *target, const void *source,
                       size_t bytes);
bool weft_landing_store(struct weft_job *job, uint32_t *word, uint32_t value);
bool weft_landing_count(struct weft_job *job, uint32_t slot, uint32_t tag);
bool weft_landing_settle(struct weft_job *job); /* waits for all that has come so far */
bool weft_landing_mark(struct weft_job *job, uint64_t *mark);
bool weft_landing_reached(struct weft_job *job, uint64_t mark, bool *there);

#endif
