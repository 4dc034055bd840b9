/*
 * boot/hub.h - process 0's relay: a task that lets the job's processes in and sends every frame
 * of one to all, in one order, without ever waiting for one of them.
 */
#ifndef WEFT_BOOT_HUB_H
#define WEFT_BOOT_HUB_H

#include "boot/frame.h"

struct weft_hub;

/*
 * Starts the relay on a listening socket, which it takes over. expected: what members say of
 * themselves, of process 0 itself. They have wait_ns to come, and are lost after silence_s. *member
 * is process 0's own, blocking connection, already let in: the next packet on it is the START, like
 * everybody else's. Errors: MEMORY, SYSTEM; then the listener stays the caller's.
 */
weft_status weft_hub_start(struct weft_hub **hub, int listener, const struct weft_hello *expected,
                           uint64_t wait_ns, int silence_s, int *member);

/*
 * Waits for the end of the relay, which comes when process 0's connection has ended: after a BYE
 * when the others have left too, at most 5 s; without it when they have been told, at most 1 s.
 */
void weft_hub_finish(struct weft_hub *hub);

#endif
