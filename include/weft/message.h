/*
 * weft/message.h - messages between host programs: sent by one, with a tag, and received by another
 * that names the sender, the tag, or neither. Included instead of weft.h, or beside it.
 *
 * comm: WEFT_COMM_HOST, a group of weft_host_split, or a group of weft_message_group_take; `to` and
 * `from` are members of it. tag: 0 .. WEFT_TAG_MOST; it has nothing to do with notification tags.
 * Calls are legal while a kernel runs, and made by any thread if the job was opened MULTIPLE. They
 * are not collective.
 *
 * Order: messages from one process to another in one communicator match in the order of the sends;
 * receives match in the order in which they were begun. A receive takes the first message that
 * fits, whatever its size and way. What several threads send has no order among them.
 *
 * Buffers: memory of the host or of this process's device, any mixture; other device memory is
 * refused (ARGUMENT). Device memory has no order with streams: the program synchronises what it
 * sends and where it receives. A send's buffer is the call's, to read, until the send is complete;
 * a receive's until the receive is. A buffer of 0 bytes may be NULL.
 *
 * Messages move while the program computes. A message that no receive fits is kept, up to
 * WEFT_MSG_UNEXPECTED bytes of all. Beyond that it stays at its sender, whose send is complete only
 * when it is received.
 *
 * On return of a completed receive the bytes are there for the calling thread, and so is all that
 * the sender did before it sent. Every call returns the job's error once the job has failed;
 * operations are then over, but what another process is putting into a receive's buffer over a
 * network may still come: such a buffer stays until weft_close has returned. weft_close waits for
 * no message: it says what was never received and what was never completed.
 */
#ifndef WEFT_MESSAGE_H
#define WEFT_MESSAGE_H

#include <weft/weft.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_ANY      (-1) /* of a receive or probe: from any member; with any tag */
#define WEFT_TAG_MOST 0x7fffffff

/* What was received, or is there. from: the member. bytes: those sent. */
typedef struct weft_message {
    int from, tag;
    size_t bytes;
    weft_status status; /* OK; BOUNDS: it did not fit, and only what fits is in the buffer */
} weft_message;

/*
 * One send or receive that may be under way still, or a matched message: by value, of this process
 * alone. All zero: there is none, or it is over; waiting for it returns at once with a message of 0
 * bytes from WEFT_ANY with tag WEFT_ANY. Whoever learns that it is complete ends it: the call sets
 * it to zero. One that was ended, in a copy, is recognised (ARGUMENT). Each holds memory
 * until it is ended.
 */
typedef struct weft_message_op {
    uint32_t index, generation;
} weft_message_op;
#define WEFT_MESSAGE_NONE ((weft_message_op){0, 0})

/* ---- send ------------------------------------------------------------------------------------ */

/*
 * Sends. Returns when the buffer may be reused: at once where the message is small and the receiver
 * has room, else when it is received. Blocking. Errors: COMM, RANK, TAG, ARGUMENT (NULL, another
 * device's memory), MEMORY.
 */
WEFT_API weft_status weft_host_send(weft_job *job, weft_comm comm, int to, int tag,
                                    const void *source, size_t bytes);
/* The same; returns only when a receive has matched it. */
WEFT_API weft_status weft_host_send_synchronous(weft_job *job, weft_comm comm, int to, int tag,
                                                const void *source, size_t bytes);
/*
 * The same, non-blocking: *op is complete when the blocking call would return; zero: it is already.
 * Errors as above; with an error nothing is begun.
 */
WEFT_API weft_status weft_host_send_begin(weft_job *job, weft_comm comm, int to, int tag,
                                          const void *source, size_t bytes, weft_message_op *op);
WEFT_API weft_status weft_host_send_synchronous_begin(weft_job *job, weft_comm comm, int to,
                                                      int tag, const void *source, size_t bytes,
                                                      weft_message_op *op);

/* ---- receive --------------------------------------------------------------------------------- */

/*
 * Receives up to `most` bytes from a member or WEFT_ANY, with a tag or WEFT_ANY. Blocking. message
 * may be NULL. Errors: as of a send; BOUNDS: the message is longer, *message is set, and the job
 * goes on.
 */
WEFT_API weft_status weft_host_receive(weft_job *job, weft_comm comm, int from, int tag,
                                       void *target, size_t most, weft_message *message);
/* Non-blocking. *op is never zero. */
WEFT_API weft_status weft_host_receive_begin(weft_job *job, weft_comm comm, int from, int tag,
                                             void *target, size_t most, weft_message_op *op);

/* ---- completion ------------------------------------------------------------------------------ */
/*
 * message, where it is given, may be NULL; of a send its status alone says something, and its tag
 * where it is WEFT_ANY: the send was taken back. The status of the message is also returned: BOUNDS
 * of a receive, else OK. Errors: ARGUMENT: no operation of this process, or it was ended, or it is
 * a matched message.
 */

