/* net/verbs/verbs.h - InfiniBand and RoCE, through libibverbs. */
#ifndef WEFT_NET_VERBS_VERBS_H
#define WEFT_NET_VERBS_VERBS_H

#include "net/net.h"

/* What an end has done so far, for tests and for the line that close says at WEFT_LOG=info. */
struct weft_verbs_counts {
    /* by the send side */
    uint64_t puts, notified; /* accepted; those of them with a notice */
    uint64_t requests;       /* work requests that carry puts, */
    uint64_t fences;         /* and reads behind those without a notice, */
    uint64_t markers;        /* and DC's markers behind notices */
    uint64_t doorbells, completions;
    /* by the receive side */
    uint64_t receives; /* of notices and messages */
    uint64_t acks;     /* work requests that acknowledge */
    uint64_t refills;  /* times that receives were posted */
    uint64_t queue_pairs;
};

/* "mlx5_0:1 active, InfiniBand, RC", one device a line; returns how many are active. */
int weft_verbs_list(char *text, size_t bytes);

#endif
