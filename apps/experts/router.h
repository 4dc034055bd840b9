/*
 * experts/router.h - what tokens are, what they choose, and what comes of them, by a serial loop.
 * All of it follows from numbers: so each process knows what all others send.
 */
#ifndef EXPERTS_ROUTER_H
#define EXPERTS_ROUTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct layer {
    int members, experts, topk, tokens, hidden;
    int skew; /* 0: all experts alike; the larger, the more tokens choose the first ones */
};

/* The experts of a token: different ones. */
void router_choose(const struct layer *layer, int step, int member, int token, int32_t chosen[]);
float router_weight(int k);
float router_element(int step, int member, int token, int i);
/* What the layer makes of it. */
float router_result(const struct layer *layer, int step, int member, int token, int i);
/* How many rows each of `own` experts from `first` on gets; counts is zeroed. */
void router_count(const struct layer *layer, int step, int first, int own, int32_t counts[]);

#endif
