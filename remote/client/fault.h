/*
 * remote/client/fault.h - who hears when a thread of the program touches memory that is closed to
 * it (SIGSEGV): a task, on its own stack and without the thread's locks.
 */
#ifndef WEFT_REMOTE_CLIENT_FAULT_H
#define WEFT_REMOTE_CLIENT_FAULT_H

#include <stdbool.h>
#include <stdint.h>

struct client_fault {
    uint64_t address;
    bool writes, in_callback; /* in_callback: of a stream, which counts as idle */
    uint32_t answer;          /* 0: not yet */
};
enum client_fault_answer {
    CLIENT_FAULT_OPENED = 1, /* the access is made again */
    CLIENT_FAULT_STRANGE,    /* the program's own handler hears of it */
    CLIENT_FAULT_LOST        /* SIGBUS */
};

/* Starts the task, which calls `answer` for each fault. Once, until it is closed. False: said. */
bool client_faults_open(enum client_fault_answer (*answer)(const struct client_fault *fault));
/* The handler is there, also where the program has put its own in its place. */
void client_faults_watch(void);
void client_faults_close(void);

#endif
