/*
 * bench/gpu/rate.cu - how many put_notify, of 8 bytes or more, all ranks of process 0 send
 * together:
 *
 *     to_one     all of them to one rank of process 1
 *     to_many    each to its partner there
 *     answered   all to one, which waits for all of them and answers each: us a round
 *
 * The time ends when all messages have been counted and waited for. Each sender has a slot of its
 * own, and puts the number of the phase into all of it; it is compared after the phase.
 */
#include "gpu/measure.h"

#include <weft/device.h>

enum rate_form { TO_ONE, TO_MANY, ANSWERED };
enum { TAG_DATA, TAG_DONE };

struct rate_data {
    uint64_t *memory; /* device memory: for each rank of the device a source and slots */
    uint64_t *wrong;  /* result: slots, for each rank of the device */
    int *senders;     /* room for the ranks of the other device */
    uint64_t form;    /* a rate_form */
    uint64_t words;   /* of 8 bytes, of a message */
    uint64_t messages[2];
};

/* The calling rank. A copy of the user data: the kernel's waits drop what is cached of memory. */
struct rate_side {
    weft_self *self;
    weft_win win;
    uint64_t *source, *slots;
    int *senders;
    size_t words;
    int form, index, ranks, other, sends, receives;
};

WEFT_DEVICE_FN struct rate_side find_side(weft_self *self, const struct rate_data *user)
{
    const int process = weft_process(self), first = weft_process_first(self, 1 - process);
    struct rate_side me;
    me.self = self;
    me.form = (int)user->form;
    me.index = weft_rank(self, WEFT_COMM_DEVICE);
    me.ranks = weft_size(self, WEFT_COMM_DEVICE);
    me.words = (size_t)user->words;
    me.source = user->memory + (size_t)me.index * (size_t)(1 + me.ranks) * me.words;
    me.slots = me.source + me.words;
    me.senders = user->senders;
    me.other = me.form == TO_MANY ? first + me.index : first;
    me.sends = process == 0;
    me.receives = process == 1 && (me.form == TO_MANY || me.index == 0);
    me.win = weft_win_create(self, WEFT_COMM_WORLD, me.slots,
                             (size_t)me.ranks * me.words * sizeof(*me.slots));
    return me;
}

WEFT_DEVICE_FN void send(const struct rate_side *me)
{
    const size_t bytes = me->words * sizeof(*me->source);
    const size_t at = (size_t)me->index * bytes;
#ifdef RATE_BY_WARP
    if (weft_thread(me->self) < 32)
        weft_put_notify_warp(me->self, me->win, me->other, at, me->source, bytes, TAG_DATA);
#else
    weft_put_notify(me->self, me->win, me->other, at, me->source, bytes, TAG_DATA);
#endif
}

WEFT_DEVICE_FN void flood(const struct rate_side *me, uint64_t messages)
{
    if (me->sends)
        for (uint64_t i = 0; i < messages; i++)
            send(me);
    if (me->receives)
        weft_wait(me->self, TAG_DATA,
                  (uint32_t)messages * (uint32_t)(me->form == TO_MANY ? 1 : me->ranks));
}

WEFT_DEVICE_FN void answered(const struct rate_side *me, uint64_t rounds)
{
    const int first = weft_process_first(me->self, 0);
    if (me->receives)
        weft_for (i, me->ranks)
            me->senders[i] = first + (int)i;
    weft_sync(me->self);
    for (uint64_t i = 0; i < rounds; i++) {
        if (me->sends) {
            send(me);
            weft_wait(me->self, TAG_DONE, 1);
        } else if (me->receives) {
            weft_wait(me->self, TAG_DATA, (uint32_t)me->ranks);
            weft_notify_many(me->self, WEFT_COMM_WORLD, me->senders, me->ranks, TAG_DONE);
        }
    }
}

/* How many words do not have what their sender put last. The share of a thread. */
WEFT_DEVICE_FN uint64_t compare(const struct rate_side *me, uint64_t number)
{
    uint64_t wrong = 0;
    weft_for (i, me->ranks) {
        const int expected = me->form != TO_MANY || (int)i == me->index;
        for (size_t w = 0; w < me->words; w++)
            wrong += expected && me->slots[i * me->words + w] != number + i;
    }
    return wrong;
}

