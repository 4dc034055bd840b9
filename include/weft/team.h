/*
 * weft/team.h - collectives of host programs, on the messages of a communicator. Included instead
 * of weft/message.h, or beside it.
 *
 * A team is a communicator of host programs whose messages all belong to its collectives. Every
 * member makes the same calls on it in the same order. A call returns when the collective is begun;
 * weft_team_test and weft_team_wait complete it; several may be under way. If op is NULL, the call
 * returns when the collective is complete. That is the fastest form for few bytes; all members use
 * it or none. If members' calls differ in kind, root, bytes or form, the job fails (MISMATCH). One
 * of the members says so in a later wait, or when the team is closed.
 *
 * Collectives move while the program computes, as messages do. The job's receive task drives them,
 * and so does every thread that waits for a message or a collective.
 *
 * Buffers are memory of the host or of the process's device. The program leaves them alone until
 * the collective is complete, and arrays of sizes and offsets until the call returns. Sizes and
 * offsets are in bytes. A source may be its target (in place) where the prototype says so;
 * otherwise they do not overlap. Results of reductions do not depend on who comes first. If the job
 * was opened MULTIPLE, any thread makes calls; one thread at a time uses a team.
 *
 * Errors of all calls that begin a collective: RANK (root), MEMORY, ARGUMENT (another device's
 * memory, or a GPU's in a job on the CPU device), and those of messages.
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
 * What a reduction does to elements: into[i] = from[i] op into[i], where `from` comes from lower
 * members than `into`. commutes: members may be combined in another order, which is always the
 * same. check: a number that the program chooses, the same at all members. in_calls: only threads
 * in a call of weft call combine; otherwise the receive task may call it at any time.
 */
typedef struct weft_combine {
    void (*combine)(const struct weft_combine *combine, const void *from, void *into, size_t count);
    size_t bytes; /* bytes of an element */
    int commutes, in_calls;
    uint32_t check;
    const void *type, *operation; /* for `combine` alone */
    int known; /* 1: elements are of type `element`, and combine does what `function` says */
    weft_type element;
    weft_operation function;
} weft_combine;

/*
 * Opens a team on a communicator of `members` members, of which this process is number `me`. name:
 * of the team, in messages to the user. names: of the collectives there, by enum weft_team_kind, or
 * NULL. Neither is copied. Until weft_team_close the communicator carries no other messages: they
 * would be taken for calls. Local, non-blocking. Freed by weft_team_close. Errors: MEMORY.
 */
WEFT_API weft_status weft_team_open(weft_job *job, weft_comm comm, int members, int me,
                                    const char *name, const char *const *names, weft_team **team);
/*
 * Closes the team; *team becomes NULL. Errors: MISMATCH: a collective's message is there that
 * belongs to no call of this process. STATE: a collective is under way, and the team stays.
 * weft_close ends collectives that are under way, and closes teams that are open.
 */
WEFT_API weft_status weft_team_close(weft_team **team);

/*
 * Sets a function that threads call while they wait in a collective; NULL: none. It returns after
 * how many seconds it is called again, and makes no call that blocks. It is for a library over this
 * one that has something to move. Called before threads wait, by any thread. Errors: those of the
 * job.
 */
WEFT_API weft_status weft_team_meanwhile(weft_job *job, double (*meanwhile)(void));

/*
 * Declares that this member's sources and targets of the team's reductions are memory of its GPU.
 * *taken is 1 if all members declare it and can; it holds until the next such call. Reductions
 * whose weft_combine is known are then kernels of weft/ccl.h, with its bits, except scans and
 * pieces of unlike sizes. They refuse memory of the host (ARGUMENT). The program completes them
 * before weft_close. If *taken is 0, nothing is declared any more. Members can if they are all
 * processes of the job in their order, 8 at most, and map each other's memory. One team of a job at
 * a time can.
 *
 * Collective over the team, blocking, while no kernel of the job runs and no collective of the team
 * is under way. declared: 0: this member does not declare it. Errors: MEMORY, LIMIT (WEFT_WINDOWS).
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

/* ---- reductions of count elements of each member, in place too ------------------------------- */

