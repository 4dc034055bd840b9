/*
 * boot/attempt.h - how a process gets in at the root, which may come late, at one of several
 * addresses, and be slow to answer. An attempt that has said hello goes on when the next address is
 * tried as well: the root may have let this process in by it and have had no processor yet to say
 * so, and a process that ends its connection then is lost. By its identity the root knows that the
 * others are of the same process.
 */
#ifndef WEFT_BOOT_ATTEMPT_H
#define WEFT_BOOT_ATTEMPT_H

#include "base/config.h"
#include "base/netif.h"
#include "boot/frame.h"

/*
 * Tries the roots until one of them lets this process in: fd and stream are that connection.
 * Blocking until the deadline, or until stop(), which says why, returns an error. Errors: stop's;
 * TIMEOUT; SYSTEM: no root can be reached, now and later; PROTOCOL; those of a refusal.
 */
weft_status weft_attempt(const struct weft_config *config, uint64_t identity,
                         const struct weft_root *roots, int count, uint64_t deadline,
                         weft_status (*stop)(const void *context), const void *context, int *fd,
                         struct weft_stream *stream);

#endif
