/* remote/client/pages.h - what managed.c (blocks) and pages.c (their chunks) share. */
#ifndef WEFT_REMOTE_CLIENT_PAGES_H
#define WEFT_REMOTE_CLIENT_PAGES_H

#include "remote/client/inside.h"

enum { CHUNK = 64 << 10 };

enum state { WRITES, READS, CLOSED }; /* what the host may do: each more than the next */

struct client_block {
    struct client_block *next;
    uint64_t base, bytes; /* whole pages */
    CUdeviceptr around;   /* the allocation that the pages lie in */
    unsigned char *alias; /* NULL: host and devices have one address space */
    unsigned flags;       /* of mapped host memory; 0: it is managed */
    struct client_device *home;
    uint64_t after, run;   /* the chunk behind those that were fetched last; how many these were */
    uint64_t chunks, open; /* how many chunks there are; how many are not closed */
    unsigned char state[];
};

extern struct client_block *managed_blocks;
extern struct weft_lock managed_turn; /* guards them */

/* Enters, to give work to devices, or wait for what they were given (gives), or not. False: there
 * is no managed memory. */
bool managed_enter(bool gives);
void managed_leave(bool gives);
/* Finds the block that has an address; NULL: none. managed_turn is held. */
struct client_block *managed_block(uint64_t address);
/* Opens `count` chunks, or closes them. managed_turn is held. Errors: OUT_OF_MEMORY. */
CUresult managed_set(struct client_block *b, uint64_t first, uint64_t count, enum state state);
/* Answers a touch of closed memory. The caller has none of the locks. */
enum client_fault_answer managed_answer(const struct client_fault *fault);

#endif
