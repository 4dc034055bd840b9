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

/*
 * The first member of a rank's state: how the rank is run. A rank and its worker share a thread,
 * but ThreadSanitizer must take them for two (base/fiber.h), so what both touch is reached through
 * WEFT_PORT_GET and WEFT_PORT_SET.
 */
struct weft_port {
    struct weft_fiber *fiber;  /* of a rank: its stack, */
    struct weft_fiber *worker; /* and the one to switch to when it waits */
    uint8_t doing;             /* when it last switched: an enum weft_doing; */
    bool moved;                /* but a wait ended since the switch before */
    bool running;              /* its worker has switched to it */
    bool ended;
    bool helped;    /* the worker does the host's part of a command itself */
    bool host;      /* the host program: a plain thread, which sleeps on a bell */
    jmp_buf escape; /* where the host program goes when the job has ended */
    struct weft_bell *bell;
    uint32_t rounds;  /* of the present wait */
    bool prepared;    /* the host program lies down in the next round, */
    uint32_t ticket;  /* with this ticket of the bell */
    uint32_t turn;    /* operations without a wait */
    uint32_t episode; /* of a GPU's rank: waits that were told to the watchdog */
};

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

/* The same after a look that found nothing: whoever shares the processor comes first. */
void weft_port_poll(struct weft_port *port);

/*
 * Called by operations that do not wait: now and then lets the other ranks of the worker run, so
 * that a rank which only sends cannot keep from running those it sends to.
 */
static inline void weft_port_turn(struct weft_port *port)
{
    if (++port->turn % 1024 == 0)
        weft_port_yield(port);
}

/* A command was posted. False: nobody here looks at it, ring for the host's task. */
bool weft_port_posted(struct weft_port *port);

/* The wait is over, or what was polled for is there. */
static inline void weft_port_waited(struct weft_port *port)
{
    port->rounds = 0;
    if (port->prepared)
        weft_bell_cancel(port->bell);
    port->prepared = false;
    WEFT_PORT_SET(port, moved, true);
}

/* Ends the rank; the host program jumps to its API call, which then returns the job's status. */
void weft_port_end(struct weft_port *port) __attribute__((noreturn));

/* Nanoseconds of the device's clock. */
#ifdef __CUDACC__
WEFT_INLINE uint64_t weft_port_clock(void)
{
    uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

/* Cycles of the multiprocessor, which begin anywhere and have no fixed length; read at once. */
WEFT_INLINE uint64_t weft_port_ticks(void)
{
    uint64_t now;
    asm volatile("mov.u64 %0, %%clock64;" : "=l"(now)::"memory");
    return now;
}

/* Both at one moment: when the clock, which goes in steps, has just made one. */
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
