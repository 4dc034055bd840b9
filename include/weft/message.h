/*
 * weft/message.h - messages between host programs. A send has a tag; a receive names the sender,
 * the tag, both or neither. Included instead of weft.h, or beside it.
 *
 * comm: WEFT_COMM_HOST, a group of weft_host_split, or a group of weft_message_group_take; `to` and
 * `from` are members of it. tag: 0 .. WEFT_TAG_MOST; it has nothing to do with notification tags.
 * Calls are legal while a kernel runs, and are not collective. If the job was opened MULTIPLE, any
 * thread makes them.
 *
 * Order: messages from one process to another in one communicator match in the order of the sends.
 * Receives match in the order in which they were begun. A receive takes the first message that
 * fits, whatever its size and path. What several threads send has no order among them.
 *
 * Buffers: memory of the host or of this process's device, in any mixture; other device memory is
 * refused (ARGUMENT). Device memory has no order with streams: the program synchronises what it
 * sends and where it receives. The program does not change a send's buffer until the send is
 * complete, and does not touch a receive's buffer until the receive is. A buffer of 0 bytes may be
 * NULL.
 *
 * Messages move while the program computes. A message that no receive fits is kept, up to
 * WEFT_MSG_UNEXPECTED bytes of all messages. Beyond that a message stays at its sender, whose send
 * is complete only when it is received.
 *
 * When a receive is complete, the calling thread sees the bytes, and all that the sender did before
 * it sent. Once the job has failed, every call returns the job's error and operations are over.
 * Another process's data may still arrive in a receive's buffer: by a network until weft_close has
 * returned, on one host from its sender until that has ended. weft_close does not wait for
 * messages. It reports those that were never received and operations that were never completed.
 */
#ifndef WEFT_MESSAGE_H
#define WEFT_MESSAGE_H

#include <weft/weft.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_ANY      (-1) /* of a receive or probe: from any member; with any tag */
#define WEFT_TAG_MOST 0x7fffffff

/* A message that was received or found. from: the member that sent it. bytes: those sent. */
typedef struct weft_message {
    int from, tag;
    size_t bytes;
    weft_status status; /* OK; BOUNDS: the message is longer than the buffer, which is full */
} weft_message;

/*
 * A send or receive that may be under way, or a matched message. It is a value, of this process
 * alone. All zero: there is none, or it is over. Waiting for it returns at once, with a message of
 * 0 bytes from WEFT_ANY with tag WEFT_ANY. The call that learns that an operation is complete ends
 * it, and sets it to zero. A copy of an ended one is recognised (ARGUMENT). Each holds memory until
 * it is ended.
 */
typedef struct weft_message_op {
    uint32_t index, generation;
} weft_message_op;
#define WEFT_MESSAGE_NONE ((weft_message_op){0, 0})

/* ---- send ------------------------------------------------------------------------------------ */

/*
 * Sends. Blocking. Returns when the buffer may be reused: at once if the message is small and the
 * receiver has room, otherwise when it is received. Out of device memory that the receiver maps,
 * more than 40 bytes are not small. Errors: COMM, RANK, TAG, ARGUMENT (NULL, another device's
 * memory), MEMORY.
 */
WEFT_API weft_status weft_host_send(weft_job *job, weft_comm comm, int to, int tag,
                                    const void *source, size_t bytes);
/* Sends as weft_host_send, but returns only when a receive has matched the message. */
WEFT_API weft_status weft_host_send_synchronous(weft_job *job, weft_comm comm, int to, int tag,
                                                const void *source, size_t bytes);
/*
 * Begin a send, non-blocking: *op is complete when the blocking call would return. It is zero if
 * that is already so. Errors as of weft_host_send; after an error nothing was begun.
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
/* Begins a receive as weft_host_receive, non-blocking. *op is never zero. */
WEFT_API weft_status weft_host_receive_begin(weft_job *job, weft_comm comm, int from, int tag,
                                             void *target, size_t most, weft_message_op *op);

/* ---- completion ------------------------------------------------------------------------------ */
/*
 * message may be NULL. Of a send's message only the status counts, and the tag if it is WEFT_ANY:
 * the send was cancelled. The status of the message is also returned: BOUNDS of a receive, else OK.
 * Errors: ARGUMENT: no operation of this process, an ended one, or a matched message.
 */