/* Blocks until the operation is complete, and ends it. */
WEFT_API weft_status weft_host_message_wait(weft_job *job, weft_message_op *op,
                                            weft_message *message);
/*
 * The same for so many seconds at most: TIMEOUT: it goes on, and so does the job; no error is said.
 * 0 or less: looks once. WEFT_TIMEOUT_S holds for this wait, too.
 */
WEFT_API weft_status weft_host_message_wait_for(weft_job *job, weft_message_op *op, double seconds,
                                                weft_message *message);
/* *done: 1: it is complete, and ended; 0: it is not, and *message is not set. Non-blocking. */
WEFT_API weft_status weft_host_message_test(weft_job *job, weft_message_op *op, int *done,
                                            weft_message *message);
/* The same, and does not end it. */
WEFT_API weft_status weft_host_message_look(weft_job *job, weft_message_op op, int *done,
                                            weft_message *message);

/*
 * Blocks until all `count` operations are complete, and ends them. messages: NULL, or one for each.
 * Returns the first status that is not OK; the others are ended all the same.
 */
WEFT_API weft_status weft_host_message_wait_all(weft_job *job, weft_message_op *ops, size_t count,
                                                weft_message *messages);
/*
 * Blocks until one of them is complete, and ends that one: *index. Those that are zero do not
 * count; *index is -1 where all are.
 */
WEFT_API weft_status weft_host_message_wait_any(weft_job *job, weft_message_op *ops, size_t count,
                                                int *index, weft_message *message);

/*
 * Takes back a receive that no message has matched, or a send that no receive has. *cancelled: 1:
 * it is over, and *op zero; 0: it goes on. The tasks of the receiver are asked for a message that
 * is there: its send is soon complete, as taken back or as received. A message that a matched probe
 * has taken stays. Non-blocking.
 */
WEFT_API weft_status weft_host_message_cancel(weft_job *job, weft_message_op *op, int *cancelled);

/* ---- probe ----------------------------------------------------------------------------------- */

/*
 * Whether a message is there that a receive would take. *there: 1: *message (may be NULL) tells of
 * it; 0: there is none. It stays where it is. Non-blocking. Errors: COMM, RANK, TAG.
 */
WEFT_API weft_status weft_host_probe(weft_job *job, weft_comm comm, int from, int tag, int *there,
                                     weft_message *message);
/* Blocks until there is one. */
WEFT_API weft_status weft_host_probe_wait(weft_job *job, weft_comm comm, int from, int tag,
                                          weft_message *message);
/*
 * The same two, and take the message out of matching: *matched stands for it, which no other
 * receive finds, until one of the calls below has received it.
 */
WEFT_API weft_status weft_host_probe_match(weft_job *job, weft_comm comm, int from, int tag,
                                           int *there, weft_message_op *matched,
                                           weft_message *message);
WEFT_API weft_status weft_host_probe_match_wait(weft_job *job, weft_comm comm, int from, int tag,
                                                weft_message_op *matched, weft_message *message);
/*
 * Receives a matched message, as weft_host_receive and _begin. *matched becomes zero. Errors:
 * ARGUMENT: it stands for no message.
 */
WEFT_API weft_status weft_host_receive_matched(weft_job *job, weft_message_op *matched,
                                               void *target, size_t most, weft_message *message);
WEFT_API weft_status weft_host_receive_matched_begin(weft_job *job, weft_message_op *matched,
                                                     void *target, size_t most,
                                                     weft_message_op *op);

/*
 * Whether the host program can read and write at `memory` itself: it is not memory of a GPU alone.
 * Any thread, non-blocking.
 */
WEFT_API int weft_host_reaches(const weft_job *job, const void *memory);

/* ---- groups that a front end numbers --------------------------------------------------------- */
/*
 * A library over this one that agrees on groups by messages of its own (communicators of MPI) gives
 * them numbers itself. Such a group serves messages alone, until it is given back or the job ends.
 */
#define WEFT_MESSAGE_GROUPS 65536 /* numbers are 0 .. WEFT_MESSAGE_GROUPS - 1 */

/*
 * The group with that number whose member i is process processes[i]: the same on all members, of
 * which this process is one. Messages of others that are there already belong to it. No two groups
 * of a process have one number at a time; groups without a common process may. Local, non-blocking.
 * Errors: ARGUMENT (number, no member, a process twice), RANK, STATE (the number is in use),
 * MEMORY.
 */
WEFT_API weft_status weft_message_group_take(weft_job *job, uint32_t number, const int *processes,
                                             int members, weft_comm *group);
/*
 * The number is free again. Members see to it that no message of it is under way. *group becomes
 * WEFT_COMM_NONE. Errors: COMM; STATE: a receive or message is left, which is said.
 */
WEFT_API weft_status weft_message_group_give(weft_job *job, weft_comm *group);

#ifdef __cplusplus
}
#endif
#endif
