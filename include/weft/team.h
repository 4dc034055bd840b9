/*
 * weft/team.h - collectives of host programs, on the messages of a communicator. Included instead
 * of weft/message.h, or beside it.
 *
 * A team is a communicator of host programs whose messages all belong to its collectives. Every
 * member makes the same calls on it in the same order. A call returns when the collective is begun;
 * weft_team_test and weft_team_wait complete it; several may be under way. With op NULL it returns
 * when the collective is complete: the quickest form for few bytes, which all members take then.
 * Members' calls may differ in what they are, in the root, in bytes or in the form. Then one of
 * them says so in a later wait or when the team is closed, and the job fails (MISMATCH).
 *
 * Collectives move while the program computes, as messages do: the receive task of the job drives
 * them, and so does every thread that waits for a message or a collective.
 *
 * Buffers are host memory, or any of the process's device, and the call's until the collective is
 * complete; arrays of sizes and offsets only until the call returns. Sizes and offsets are in
 * bytes. A source may be its target (in place) where the prototype says so; else they do not
 * overlap. Results of reductions do not depend on who comes first. Any thread, if the job was
 * opened MULTIPLE; the calls on one team are made by one thread at a time.
 *
 * Errors of all that begin: RANK (root), MEMORY, ARGUMENT (another device's memory, or a GPU's in a
 * job on the CPU device), and those of messages.
 */
#ifndef WEFT_TEAM_H
#define WEFT_TEAM_H

#include <weft/message.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_team weft_team;
typedef struct weft_team_op weft_team_op; /* a collective under way; NULL: none, or it is over */

/*
 * What a reduction does to elements: into[i] = from[i] op into[i], where `from` is of lower members
 * than `into`. commutes: the order of members does not matter, only that it is always the same.
 * check: a number of the program's choice, which all members give alike. in_calls: combine is only
 * called by threads that are in a call of weft; else the receive task may call it at any time.
 */
typedef struct weft_combine {
    void (*combine)(const struct weft_combine *combine, const void *from, void *into, size_t count);
    size_t bytes; /* of an element */
    int commutes, in_calls;
    uint32_t check;
    const void *type, *operation; /* of the program's own */
    int known; /* the elements are of a type of weft's, and combine does what `function` says */
    weft_type element;
    weft_operation function;
} weft_combine;

/*
 * The team of a communicator; `members` are in it, of which this process is number `me`. names:
 * what texts call the collectives, by enum weft_team_kind, or NULL; it and name are not copied.
 * Until weft_team_close the communicator carries no other messages: they would be taken for calls.
 * Local, non-blocking. Freed by weft_team_close. Errors: MEMORY.
 */
WEFT_API weft_status weft_team_open(weft_job *job, weft_comm comm, int members, int me,
                                    const char *name, const char *const *names, weft_team **team);
/*
 * Closes it; *team becomes NULL. Errors: MISMATCH: a message of a collective is there that no call
 * of this process has to do with; STATE: a collective is under way, and the team stays. weft_close
 * ends collectives that are under way, and closes teams that are open.
 */
WEFT_API weft_status weft_team_close(weft_team **team);

/*
 * A thread that waits in a collective calls meanwhile() then and now, again after so many seconds
 * as it returned: for a library over this one that has something to move. It makes no call that
 * blocks. NULL: nothing. Before threads wait; any thread. Errors: those of the job.
 */
WEFT_API weft_status weft_team_meanwhile(weft_job *job, double (*meanwhile)(void));

/*
 * Declares that what this member gives to reductions of the team, and gets, is memory of its
 * device, a GPU. *taken: 1: all members declare it, and all can. Until the next such call, those
 * whose weft_combine is known, but for scans and unlike pieces, are kernels of weft/ccl.h, with its
 * bits; they refuse memory of the host (ARGUMENT). The program completes them before weft_close.
 * *taken 0: nothing is declared any more. Members can if they are all processes of the job in their
 * order, 8 at most, and map each other's memory. One team of a job at a time has it.
 *
 * Collective over the team, blocking, while no kernel of the job runs and none of the team's
 * collectives is under way. declared: 0: this member does not. Errors: MEMORY, LIMIT
 * (WEFT_WINDOWS).
 */
WEFT_API weft_status weft_team_device(weft_team *team, int declared, int *taken);