/* Blocks until the operation is complete, and ends it. */
WEFT_API weft_status weft_host_message_wait(weft_job *job, weft_message_op *op,
                                            weft_message *message);
/*
 * Waits as weft_host_message_wait, for at most `seconds`. TIMEOUT: the operation and the job go on,
 * and nothing is printed. 0 or less: looks once. WEFT_TIMEOUT_S holds for this wait, too.
 */
WEFT_API weft_status weft_host_message_wait_for(weft_job *job, weft_message_op *op, double seconds,
                                                weft_message *message);
/*
 * Tests an operation. *done is 1 if it is complete, and now ended; else 0, and *message is not set.
 * Non-blocking.
 */
WEFT_API weft_status weft_host_message_test(weft_job *job, weft_message_op *op, int *done,
                                            weft_message *message);
/* Tests as weft_host_message_test, but does not end the operation. */
WEFT_API weft_status weft_host_message_look(weft_job *job, weft_message_op op, int *done,
                                            weft_message *message);

/*
 * Blocks until all `count` operations are complete, and ends them. messages: NULL, or an array of
 * `count`. Returns the first status that is not OK; the others are ended all the same.
 */
WEFT_API weft_status weft_host_message_wait_all(weft_job *job, weft_message_op *ops, size_t count,
                                                weft_message *messages);
/*
 * Blocks until one of them is complete, and ends it; *index says which. Zero operations do not
 * count; if all are zero, *index is -1.
 */
WEFT_API weft_status weft_host_message_wait_any(weft_job *job, weft_message_op *ops, size_t count,
                                                int *index, weft_message *message);

/*
 * Cancels a receive that no message has matched, or a send that no receive has matched. *cancelled
 * is 1 if the operation is over, and *op zero; else 0: it goes on. A message that has already left
 * is cancelled by the receiver's tasks: its send is soon complete, as cancelled or as received. A
 * message that a matched probe has taken is not cancelled. Non-blocking.
 */
WEFT_API weft_status weft_host_message_cancel(weft_job *job, weft_message_op *op, int *cancelled);

/* ---- probe ----------------------------------------------------------------------------------- */

/*
 * Says whether a message is there that a receive would take. *there is 1 if so, and *message (may
 * be NULL) describes it; else 0. The message stays where it is. Non-blocking. Errors: COMM, RANK,
 * TAG.
 */
WEFT_API weft_status weft_host_probe(weft_job *job, weft_comm comm, int from, int tag, int *there,
                                     weft_message *message);
/* Blocks until a message is there that a receive would take. */
WEFT_API weft_status weft_host_probe_wait(weft_job *job, weft_comm comm, int from, int tag,
                                          weft_message *message);
/*
 * Probe as weft_host_probe and weft_host_probe_wait, and take the message out of matching. *matched
 * stands for the message, which no other receive finds. weft_host_receive_matched receives it.
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
 * Says whether the host program can itself read and write at `memory`: it is not memory of a GPU
 * alone. Any thread, non-blocking.
 */
WEFT_API int weft_host_reaches(const weft_job *job, const void *memory);

/* ---- groups that a front end numbers --------------------------------------------------------- */
/*
 * These calls are for a library over this one that agrees on groups by its own messages, such as
 * communicators of MPI. It numbers such groups itself. They serve messages alone, until they are
 * given back or the job ends. Allocations of weft/pgas.h take one for each group that makes some,
 * of the highest 2 * WEFT_COMMS + 1.
 */
#define WEFT_MESSAGE_GROUPS 65536 /* numbers are 0 .. WEFT_MESSAGE_GROUPS - 1 */

/*
 * Makes the group with that number, whose member i is process processes[i]. All members give the
 * same; this process is one of them. Messages of other members that are already there belong to it.
 * No two groups of a process have one number at a time; groups without a common process may. Local,
 * non-blocking. Errors: ARGUMENT (number, not a member, a process twice), RANK, STATE (the number
 * is in use), MEMORY.
 */
WEFT_API weft_status weft_message_group_take(weft_job *job, uint32_t number, const int *processes,
                                             int members, weft_comm *group);
/*
 * Frees the group and its number; *group becomes WEFT_COMM_NONE. Members ensure that no message of
 * it is under way. Errors: COMM; STATE: a receive or message is left, which is printed.
 */
WEFT_API weft_status weft_message_group_give(weft_job *job, weft_comm *group);

#ifdef __cplusplus
}
#endif
#endif