/* Reduces at target of the root. Other members' target is not used. */
WEFT_API weft_status weft_team_reduce(weft_team *team, int root, const void *source, void *target,
                                      size_t count, const weft_combine *combine, weft_team_op **op);
/* Reduces at target of all members. */
WEFT_API weft_status weft_team_allreduce(weft_team *team, const void *source, void *target,
                                         size_t count, const weft_combine *combine,
                                         weft_team_op **op);
/* Reduces counts[i] elements, in the order of members, at target of member i. */
WEFT_API weft_status weft_team_reduce_scatter(weft_team *team, const void *source, void *target,
                                              const size_t counts[], const weft_combine *combine,
                                              weft_team_op **op);
/*
 * Reduces the elements of members 0 to i at target of member i. If `before` is not 0: those of
 * members 0 to i - 1; member 0's target does not change.
 */
WEFT_API weft_status weft_team_scan(weft_team *team, int before, const void *source, void *target,
                                    size_t count, const weft_combine *combine, weft_team_op **op);

/* ---- pieces; with sizes: member i's piece has sizes[i] bytes, at offsets[i] ---------------- */

/*
 * Gathers each member's piece, in the order of members, at target of the root. source NULL there:
 * the root's piece is in place.
 */
WEFT_API weft_status weft_team_gather(weft_team *team, int root, const void *source, size_t bytes,
                                      void *target, weft_team_op **op);
WEFT_API weft_status weft_team_gather_sizes(weft_team *team, int root, const void *source,
                                            size_t bytes, void *target, const size_t sizes[],
                                            const size_t offsets[], weft_team_op **op);
/* Scatters the root's pieces in the order of members. target NULL there: its piece is in place. */
WEFT_API weft_status weft_team_scatter(weft_team *team, int root, const void *source, void *target,
                                       size_t bytes, weft_team_op **op);
WEFT_API weft_status weft_team_scatter_sizes(weft_team *team, int root, const void *source,
                                             const size_t sizes[], const size_t offsets[],
                                             void *target, size_t bytes, weft_team_op **op);
/* Gathers each member's piece at target of all. source NULL: the own piece is in place. */
WEFT_API weft_status weft_team_allgather(weft_team *team, const void *source, size_t bytes,
                                         void *target, weft_team_op **op);
WEFT_API weft_status weft_team_allgather_sizes(weft_team *team, const void *source, void *target,
                                               const size_t sizes[], const size_t offsets[],
                                               weft_team_op **op);
/*
 * Sends piece i of source to member i; member i's piece for this one arrives as piece i of target.
 */
WEFT_API weft_status weft_team_alltoall(weft_team *team, const void *source, void *target,
                                        size_t bytes, weft_team_op **op);

/* One piece of an exchange: bytes at data to or from a member. */
typedef struct weft_piece {
    void *data;
    size_t bytes;
    int member;
} weft_piece;
/*
 * Sends and receives pieces. The k-th piece that a member sends to another is the k-th that the
 * other receives from it, of equal size. kind: which name texts use.
 */
WEFT_API weft_status weft_team_exchange(weft_team *team, enum weft_team_kind kind,
                                        const weft_piece *sends, size_t sends_count,
                                        const weft_piece *receives, size_t receives_count,
                                        weft_team_op **op);

/* ---- completion ------------------------------------------------------------------------------ */

/*
 * Tests a collective: *done is 1 if it is complete, and *op then NULL; else 0. Moves all that is
 * under way. Non-blocking.
 */
WEFT_API weft_status weft_team_test(weft_team_op **op, int *done);
/* Blocks until it is complete; *op becomes NULL. */
WEFT_API weft_status weft_team_wait(weft_team_op **op);
/* Waits as weft_team_wait, for at most `seconds`. TIMEOUT: it goes on, and nothing is printed. */
WEFT_API weft_status weft_team_wait_for(weft_team_op **op, double seconds);

#ifdef __cplusplus
}
#endif
#endif
