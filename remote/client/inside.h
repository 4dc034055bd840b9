/*
 * remote/client/inside.h - what the parts of the client share.
 *
 * All of it is under one lock, but for the memory of copies that were given to the network. Who
 * waits drives the network; a task does when nobody waits. Another one runs callbacks.
 */
#ifndef WEFT_REMOTE_CLIENT_INSIDE_H
#define WEFT_REMOTE_CLIENT_INSIDE_H

#include "base/task.h"
#include "remote/client/client.h"
#include "remote/copy/source.h"
#include "remote/table/ranges.h"
#include "remote/wire/calls.h"

#include <sys/queue.h>

enum { CLIENT_LANES = 64, CLIENT_DEVICES = WEFT_KNOWN_MOST, CLIENT_UNPRINTED = 1 << 30 };

/* What a device is to another one, as bits. */
enum client_peer {
    CLIENT_REACHES = 1, /* of another server: it has mapped memory of that one */
    CLIENT_APART = 2,   /* of another server: it could not map memory of that one */
    CLIENT_ENABLED = 4  /* the program's kernels may use memory of that one */
};

struct client_device {
    struct weft_known known;
    uint64_t base, span;        /* addresses of its memory */
    uint64_t key;               /* network key of its memory */
    struct weft_ranges blocks;  /* its allocations */
    struct weft_ranges globals; /* variables of the program there */
    struct weft_ranges reached; /* slabs of other servers that it reaches; under `reaching` */
    unsigned char peers[CLIENT_DEVICES]; /* enum client_peer, by client.device; under `reaching` */
    CUstream paging;                     /* in which managed memory is copied; NULL: not yet */
    uint64_t given, done; /* records given; of these, known to be done by its default stream */
    bool works;           /* it was given work since there is managed memory */
};

struct client_server {
    const char *name;
    int first, devices; /* index of its first one in client.device; how many it has */
};

/* A call whose thread waits. */
struct client_call {
    bool done;
    CUresult result;
    uint64_t words[WEFT_WORDS_MOST];
    uint32_t count;
    void *extra; /* memory of the caller's, of `room` bytes */
    uint32_t room, got;
};

/* Something with a number, until a session says FREE. */
struct client_copy {
    bool used;
    bool called, ran;      /* its turn has come; of a callback: it has run */
    struct weft_send send; /* bytes 0: no copy from this process */
    CUhostFn run;
    void *argument;
    int process;                       /* of a callback: the session that waits for it */
    struct weft_client_region *region; /* registered for this copy alone */
};

/* Host memory that sessions may put into. */
struct weft_client_region {
    struct weft_client_region *next;
    unsigned char *base;
    size_t bytes;
    uint64_t key;
    unsigned flags;
    bool ours, pinned; /* allocated here; known to the program as pinned */
    bool shared;       /* all sessions have mapped it */
};

/* A library on each server, a kernel on each device. */
struct client_library {
    const void *image;
    uint64_t bytes;
    uint64_t handles[WEFT_LINK_PROCESSES];
};
struct client_kernel {
    struct client_library *library;
    struct client_function {
        uint64_t handle;     /* the session's; 0: not asked for yet */
        int threads, shared; /* of a launch, at most: threads of a block; bytes of dynamic memory */
    } on[CLIENT_DEVICES];    /* by device */
    uint32_t count, bytes;   /* number of parameters; bytes of all */
    struct weft_parameter *parameters;
    char name[];
};

/* What kernels have printed. */
struct client_output {
    STAILQ_ENTRY(client_output) link;
    bool error; /* to stderr */
    uint32_t bytes;
    char text[];
};

struct weft_client {
    struct weft_lock lock;
    bool open;        /* calls are taken */
    bool left;        /* the network is closed, or about to be */
    bool closing;     /* the tasks are to end */
    bool running;     /* a callback runs */
    unsigned napping; /* threads that use the network's bell */
    unsigned waiting; /* threads that drive the network, since they wait for answers */
    bool manages;     /* there is, or was, managed memory */
    bool explained;   /* what a kernel's illegal address may be was said */
    bool direct;      /* servers of a host copy by their driver (WEFT_REMOTE_PIPE=direct) */
    CUresult late;    /* error of a call that nobody waited for (client_tell) */
    uint32_t forks;   /* weft_forks (base/fork.h) when it was opened */
    struct weft_record_links links;
    struct client_server server[WEFT_LINK_PROCESSES]; /* by process */
    struct client_device device[CLIENT_DEVICES];      /* all that the servers have */
    int met;                                          /* how many of `device` there are */
    struct weft_known_list known;                     /* devices that the program sees */
    struct client_call *lanes[CLIENT_LANES];          /* 0 is nobody's */
    struct client_copy copies[WEFT_COPIES];
    uint32_t next_copy;
    uint32_t writers; /* callbacks and copies to host memory that are under way */
    uint32_t readers; /* copies from host memory */
    struct weft_sources sources;
    struct weft_plan plan; /* of copies between processes */
    struct weft_client_region *regions;
    STAILQ_HEAD(, client_output) output; /* what kernels wrote, to be printed */
    struct weft_lock printing, reaching; /* taken before `lock` */
    uint64_t unprinted;                  /* bytes in `output` */
    uint16_t calling[WEFT_COPIES];       /* callbacks whose turn it is, a ring */
    uint32_t first_calling, last_calling;
    struct weft_bell callbacks;
    struct weft_task service, caller;
};