WEFT_DEVICE_FN uint64_t phase(const struct rate_side *me, int phase, uint64_t messages)
{
    const uint64_t number = 1000000 * (uint64_t)(phase + 1);

    weft_for (w, me->words)
        me->source[w] = number + (uint64_t)me->index;
    weft_barrier(me->self, WEFT_COMM_WORLD);
    if (phase == 1)
        weft_timer_start(me->self);
    if (me->form == ANSWERED)
        answered(me, messages);
    else
        flood(me, messages);
    weft_barrier(me->self, WEFT_COMM_WORLD); /* what was sent has been waited for */
    if (phase == 1)
        weft_timer_stop(me->self);
    return me->receives ? compare(me, number) : 0;
}

WEFT_KERNEL(gpu_rate, struct rate_data, user)
{
    weft_enter(self);
    const struct rate_side me = find_side(self, user);
    uint64_t wrong = 0;

    for (int i = 0; i < 2; i++)
        wrong += phase(&me, i, user->messages[i]);
    weft_win win = me.win;
    weft_win_free(self, &win);
    weft_leave(self);
    const double sum = weft_block_sum(self, (double)wrong);
    if (weft_thread(self) == 0)
        user->wrong[me.index] = (uint64_t)sum;
}

#ifndef __CUDACC__

#include "gpu/job.h"

#include <stdio.h>

#ifdef RATE_BY_WARP
static const char *const kinds[] = {"warp_to_one", "warp_to_many", "warp_answered"};
#else
static const char *const kinds[] = {"to_one", "to_many", "answered"};
#endif

static void print(const weft_numbers *numbers, const struct rate_data *data, double seconds)
{
    const double messages = (double)data->messages[1];
    const bool answered = data->form == ANSWERED;
    measure_ranks_line(
        "weft", kinds[data->form], data->words * 8, numbers->threads, numbers->ranks_here,
        answered ? seconds / messages * 1e6 : messages * numbers->ranks_here / seconds * 1e-6,
        answered ? "us" : "M/s");
}

/* All forms; process 0 prints. *right becomes false if anything that came here was wrong. */
static weft_status measure_rates(weft_job *job, const struct measure_options *options, bool *right)
{
    const weft_numbers *numbers = weft_numbers_of(job);
    const size_t ranks = (size_t)numbers->ranks_here;
    struct rate_data data = {.words = options->bytes / 8,
                             .memory = weft_malloc(job, ranks * (1 + ranks) * options->bytes),
                             .wrong = weft_malloc(job, ranks * sizeof(*data.wrong)),
                             .senders = weft_malloc(job, ranks * sizeof(*data.senders))};
    weft_status status = data.memory && data.wrong && data.senders ? WEFT_OK : WEFT_ERR_MEMORY;
    if (status == WEFT_OK && options->repeats * ranks > INT32_MAX) {
        fprintf(stderr, "bench: --repeats times the ranks is more than a tag can count\n");
        status = WEFT_ERR_ARGUMENT;
    }
    for (data.form = TO_ONE; data.form <= ANSWERED && status == WEFT_OK; data.form++) {
        struct job_outcome outcome;
        data.messages[0] = options->repeats / 10 + 1;
        data.messages[1] = options->repeats;
        status = job_run(job, &data, sizeof(data), data.wrong, &outcome);
        if (status != WEFT_OK)
            break;
        *right &= measure_right(kinds[data.form], options->bytes, outcome.wrong);
        if (numbers->process == 0)
            print(numbers, &data, outcome.seconds);
    }
    weft_free(job, data.senders);
    weft_free(job, data.wrong);
    weft_free(job, data.memory);
    return status;
}

/* One number of ranks after the other. */
static weft_status measure_all(weft_job *job, struct measure_options *options, bool *right)
{
    weft_status status = WEFT_OK;

    for (int i = 0; i < options->list_count && status == WEFT_OK; i++) {
        status = job_prepare(job, &gpu_rate, options->threads, options->list[i], 2);
        if (status == WEFT_OK && i == 0 && weft_numbers_of(job)->process == 0)
            measure_header();
        if (status == WEFT_OK)
            status = measure_rates(job, options, right);
    }
    return status;
}

int main(int argc, char **argv)
{
    return job_main(argc, argv, MEASURE_HAS_BYTES,
                    "Rate of small messages from many ranks. Run: weftrun -n 2 bench_gpu_rate",
                    "[RANKS...]", MEASURE_LIST, measure_all);
}
#endif
