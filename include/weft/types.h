/*
 * weft/types.h - ranks, handles and statuses, shared by the host API (weft.h) and the
 * device API (device.h). Compiles alone, as C17 and as CUDA C.
 */
#ifndef WEFT_TYPES_H
#define WEFT_TYPES_H

#if !defined(__cplusplus) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 201112L)
#error "weft's headers need C11 or later, or C++11"
#endif

#include <stddef.h>
#include <stdint.h>

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 2
#define WEFT_VERSION_PATCH 0

/* What the shared library exports: all that these headers declare, and nothing else. */
#define WEFT_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* Every status: name, text. One list gives the enum, weft_status_name() and weft_status_text(). */
#define WEFT_STATUS_MAP(X)                                                                         \
    X(OK, "success")                                                                               \
    X(ERR_ARGUMENT, "bad argument")                                                                \
    X(ERR_CONFIG, "bad configuration")                                                             \
    X(ERR_MEMORY, "out of memory")                                                                 \
    X(ERR_SYSTEM, "a system call failed")                                                          \
    X(ERR_STATE, "call made at the wrong time")                                                    \
    X(ERR_RANK, "no such rank in the communicator")                                                \
    X(ERR_TAG, "tag outside 0..255")                                                               \
    X(ERR_BOUNDS, "access outside the target's window")                                            \
    X(ERR_WINDOW, "no such window, or it was freed")                                               \
    X(ERR_COMM, "no such communicator, or it was freed")                                           \
    X(ERR_MISMATCH, "ranks disagree about a collective call")                                      \
    X(ERR_LIMIT, "a configured limit was reached")                                                 \
    X(ERR_RACE, "unordered accesses to the same memory")                                           \
    X(ERR_TIMEOUT, "a wait took longer than WEFT_TIMEOUT_S")                                       \
    X(ERR_DEADLOCK, "every rank waits and nothing is under way")                                   \
    X(ERR_PEER_LOST, "a process of the job was lost")                                              \
    X(ERR_PROTOCOL, "malformed data from another process")                                         \
    X(ERR_NETWORK, "the network reported an error")                                                \
    X(ERR_DEVICE, "the device reported an error")                                                  \
    X(ERR_UNSUPPORTED, "not supported here")                                                       \
    X(ERR_USER, "stopped by the program")

typedef enum weft_status {
#define WEFT_STATUS_ENUM(name, text) WEFT_##name,
    WEFT_STATUS_MAP(WEFT_STATUS_ENUM)
#undef WEFT_STATUS_ENUM
        WEFT_STATUS_COUNT
} weft_status;

/* "WEFT_ERR_BOUNDS" and "access outside the target's window". Any thread; never NULL. */
WEFT_API const char *weft_status_name(weft_status status);
WEFT_API const char *weft_status_text(weft_status status);

typedef struct weft_job weft_job; /* what weft_open opens */

/*
 * A communicator. Handles are values, the same on all members. They carry a generation: a freed
 * handle is recognised. A rank, tag or window passed as a communicator is refused, since no
 * communicator has such a number. WORLD: every rank of the job. DEVICE: the ranks of the caller's
 * device. HOST: one member a process, the host program. Kernels send to it and use its windows, but
 * are no members.
 */
typedef uint32_t weft_comm;
#define WEFT_COMM_NONE   ((weft_comm)0)
#define WEFT_COMM_WORLD  ((weft_comm)0x40000001)
#define WEFT_COMM_DEVICE ((weft_comm)0x40000002)
#define WEFT_COMM_HOST   ((weft_comm)0x40000003)

/* A window: memory that each rank of a communicator exposes to the others. */
typedef uint32_t weft_win;
#define WEFT_WIN_NONE ((weft_win)0)

/* One of several puts with a notification (weft_put_notify_many): its arguments. */
typedef struct weft_put_item {
    const void *source;
    size_t bytes, offset; /* bytes to put; offset in the target's window, in bytes */
    int target, tag;
} weft_put_item;

/* One of several pieces of a put (weft_put_list_notify). */
typedef struct weft_put_piece {
    const void *source;
    size_t bytes, offset; /* bytes to put; offset in the target's window, in bytes */
} weft_put_piece;

/*
 * A box of a put (weft_put_3d), in bytes: `depth` planes of `height` rows of `width` bytes. It
 * begins at source and at offset of the target's window. Rows are `pitch` apart there, planes
 * `plane`; in the source source_pitch and source_plane.
 */
typedef struct weft_put_box {
    const void *source;
    size_t offset, width, height, depth;
    size_t pitch, plane, source_pitch, source_plane;
} weft_put_box;

#define WEFT_TAGS 256 /* tags are 0 .. WEFT_TAGS - 1 */

/*
 * An operation of one rank or host program, which may be under way. It is a value: nothing has to
 * be freed or waited for. All zero: done.
 */
typedef struct weft_op {
    uint64_t sequence;
    int32_t process;
    uint32_t kind;
} weft_op;

/*
 * How far an operation has come. LOCAL: its buffer may be reused; what it fetches is there. REMOTE:
 * what it changes is visible at the target.
 */
typedef enum weft_progress { WEFT_LOCAL = 1, WEFT_REMOTE = 2 } weft_progress;

/*
 * The types and operations of accumulates and collectives. Sums and products of integers wrap. MIN
 * and MAX of reals prefer any number to a NaN; zeros of both signs are equal, and the word stays.
 * AND, OR and XOR are for integers; REPLACE is for accumulates alone. F16 (IEEE's), BF16 and U8:
 * only weft/ccl.h takes them, and the first two weft_accumulate_half_begin and the accumulates of
 * host programs.
 */
typedef enum weft_type {
    WEFT_I32,
    WEFT_U32,
    WEFT_I64,
    WEFT_U64,
    WEFT_F32,
    WEFT_F64,
    WEFT_F16,
    WEFT_BF16,
    WEFT_U8
} weft_type;
typedef enum weft_operation {
    WEFT_SUM,
    WEFT_MIN,
    WEFT_MAX,
    WEFT_AND,
    WEFT_OR,
    WEFT_XOR,
    WEFT_PROD,
    WEFT_REPLACE = 8
} weft_operation;

/* What a process drives. NONE: there is no such process. */
typedef enum weft_kind { WEFT_KIND_NONE, WEFT_KIND_CPU, WEFT_KIND_CUDA } weft_kind;

/* How weft_wait_until compares the value in memory (left) with the one given (right). */
typedef enum weft_compare { WEFT_EQ, WEFT_NE, WEFT_GT, WEFT_GE, WEFT_LT, WEFT_LE } weft_compare;

#ifdef __cplusplus
}
#endif
#endif
