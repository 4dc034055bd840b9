/*
 * boot/back.h - what a back end of the control channel supplies: four functions and an opening.
 * Its own structure begins with a struct weft_control. Contracts as in control.h.
 */
#ifndef WEFT_BOOT_BACK_H
#define WEFT_BOOT_BACK_H

#include "base/task.h"
#include "boot/control.h"

struct weft_control_ops {
    weft_status (*send)(struct weft_control *control, uint16_t kind, const void *payload,
                        size_t bytes);
    weft_status (*next)(struct weft_control *control, struct weft_frame *frame,
                        uint64_t timeout_ns);
    void (*wake)(struct weft_control *control);
    void (*close)(struct weft_control *control, bool orderly);
};

/* Fills *frame with a copy of a payload. Errors: MEMORY. */
weft_status weft_frame_fill(struct weft_frame *frame, uint16_t kind, int source,
                            const void *payload, uint32_t bytes);

/* Returns the time that lies timeout_ns ahead; UINT64_MAX: never. */
static inline uint64_t weft_deadline(uint64_t timeout_ns)
{
    const uint64_t now = weft_now_ns();
    return timeout_ns > UINT64_MAX - now ? UINT64_MAX : now + timeout_ns;
}

weft_status weft_tcp_open(struct weft_control **control, const struct weft_config *config);

#endif
