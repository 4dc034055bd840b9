/*
 * runtime/job/random.h - random mode (device/cpu/random/random.h) and the jobs of this process: it
 * lasts as long as one of them is open, and what it finds concerns them all. For its one thread;
 * where there is no random mode, the calls do nothing.
 */
#ifndef WEFT_RUNTIME_JOB_RANDOM_H
#define WEFT_RUNTIME_JOB_RANDOM_H

#include "weft/weft.h"

#include <stdbool.h>

/*
 * The job opens: begins random mode if its configuration says so, unless weft_local_job or a job
 * before has. A race fails all jobs that are open then: it does not tell whose memory it was in.
 */
weft_status weft_random_join(weft_job *job);

/* The job begins to close; and has nothing left: with the last one random mode ends. */
void weft_random_leave(weft_job *job);
void weft_random_left(void);

/* The open job after this one; NULL: after none. */
weft_job *weft_random_next(const weft_job *job);

#endif
