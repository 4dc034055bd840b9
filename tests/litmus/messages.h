/* litmus/messages.h - litmus programs of host programs. */
#ifndef WEFT_TESTS_MESSAGES_H
#define WEFT_TESTS_MESSAGES_H

#include <weft/weft.h>

/* 0: all was well. */
int litmus_messages(weft_job *job);
int litmus_near_ring(weft_job *job);
int litmus_shared(weft_job *job);
int litmus_tasks(weft_job *job);
int litmus_recorded(weft_job *job);
int litmus_ccl(weft_job *job);
int litmus_experts(weft_job *job);

#endif
