/* weft-info/messages.c - see the header. */
#include "messages.h"

#include "base/say.h"
#include "msg/msg.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <weft/message.h>

const size_t messages_sizes[MESSAGES_SIZES] = {64,   128,  256,  512,   1024,
                                               2048, 4096, 8192, 16384, 32768};

/* TURNS: of the two jobs; ROUNDS: over the sizes in each. */
#ifdef WEFT_INFO_BRIEF
enum { TURNS = 1, ROUNDS = 1, TRIPS = 3 };
#else
enum { TURNS = 3, ROUNDS = 5, TRIPS = 300 };
#endif

/* Some trips of one size; *best: the shortest that they took so far, each. */
static weft_status trips(weft_job *job, size_t bytes, double *best)
{
    static unsigned char out[32768], in[32768];
    const int me = weft_numbers_of(job)->process;
    const uint64_t begin = weft_now_ns();
    weft_status status = WEFT_OK;

    for (int i = 0; i < TRIPS && status == WEFT_OK; i++) {
        memset(out, i, bytes);
        if (me == 0)
            status = weft_host_send(job, WEFT_COMM_HOST, 1, 0, out, bytes);
        if (status == WEFT_OK)
            status = weft_host_receive(job, WEFT_COMM_HOST, 1 - me, 0, in, bytes, NULL);
        if (status == WEFT_OK && me != 0)
            status = weft_host_send(job, WEFT_COMM_HOST, 0, 0, out, bytes);
        if (status == WEFT_OK && memcmp(in, out, bytes) != 0)
            status = weft_err(WEFT_ERR_PROTOCOL, "a message of %zu bytes arrived wrong", bytes);
    }
    const double us = (double)(weft_now_ns() - begin) * 1e-3 / TRIPS;
    *best = us < *best ? us : *best;
    return status;
}

static bool measure_way(const char *limit, bool *far, double best[MESSAGES_SIZES])
{
    char name[] = "weft-info", near[40], net[40];
    char *argv[] = {name, near, net, NULL};
    int argc = 3;
    weft_job *job;
    weft_status status = WEFT_OK;

    snprintf(near, sizeof(near), "--weft-msg-eager=%s", limit);
    snprintf(net, sizeof(net), "--weft-msg-eager-net=%s", limit);
    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return false;
    *far = job->messages->peers[1 - job->numbers.process].out.ring == NULL;
    for (int i = 0; i < ROUNDS * MESSAGES_SIZES && status == WEFT_OK; i++)
        status = trips(job, messages_sizes[i % MESSAGES_SIZES], &best[i % MESSAGES_SIZES]);
    if (status != WEFT_OK)
        weft_abort(job, weft_status_text(status)); /* the other process is not left waiting */
    return weft_close(job) == WEFT_OK && status == WEFT_OK;
}

bool messages_measure(struct messages_found *found)
{
    for (int i = 0; i < MESSAGES_SIZES; i++)
        found->eager_us[i] = found->offered_us[i] = HUGE_VAL;
    for (int turn = 0; turn < TURNS; turn++)
        if (!measure_way("32K", &found->far, found->eager_us) ||
            !measure_way("0", &found->far, found->offered_us))
            return false;
    return true;
}