extern struct weft_client client;

/* ---- call.c. Without the lock; they take it. */
struct client_device *client_now(void); /* NULL: no context is current */
/* Makes a call, and waits for the answer; answer NULL: only its error counts. Returns its error. */
CUresult client_call(const struct client_device *device, enum weft_call call, const uint64_t *words,
                     uint32_t count, const void *extra, uint32_t bytes, struct client_call *answer);
/* Returns what the program hears: of a good result, the error of a call without a wait, once. */
CUresult client_tell(CUresult result);
/* Makes a call without waiting for its end; it may wait for room. */
CUresult client_post(const struct client_device *device, enum weft_call call, const uint64_t *words,
                     uint32_t count, const void *extra, uint32_t bytes);
/* The same calls with words alone: CLIENT_CALL(device, name, answer, words...), CLIENT_POST. */
#define CLIENT_WORDS(...)                                                                          \
    (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t)
#define CLIENT_CALL(device, name, answer, ...)                                                     \
    client_call(device, WEFT_CALL_##name, CLIENT_WORDS(__VA_ARGS__), NULL, 0, answer)
#define CLIENT_POST(device, name, ...)                                                             \
    client_post(device, WEFT_CALL_##name, CLIENT_WORDS(__VA_ARGS__), NULL, 0)
/* Turns a handle into a word. */
#define WORD(value) ((uint64_t)(uintptr_t)(value))
/* The calling thread moves managed memory (managed.c): it prints nothing of kernels. */
extern _Thread_local bool client_has_turn;
/* Prints what kernels have printed, in the order of the answers. */
void client_print(void);
/* Waits for what a stream of a device has been given so far; NULL: its default stream, which is not
 * asked where the device was given nothing since. */
CUresult client_synchronize(struct client_device *device, CUstream stream);
/* Drives the network, and gives the lock, which is held, up for a while: others have their turn.
 * False: the job has failed. */
bool client_take_turns(void);
/* Drives the network; then sleeps until something comes, for `longest` ns at most. Takes the
 * lock. */
void client_nap(uint64_t longest);
/* Ends the calls that wait for an answer, with this result. Lock held. */
void client_fail_waiting(CUresult result);

/* ---- tasks.c */
/* Takes a number for a copy, waiting for one. Errors: DEVICE_UNAVAILABLE. */
CUresult client_number(const struct client_copy *copy, uint32_t *number);
void client_start_tasks(void);
/* Ends the tasks, once all records are away, or two seconds have passed. From then on nobody but
 * the caller touches the network. */
void client_stop_tasks(void);
weft_status client_copy_notice(void *context, int process, enum weft_copy_step step,
                               uint32_t number);

/* ---- routes: which device a call is for */
struct client_route {
    struct client_device *device;
    bool fixed; /* a handle has named the device */
};
/* Finds a stream's route: its own device's, the current one's for a default stream. */
CUresult client_route_stream(struct client_route *route, CUstream stream);
struct client_device *client_device_of(CUarray array); /* NULL: it is none */

/* ---- memory.c */
/* Where a range of addresses lies. */
enum client_place {
    CLIENT_HOST,   /* in memory of the program, as far as anybody knows */
    CLIENT_ARENA,  /* all of it in one allocation of a device */
    CLIENT_GLOBAL, /* all of it in a variable of a device */
    CLIENT_NOWHERE /* among a device's addresses, but not in an allocation */
};
static inline bool client_on_device(enum client_place place)
{
    return place == CLIENT_ARENA || place == CLIENT_GLOBAL;
}
enum client_place client_find(uint64_t address, uint64_t bytes, struct client_device **device);
/* Finds the region in which all of the memory lies; NULL: none. Lock held. */
struct weft_client_region *client_region_at(const void *memory, size_t bytes);
/* Whether all of the memory is pinned, and *region in which it lies. Takes the lock. */
bool client_pinned(const void *memory, size_t bytes, struct weft_client_region *region);
/* Registers memory with the network. NULL: no memory for that. Takes the lock. */
struct weft_client_region *client_region_add(struct weft_client_region region);
void client_region_drop(struct weft_client_region *region); /* lock held */
/* Reserves addresses for every device, here and at its session. */
weft_status client_open_memory(void);
CUresult client_alloc_on(struct client_device *device, CUdeviceptr *address, size_t bytes);
/* Frees memory that the program has not had. Returns only its own error (see client_tell). */
CUresult client_free_own(CUdeviceptr address);
/* Forgets all allocations of a device, which is reset. */
void client_forget_memory(struct client_device *device);
/* Returns the device among whose addresses this one is; NULL: none. A signal handler may ask,
 * too. */
struct client_device *client_device_around(uint64_t address);

/* ---- reach.c. Without the lock. */
/*
 * Whether a device can use memory of another server's device itself, in its streams. Waits for both
 * servers where a part of it is not mapped there yet. False: the way over the host is left, now or
 * for good.
 */
bool client_reaches(struct client_device *device, const struct client_device *far, uint64_t address,
                    uint64_t bytes);
/* Has devices let go memory in which no allocation of its device lies any more, before the server
 * gives it back. */
void client_reach_no_more(const struct client_device *far, uint64_t address, uint64_t bytes);
/* Whether kernels of a device can reach the other's memory. Two servers are asked, once: that makes
 * contexts of both devices. */
bool client_can_reach(const struct weft_known *device, const struct weft_known *peer);
/* Does cuCtxEnablePeerAccess (on), or cuCtxDisablePeerAccess. */
CUresult client_let(struct client_device *device, struct client_device *peer, bool on);
/* Has new memory of a device mapped where it is enabled. Errors: those of the servers. */
CUresult client_reach_new(const struct client_device *far, uint64_t address, uint64_t bytes);
/* Waits for devices whose kernels may use memory of `far`. Errors: of what they were given. */
CUresult client_peers_wait(const struct client_device *far);
/* Takes note that a device is reset: it reaches nothing, and nothing is enabled for it. */
void client_reach_reset(struct client_device *device);

/* ---- fault.c: a thread has touched memory that is closed to it. */
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
/* Installs the fault handler, also where the program has put its own in its place. */
void client_faults_watch(void);
void client_faults_close(void);

/* ---- managed.c. Without the lock. */
/* Allocates managed memory of the current device. flags: of mapped host memory; 0: managed. */
CUresult client_managed_alloc(CUdeviceptr *address, size_t bytes, unsigned flags);
/* Ends the managed block that begins at an address, once devices are idle, and returns the
 * allocation around it, to be freed. None begins there: returns the address itself. */
CUdeviceptr client_managed_end(CUdeviceptr address, bool mapped);
bool client_managed_at(uint64_t address, unsigned *flags);
/* Posts work, or (answer) calls it, that may use any memory that the device reaches. */
CUresult client_work(struct client_device *device, enum weft_call call, const uint64_t *words,
                     uint32_t count, const void *extra, uint32_t bytes, struct client_call *answer);
/* client_give comes before a copy or a fill; client_given once it is given. */
CUresult client_give(struct client_device *device, uint64_t to, uint64_t from);
void client_given(void);
void client_managed_close(void);                              /* a callback has touched some */
void client_managed_idle(const struct client_device *device); /* it was waited for */
void client_managed_forget(struct client_device *home);       /* it is reset */
void client_managed_stop(void);

/* ---- copy.c */
CUresult client_copy_plain(uint64_t to, uint64_t from, uint64_t bytes, CUstream stream, bool waits);
/* Copies the first slice of a box of memory; waits: until it is done. */
CUresult client_copy_slice(const struct weft_box *box, CUstream stream, bool waits);
/* Has the driver of a device's server copy all of a box. */
CUresult client_copy_near(const struct client_device *device, const struct weft_box *box,
                          CUstream stream);

/* ---- module.c */
struct client_function *client_function_on(const struct client_device *device, CUfunction function);
/* Gives a function's handle at a device's server, for which it is loaded. */
CUresult client_function(const struct client_device *device, CUfunction function, uint64_t *handle);

#define CLIENT_DECLARE(field, function) __typeof__(function) client_##field;
WEFT_TABLE_PROGRAM_MAP(CLIENT_DECLARE)
#undef CLIENT_DECLARE

#endif
