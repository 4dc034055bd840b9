/*
 * runtime/service/delivery.h - how what arrives gets to ranks: by the device's receive stream,
 * which does things in order. Where the host stores to device memory itself, its own stores take
 * the place of the stream.
 *
 * All of it on the receive side, one thread at a time.
 */
#ifndef WEFT_RUNTIME_SERVICE_DELIVERY_H
#define WEFT_RUNTIME_SERVICE_DELIVERY_H

#include "runtime/job/job.h"

/* Before the network is opened: registers the notices COUNT and BARRIER, too. */
weft_status weft_delivery_open(struct weft_job *job);
void weft_delivery_close(struct weft_job *job);

/* What the network asks of the device. NULL: nothing, the host stores to windows. */
const struct weft_net_device *weft_delivery_device(struct weft_job *job);

/*
 * For answers (ask.h). bool: false, the device failed. copy: for the rank in `slot`, or the host
 * program, whose memory may be unknown to the device. store: a word of the host's, after all that
 * was copied. count: one more of a tag, after the same. mark and reached: as weft_net_device's
 * mark and settled; always there on a device without a stream.
 */
bool weft_delivery_copy(struct weft_job *job, uint32_t slot, void *target, const void *source,
                        size_t bytes);
bool weft_delivery_store(struct weft_job *job, uint32_t *word, uint32_t value);
bool weft_delivery_count(struct weft_job *job, uint32_t slot, uint32_t tag);
bool weft_delivery_settle(void *job); /* waits for all that has come so far */
bool weft_delivery_mark(void *job, uint64_t *mark);
bool weft_delivery_reached(void *job, uint64_t mark, bool *there);

#endif
