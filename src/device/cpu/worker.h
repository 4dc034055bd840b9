/*
 * device/cpu/worker.h - the threads that run ranks, each rank a fiber.
 *
 * A worker owns a fixed share of the ranks and runs them in turn; a rank gives up its turn only
 * when it waits. After a whole turn in which every rank only waited, the worker spins: for two
 * microseconds alone, then giving way between its turns to whoever shares its processor - perhaps
 * the very worker, or task of the host, that it waits for - and at last it sleeps on the process's
 * bell, which every put, notification and reply rings.
 */
#ifndef WEFT_DEVICE_CPU_WORKER_H
#define WEFT_DEVICE_CPU_WORKER_H

#include "base/fiber.h"
#include "device/device.h"

struct weft_workers {
    int count;                 /* threads */
    int first;                 /* processor of the first thread; -1: threads are not bound */
    uint64_t spin_ns;          /* how long a worker spins before it sleeps */
    size_t stack_bytes;        /* of a rank's stack, or of each of its threads' */
    struct weft_stack *stacks; /* of ranks that did not come to their end */
    int stacks_count;
};

/*
 * Runs all ranks of the launch and returns when they have ended. Errors: MEMORY, SYSTEM; then none
 * of them ran. The stack of a rank that the job's end cut short stays until weft_workers_close: the
 * network may still read a source on it.
 */
weft_status weft_workers_run(struct weft_workers *workers, const struct weft_launch *launch);
void weft_workers_close(struct weft_workers *workers);

#endif
