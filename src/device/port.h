/*
 * device/port.h - what a kernel's code needs of the machine it runs on, besides the atomics of
 * order/atomic.h: waiting, ending, time. One implementation a device.
 */
#ifndef WEFT_DEVICE_PORT_H
#define WEFT_DEVICE_PORT_H

#include "base/task.h"
#include "order/inline.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

struct weft_fiber;
struct weft_thread_team;

/*
 * The first member of a rank's state: how the rank is run. A rank and its worker share a thread,
 * but ThreadSanitizer must take them for two (base/fiber.h), so what both touch is reached through
 * WEFT_PORT_GET and WEFT_PORT_SET.
 */
struct weft_port {
    struct weft_fiber *fiber; /* rank: the fiber that its worker switches to */
    union {
        struct weft_fiber *worker; /* rank: the fiber that it switches to when it waits */
        const char *caller;        /* host program: the call of the thread that waits */
    };
    uint8_t doing; /* why it last switched to its worker: an enum weft_doing */
    bool moved;    /* a wait of the rank has ended since its worker last looked */
    bool running;  /* its worker has switched to it */
    bool ended;
    bool helped;     /* the worker does the host's part of a command itself */
    bool host;       /* the host program: plain threads, which sleep on a bell */
    uintptr_t stack; /* rank: lowest address of its stack */
    size_t stack_bytes;
    struct weft_thread_team *team; /* the rank's threads (device/cpu/team.h); NULL: it has one */
    struct weft_bell *bell;
    struct weft_lock *lock; /* host program: held by a thread in a call; NULL: it has one thread */
    struct weft_port_call *call; /* host program: the call of the thread that has the lock */
    uint32_t turn;               /* operations so far that did not wait */
    uint32_t told; /* rank of a GPU: the last number that it stored for the watchdog */
};

/*
 * A call of the host program, on the stack of the thread that makes it. A wait in it gives the lock
 * to other threads meanwhile.
 */
struct weft_port_call {
    const char *caller; /* name for reports of waits; NULL: none */
    jmp_buf escape;     /* jumped to, within the library, when a wait ends early */
    uint64_t deadline;  /* time at which its waits end; 0: never */
    bool late;          /* the deadline has passed; at an escape else: the job has ended */
    uint32_t rounds;    /* rounds of the present wait so far */
    bool prepared;      /* the next round sleeps on the bell */
    uint32_t ticket;    /* the bell's ticket for that sleep */
};

/* Begin and end a call of the host program. */
static inline void weft_port_enter(struct weft_port *port, struct weft_port_call *call)
{
    if (port->lock != NULL)
        weft_lock(port->lock);
    port->call = call;
}

static inline void weft_port_leave(struct weft_port *port)
{
    port->call = NULL;
    if (port->lock != NULL)
        weft_unlock(port->lock);
}

#define WEFT_PORT_GET(port, field) __atomic_load_n(&(port)->field, __ATOMIC_RELAXED)
#define WEFT_PORT_SET(port, field, value)                                                          \
    __atomic_store_n(&(port)->field, (value), __ATOMIC_RELAXED)

/* Why a rank gives up its turn. */
enum weft_doing {
    WEFT_WORKS, /* only to let others run */
    WEFT_POLLS, /* what it looked for is not there; it has other work, or looks again */
    WEFT_WAITS, /* what it looked for is not there, and it can do nothing else */
    WEFT_POSTED /* a command: its worker hands it to the network and comes back at once */
};

/*
 * One round of a wait that found nothing: lets others run, and returns to look again. A rank
 * switches to its worker; the host program spins a little, then sleeps.
 */
void weft_port_wait(struct weft_port *port);

/* Lets others run, and comes back without sleeping: the caller has other work. */
void weft_port_yield(struct weft_port *port);

/* Lets others run after a look that found nothing: who shares the processor comes first. */
void weft_port_poll(struct weft_port *port);

/*
 * Called by operations that do not wait: now and then lets the other ranks of the worker run, so
 * that a rank which only sends cannot keep from running those it sends to.
 */
static inline __attribute__((always_inline)) void weft_port_turn(struct weft_port *port)
{
    if (++port->turn % 1024 == 0)
        weft_port_yield(port);
}

/* Tells that a command was posted. False: nobody here looks at it: ring for the host's task. */
bool weft_port_posted(struct weft_port *port);

/* Ends a wait, or a series of polls, that has found what it looked for. */
static inline void weft_port_waited(struct weft_port *port)
{
    struct weft_port_call *call = port->call;

    if (call != NULL && call->prepared)
        weft_bell_cancel(port->bell);
    if (call != NULL) {
        call->rounds = 0;
        call->prepared = false;
        WEFT_PORT_SET(port, caller, NULL);
    }
    WEFT_PORT_SET(port, moved, true);
}

/* Ends the rank; the host program goes to its call's `escape`. */
void weft_port_end(struct weft_port *port) __attribute__((noreturn));

/* weft_port_clock: nanoseconds of the device's clock. */
#ifdef __CUDACC__
WEFT_INLINE uint64_t weft_port_clock(void)
{
    uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

/* Returns cycles of the multiprocessor, which begin anywhere and have no fixed length. */
WEFT_INLINE uint64_t weft_port_ticks(void)
{
    uint64_t now;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
    return now;
}

/* Reads ticks and clock at one moment: when the clock, which goes in steps, has just made one. */
WEFT_INLINE void weft_port_clocks(uint64_t *ticks, uint64_t *clock)
{
    enum { MOST_LOOKS = 1024 }; /* some ten steps, so that one that stands still stops nobody */
    const uint64_t before = weft_port_clock();

    _Pragma("unroll 1") for (int looks = 0; looks < MOST_LOOKS; looks++)
    {
        *clock = weft_port_clock();
        *ticks = weft_port_ticks();
        if (*clock != before)
            break;
    }
}
#else
uint64_t weft_port_clock(void);
#endif

#endif
