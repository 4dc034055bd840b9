/*
 * runtime/letter.h - what lands in device memory, in order: small payloads and counts, as letters
 * to ranks that wait (kernel_api/letter.h) where that is allowed, else by the device. Receive side,
 * one thread at a time.
 */
#ifndef WEFT_RUNTIME_LETTER_H
#define WEFT_RUNTIME_LETTER_H

#include "runtime/job.h"

/* Whether ranks of this process get letters: when the kernel is prepared. */
bool weft_letters_wanted(const struct weft_job *job);

/* Begins to copy data into device memory; the source is the caller's until it has settled. */
bool weft_landing_copy(struct weft_job *job, void *target, const void *source, size_t bytes);
/* One more of (slot, tag), behind all that was landed. True: a letter did it, all of it. */
bool weft_landing_letter(struct weft_job *job, uint32_t slot, uint32_t tag);
/* Before anything else on the receive lane: what is held back goes to the device. */
bool weft_landing_begin(struct weft_job *job);
/* As the events of net.h. */
bool weft_landing_settle(struct weft_job *job);
bool weft_landing_mark(struct weft_job *job, uint64_t *mark);
bool weft_landing_settled(struct weft_job *job, uint64_t mark, bool *there);

#endif
