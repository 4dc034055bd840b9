/*
 * support/net_pair.h - one end of a network under test: opens a table, connects it with the other
 * end, and records what the table reports.
 */
#ifndef WEFT_TESTS_NET_PAIR_H
#define WEFT_TESTS_NET_PAIR_H

#include "net/net.h"

enum { END_MEMORY = 1 << 20, END_NOTICES = 1 << 16, END_PUTS = 1 << 14 };

/* What happened to a put: the cookie points here. */
struct end_put {
    int sent, landed;
    bool disorder; /* landed before it was sent */
};

struct end {
    const struct weft_net_ops *ops;
    struct weft_net *net;
    struct weft_config config;
    int me, processes;
    unsigned char *memory; /* registered */
    uint64_t key, other_key;
    uint32_t notices[END_NOTICES]; /* in the order in which they arrived */
    uint32_t notice_count;
    uint32_t refuse; /* this notice is malformed, says the end */
    struct end_put puts[END_PUTS];
};

/* Ends of one process, with the smallest rings. NULL, and a message, if it cannot be opened. */
struct end *end_open(const struct weft_net_ops *ops, int me, int processes, bool one_space);
void end_close(struct end *end);

/* Puts, moving both sides along while there is no room. The cookie is puts[number]. */
weft_status end_put(struct end *end, int to, uint64_t key, uint64_t offset, const void *source,
                    size_t bytes, uint32_t notice, int number);

/* Moves both sides once. */
weft_status end_move(struct end *end);

/* Moves until so many notices have arrived, or puts 0 .. puts - 1 have landed. False: too long. */
bool end_await_notices(struct end *end, uint32_t count);
bool end_await_landed(struct end *end, int puts);

#endif
