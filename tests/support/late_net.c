/*
 * support/late_net.c - a network that is late: for a while it takes nothing for one process,
 * then for another, and for a while nothing that has come takes effect. What one process sends to
 * another stays in order, as networks promise; all else overtakes. For programs that are wrapped so
 * that weft calls these functions. LATE_SEED: the pauses' seed.
 */
#include "base/task.h"
#include "net/net.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { TARGETS = 16, SELDOM = 4, ROUNDS = 12, PAUSE_NS = 200000 };

static uint64_t to[TARGETS], from; /* end of the pause: by target; of what comes; 0: none */
static uint64_t state, pauses_begun, taken;

static uint64_t draw(uint64_t most)
{
    uint64_t x = __atomic_add_fetch(&state, 0x9e3779b97f4a7c15u, __ATOMIC_RELAXED);

    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) % most;
}

static void draw_seed(void)
{
    const char *const seed = getenv("LATE_SEED");

    state = seed != NULL ? strtoull(seed, NULL, 10) : 1;
}

/* Says whether there is a pause, or begins one. It is over at a time; in random mode, after so many
 * looks. All processes in one address space have the same ones. */
static bool pauses(uint64_t *end)
{
    const uint64_t now = weft_model != NULL ? 0 : weft_now_ns();
    uint64_t until = __atomic_load_n(end, __ATOMIC_RELAXED);

    if (until == 0 && draw(SELDOM) == 0) {
        until = now + 1 + draw(weft_model != NULL ? ROUNDS : PAUSE_NS);
        __atomic_fetch_add(&pauses_begun, 1, __ATOMIC_RELAXED);
    } else if (until != 0) {
        until = weft_model != NULL ? until - 1 : now < until ? until : 0;
    }
    __atomic_store_n(end, until, __ATOMIC_RELAXED);
    return until != 0;
}

weft_status __real_weft_net_put(struct weft_net *net, const struct weft_net_put *put);
weft_status __wrap_weft_net_put(struct weft_net *net, const struct weft_net_put *put);
weft_status __wrap_weft_net_put(struct weft_net *net, const struct weft_net_put *put)
{
    if (pauses(&to[put->process % TARGETS]))
        return WEFT_NET_FULL;
    __atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
    return __real_weft_net_put(net, put);
}

weft_status __real_weft_net_progress(struct weft_net *net, enum weft_net_side side, bool *did);
weft_status __wrap_weft_net_progress(struct weft_net *net, enum weft_net_side side, bool *did);
weft_status __wrap_weft_net_progress(struct weft_net *net, enum weft_net_side side, bool *did)
{
    if (side == WEFT_NET_SEND || !pauses(&from))
        return __real_weft_net_progress(net, side, did);
    *did = true; /* look again soon */
    return WEFT_OK;
}

/* A test of what comes late is none if nothing did. */
void __real_weft_net_close(struct weft_net *net);
void __wrap_weft_net_close(struct weft_net *net);
void __wrap_weft_net_close(struct weft_net *net)
{
    const uint64_t puts = __atomic_load_n(&taken, __ATOMIC_RELAXED);

    if (puts > 100 && __atomic_load_n(&pauses_begun, __ATOMIC_RELAXED) == 0) {
        fprintf(stderr, "late_net: %llu puts, and none was late\n", (unsigned long long)puts);
        abort();
    }
    __real_weft_net_close(net);
}

weft_status __real_weft_net_open(struct weft_net **net, const struct weft_transport_ops *transport,
                                 const struct weft_net_open *open);
weft_status __wrap_weft_net_open(struct weft_net **net, const struct weft_transport_ops *transport,
                                 const struct weft_net_open *open);
weft_status __wrap_weft_net_open(struct weft_net **net, const struct weft_transport_ops *transport,
                                 const struct weft_net_open *open)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, draw_seed);
    return __real_weft_net_open(net, transport, open);
}
