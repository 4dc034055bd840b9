/*
 * support/net_ends.h - the ends of a network under test: threads of one process, or processes.
 *
 * They lie in memory that all of them share, so that one end can see what has really happened at
 * the others at the moment when its network says so. Each end is two threads, as in the runtime:
 * its caller puts and drives the send side, a receiver drives the receive side.
 */
#ifndef WEFT_TESTS_NET_ENDS_H
#define WEFT_TESTS_NET_ENDS_H

#include "net/transport.h"

#include <pthread.h>
#include <stdio.h>

enum {
    ENDS_MOST = 3,
    END_SHARE = 1 << 17,                /* bytes of an end's memory, for each sender */
    END_MEMORY = ENDS_MOST * END_SHARE, /* bytes of an end that are registered */
    END_PUTS = 1 << 13,                 /* puts of one part of the suite, at most */
    END_LATER = 1 << 10,
    END_STAGE = 8 << 20,
    END_SPACE = END_MEMORY + (64 << 10), /* bytes of an end; the last of them stay unwritten */
};

#define END_PATIENCE_NS 100000000000u /* ns within which what must come at once comes */

/* What a put's source is good for once the network has said `sent`. */
enum end_source {
    END_KEEP, /* stays, and must be at the target when the put is delivered */
    END_SPOIL /* is overwritten at once, for the network must not need it any more */
};

struct end_put {
    struct weft_net_put put;
    enum end_source source;
    uint32_t notices; /* notices that the target has had from this end when it is delivered */
    uint32_t sent, delivered;
    bool early; /* it was delivered before it was sent, or before its data and notice were there */
};

/* What the receive side was given, and what is not there yet. */
struct end_later {
    void *target; /* NULL: a notice */
    const void *source;
    size_t bytes;
    int process;
    uint32_t notice;
};

struct end {
    struct ends *all;
    int me;
    struct weft_config config;
    struct weft_notice_kinds kinds;
    struct weft_net_device device;
    struct weft_net *net;
    uint64_t key, place[2];
    unsigned char address[WEFT_NET_ADDRESS_MAX];
    pthread_t receiver;
    uint32_t stop, hold; /* 1: the receiver ends; 1: it stands still */
    uint32_t received;   /* weft_status of the receive side */
    uint32_t refuse;     /* notice that the end takes for malformed */
    uint32_t met;        /* how often all must have met */
    uint64_t busy;       /* time at which the send side was busy: end_rest */
    unsigned char *memory;
    uint64_t sources_key;
    uint32_t notices[ENDS_MOST][END_PUTS]; /* by sender, in the order in which they arrived */
    uint32_t notice_count[ENDS_MOST];
    uint32_t brought; /* how often arrival was reported */
    struct end_put puts[END_PUTS];
    int put_count;
    uint32_t told[ENDS_MOST]; /* by target: notices sent */
    struct end_later later[END_LATER];
    uint64_t later_given, later_done;
    uint32_t asked; /* how often a mark that was not reached was asked for */
};

struct ends {
    const struct weft_transport_ops *ops;
    void (*configure)(struct weft_config *config, int me); /* NULL: the configuration stays */
    int count;
    bool one_space;
    bool register_sources;
    bool later;  /* data is there later than it is delivered, as in windows of a device's memory */
    bool places; /* puts say where their targets lie */
    bool stages; /* sources lie in the network's own memory (caps.stage) */
    uint64_t counter_start;
    uint32_t met, failures;
    struct end end[ENDS_MOST];
    _Alignas(4096) unsigned char memory[ENDS_MOST][END_SPACE];
};

#define CHECK(all, condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            __atomic_add_fetch(&(all)->failures, 1, __ATOMIC_RELAXED);                             \
            printf("FAILED %s:%d: %s\n", __FILE__, __LINE__, #condition);                          \
        }                                                                                          \
    } while (0)

/*
 * Runs side(end) in every end, each opened and connected to all; `with` gives the table, its
 * configuration, and how many ends. True: no check failed.
 */
bool ends_run(const struct ends *with, void (*side)(struct end *end, int argument), int argument);

/*
 * Runs as ends_run where a launcher has started the ends: this process is end `me`, and the others
 * call this too. file: a new one, the same for all, in which they share what they share. The
 * program must lie at the same addresses in all of them (link it with -no-pie).
 */
bool ends_run_launched(const struct weft_transport_ops *ops, int me, int count, const char *file,
                       uint64_t counter_start, void (*side)(struct end *end, int argument),
                       int argument);

/* Lets data of this end come later than it is delivered, notices behind it: net_later.c. */
void end_delivers_later(struct end *end);
void end_later_notice(struct end *end, const struct weft_net_delivery *delivery);
void end_count_notice(struct end *end, int process, uint32_t notice);

/* Opens one end, with the smallest rings. A failure ends the program. */
void end_open(struct end *end);
void end_close(struct end *end);

/* Zeroed memory for the sources of puts, registered if all->register_sources; one at a time. */
void *end_sources(struct end *end, size_t bytes);
void end_sources_free(struct end *end, void *sources);

/* Waits until all ends are here. */
void end_meet(struct end *end);
/* Waits until all are here and none moves: ends of one space look at each other's memory. */
void end_stopped(struct end *end);

/*
 * Rests between two rounds of a thread that polls; *busy: when it last did something, 0 at first.
 * Lets others run, and after a millisecond of nothing sleeps: they may need the processor.
 */
void end_rest(uint64_t *busy, bool did);

/* Makes one turn of the send side; returns the error of either side. */
weft_status end_move(struct end *end);

/* Tries a put as it stands, once; it is counted and watched if it is accepted. */
weft_status end_try(struct end *end, const struct weft_net_put *put, enum end_source source);
/* Tries a put as often as it is refused for want of room. end_put: into the target's memory. */
weft_status end_insist(struct end *end, const struct weft_net_put *put, enum end_source source);
weft_status end_put(struct end *end, int to, size_t offset, const void *bytes, size_t count,
                    uint32_t notice, enum end_source source);

/* Waits until so many notices have come from a sender. False: too long, or an error. */
bool end_await(struct end *end, int sender, uint32_t count);

/* Flushes; all puts delivered, each once and not too early, and nothing is left. Forgets them. */
void end_settle(struct end *end);

#endif