enum weft_team_kind {
    WEFT_TEAM_BARRIER,
    WEFT_TEAM_BROADCAST,
    WEFT_TEAM_REDUCE,
    WEFT_TEAM_ALLREDUCE,
    WEFT_TEAM_REDUCE_SCATTER,
    WEFT_TEAM_SCAN,
    WEFT_TEAM_SCAN_BEFORE,
    WEFT_TEAM_GATHER,
    WEFT_TEAM_GATHER_SIZES,
    WEFT_TEAM_SCATTER,
    WEFT_TEAM_SCATTER_SIZES,
    WEFT_TEAM_ALLGATHER,
    WEFT_TEAM_ALLGATHER_SIZES,
    WEFT_TEAM_ALLTOALL,
    WEFT_TEAM_ALLTOALL_SIZES,
    WEFT_TEAM_EXCHANGE,
    WEFT_TEAM_KINDS
};

/* Complete when all have begun it. */
WEFT_API weft_status weft_team_barrier(weft_team *team, weft_team_op **op);
/* `bytes` at data of the root arrive at data of all others. */
WEFT_API weft_status weft_team_broadcast(weft_team *team, int root, void *data, size_t bytes,
                                         weft_team_op **op);

/* ---- reductions: count elements of each, put together one by one; in place --------------------
 */

/* At target of the root, which is not used elsewhere. */
WEFT_API weft_status weft_team_reduce(weft_team *team, int root, const void *source, void *target,
                                      size_t count, const weft_combine *combine, weft_team_op **op);
/* At target of all. */
WEFT_API weft_status weft_team_allreduce(weft_team *team, const void *source, void *target,
                                         size_t count, const weft_combine *combine,
                                         weft_team_op **op);
/* counts[i] of them, in the order of members, at target of member i. */
WEFT_API weft_status weft_team_reduce_scatter(weft_team *team, const void *source, void *target,
                                              const size_t counts[], const weft_combine *combine,
                                              weft_team_op **op);
/*
 * Member i gets those of members 0 to i; `before`: 0 to i - 1, and member 0's target stays as it
 * is.
 */
WEFT_API weft_status weft_team_scan(weft_team *team, int before, const void *source, void *target,
                                    size_t count, const weft_combine *combine, weft_team_op **op);

/* ---- pieces; with sizes: member i's has sizes[i] bytes, at offsets[i] --------------------------
 */

/* Each member's piece, in their order, at target of the root. source NULL there: it is in place. */
WEFT_API weft_status weft_team_gather(weft_team *team, int root, const void *source, size_t bytes,
                                      void *target, weft_team_op **op);
WEFT_API weft_status weft_team_gather_sizes(weft_team *team, int root, const void *source,
                                            size_t bytes, void *target, const size_t sizes[],
                                            const size_t offsets[], weft_team_op **op);
/* The reverse. target NULL at the root: its piece stays where it is. */
WEFT_API weft_status weft_team_scatter(weft_team *team, int root, const void *source, void *target,
                                       size_t bytes, weft_team_op **op);
WEFT_API weft_status weft_team_scatter_sizes(weft_team *team, int root, const void *source,
                                             const size_t sizes[], const size_t offsets[],
                                             void *target, size_t bytes, weft_team_op **op);
/* Each member's piece at target of all. source NULL: it is in place. */
WEFT_API weft_status weft_team_allgather(weft_team *team, const void *source, size_t bytes,
                                         void *target, weft_team_op **op);
WEFT_API weft_status weft_team_allgather_sizes(weft_team *team, const void *source, void *target,
                                               const size_t sizes[], const size_t offsets[],
                                               weft_team_op **op);
/* Piece i of source goes to member i, whose piece for this one arrives as piece i of target. */
WEFT_API weft_status weft_team_alltoall(weft_team *team, const void *source, void *target,
                                        size_t bytes, weft_team_op **op);

/* One piece of an exchange: bytes at data to or from a member. */
typedef struct weft_piece {
    void *data;
    size_t bytes;
    int member;
} weft_piece;
/*
 * Sends and receives pieces. Between two members those of equal number in their lists belong
 * together, and have equal sizes. kind: what texts call it.
 */
WEFT_API weft_status weft_team_exchange(weft_team *team, enum weft_team_kind kind,
                                        const weft_piece *sends, size_t sends_count,
                                        const weft_piece *receives, size_t receives_count,
                                        weft_team_op **op);

/* ---- completion -------------------------------------------------------------------------------
 */

/* *done: 1: it is complete, and *op NULL. Moves all that is under way. Non-blocking. */
WEFT_API weft_status weft_team_test(weft_team_op **op, int *done);
/* Blocks until it is complete; *op becomes NULL. */
WEFT_API weft_status weft_team_wait(weft_team_op **op);
/* The same for so many seconds at most: TIMEOUT: it goes on. No error is said. */
WEFT_API weft_status weft_team_wait_for(weft_team_op **op, double seconds);

#ifdef __cplusplus
}
#endif
#endif
