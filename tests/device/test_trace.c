/*
 * The timeline of a job: a run whose puts, waits and barriers are known is recorded, and its file
 * says them, on every track in order and one inside of the other, with the regions that the kernel
 * and the host program name. --case ring: too many events for
 * the log, and the file says how many are lost. --case failed: a job that fails is written, too,
 * with the waits that never ended. The last process to close the job has all in the file; process 0
 * looks (weft_close returns when all have written).
 */
#include "support/test.h"

#ifndef __CUDACC__
#include "read.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#endif

enum {
    ROUNDS = 5,   /* small puts around the ring of all ranks, */
    LARGE = 3000, /* and one of so many bytes */
    TAG_SMALL = 3,
    TAG_LARGE = 4,
    TAG_READY = 5, /* to rank 0, by whom is about to wait for TAG_LATE */
    TAG_LATE = 7,
    TAG_NEVER = 9,
    TAG_BAD = 256,
    RUNS = 2,
    RING = 64,
    LOOKS = RING / 16 /* at both clocks, of that many events; on a GPU */
};

struct data {
    struct test_check check;
    unsigned char *memory; /* two of LARGE bytes for each rank */
    uint32_t rounds, fails, steps;
    double sum;
};

/* What rank 0 does while all others wait for it. */
WEFT_DEVICE_FN void be_late(weft_self *self, struct data *user)
{
    double sum = 0;

    weft_wait(self, TAG_READY, (uint32_t)weft_size(self, WEFT_COMM_WORLD) - 1);
    for (uint32_t k = 1; k <= user->steps; k++)
        sum += 1.0 / k;
    weft_sync(self);
    if (weft_thread(self) == 0)
        user->sum = sum;
    for (int r = 1; r < weft_size(self, WEFT_COMM_WORLD); r++)
        weft_notify(self, WEFT_COMM_WORLD, r, TAG_LATE);
}

WEFT_KERNEL(trace_kernel, struct data, user)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), n = weft_size(self, WEFT_COMM_WORLD);
    unsigned char *in = test_mine(self, user->memory, 2 * LARGE), *out = in + LARGE;
    const int right = (me + 1) % n;

    weft_enter(self);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, in, LARGE);
    if (me == 0) {
        be_late(self, user);
    } else {
        weft_notify(self, WEFT_COMM_WORLD, 0, TAG_READY);
        weft_wait(self, TAG_LATE, 1);
    }
    test_fill(self, out, LARGE, (uint64_t)me);
    weft_region_begin(self, "all rounds");
    for (uint32_t i = 0; i < user->rounds; i++) {
        weft_region_begin(self, "round");
        weft_put_notify(self, win, right, 0, out, 8, TAG_SMALL);
        weft_wait(self, TAG_SMALL, 1);
        weft_region_end(self);
    }
    weft_region_end(self);
    weft_put_notify(self, win, right, 0, out, LARGE, TAG_LARGE);
    weft_wait(self, TAG_LARGE, 1);
    CHECK_EQ(self, &user->check, test_differs(self, in, LARGE, (uint64_t)((me + n - 1) % n)), 0);
    weft_barrier(self, WEFT_COMM_DEVICE);
    if (user->fails != 0 && me == 0) {
        be_late(self, user); /* the others wait for more than that */
        weft_notify(self, WEFT_COMM_WORLD, 0, TAG_BAD);
    }
    if (user->fails != 0) {
        weft_notify(self, WEFT_COMM_WORLD, 0, TAG_READY);
        weft_wait(self, TAG_NEVER, 1);
    }
    weft_win_free(self, &win);
    weft_leave(self);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
static char path[64];
static enum { PLAIN, SMALL_RING, FAILED } which;
static int ranks, random_schedule, looks; /* of the last job; looks: this process is number 0 */

static int body(struct test_env *env)
{
    if (!test_prepare(env, &trace_kernel))
        return TEST_FAILED;
    const size_t here = (size_t)env->numbers->ranks_here;
    struct data data = {.memory = test_memory(env, TEST_MAPPED, 2 * LARGE * here),
                        .rounds = which == SMALL_RING ? 2 * RING : ROUNDS,
                        .fails = which == FAILED,
                        .steps = env->brief ? 10 : 1000000};

    if (env->numbers->process == 0) { /* processes may be threads: one writes */
        ranks = env->numbers->ranks;
        random_schedule = env->random;
        looks = 1;
    }
    if (which == FAILED)
        env->expect = WEFT_ERR_TAG;
    for (int run = 0; run < (which == FAILED ? 1 : RUNS); run++) {
        TEST_EQ(env, weft_host_region_begin(env->job, "run"), WEFT_OK);
        test_run(env, &data, sizeof(data));
        TEST_EQ(env, weft_host_region_end(env->job), env->expect);
    }
    return TEST_PASSED;
}

/* ---- what the file says
 * --------------------------------------------------------------------------- */

static int wrong;

#define SAYS(track, got, want)                                                                     \
    do {                                                                                           \
        const long long got_value = (long long)(got), want_value = (long long)(want);              \
        if (got_value != want_value) {                                                             \
            printf("%s: %s is %lld, not %lld (line %d)\n", (track)->name, #got, got_value,         \
                   want_value, __LINE__);                                                          \
            wrong++;                                                                               \
        }                                                                                          \
    } while (0)

/* What is counted of a track. tag -1: any. */
struct seen {
    size_t regions, inside; /* inside: of a region "round", waits for TAG_SMALL */
    size_t runs, computes, barriers, collectives, unfinished, kept;
    size_t waits[256], puts[256];
    uint64_t longest[256]; /* of the waits */
};

/* Events are sorted by their beginnings: each lies inside of the last that has not ended, or after.
 */
static void check_nested(const struct trace *trace, const struct trace_track *track)
{
    uint64_t ends[16];
    int deep = 0;

    for (size_t i = 0; i < track->events; i++) {
        const struct trace_event *e = &trace->events[track->first + i];
        if (e->moment)
            continue;
        while (deep > 0 && ends[deep - 1] <= e->begin)
            deep--;
        SAYS(track, deep == 0 || e->end <= ends[deep - 1], 1);
        SAYS(track, deep < 6, 1);
        if (deep < 16)
            ends[deep++] = e->end;
    }
}

static void count(const struct trace *trace, const struct trace_track *track, int right,
                  struct seen *seen)
{
    uint64_t round = 0; /* its end */

    memset(seen, 0, sizeof(*seen));
    for (size_t i = 0; i < track->events; i++) {
        const struct trace_event *e = &trace->events[track->first + i];
        seen->regions += e->category == TRACE_REGION;
        if (e->category == TRACE_REGION && strcmp(e->name, "round") == 0)
            round = e->end;
        seen->inside += e->category == TRACE_WAIT && e->tag == TAG_SMALL && e->end <= round;
        seen->runs += e->category == TRACE_RUN;
        seen->computes += e->category == TRACE_COMPUTE;
        seen->barriers += e->category == TRACE_BARRIER;
        seen->collectives += e->category == TRACE_COLLECTIVE;
        seen->unfinished += e->unfinished;
        seen->kept += e->category != TRACE_RUN && e->category != TRACE_COMPUTE && !e->moment;
        if (e->category == TRACE_WAIT && e->tag >= 0) {
            seen->waits[e->tag]++;
            if (e->end - e->begin > seen->longest[e->tag])
                seen->longest[e->tag] = e->end - e->begin;
        }
        if (e->category == TRACE_PUT && e->tag >= 0) {
            seen->puts[e->tag]++;
            if (e->tag != TAG_LATE && e->tag != TAG_READY)
                SAYS(track, e->to, right);
        }
    }
}

static void check_plain(const struct trace_track *track, const struct seen *seen)
{
    const size_t late = track->rank == 0 ? 0 : 1;

    SAYS(track, seen->runs, RUNS);
    SAYS(track, track->lost, 0);
    SAYS(track, seen->computes > 0, 1);
    SAYS(track, seen->regions, (1 + ROUNDS) * RUNS);
    SAYS(track, seen->inside, ROUNDS * RUNS);
    SAYS(track, seen->barriers, 3 * RUNS);
    SAYS(track, seen->collectives, 2 * RUNS); /* a window made and freed */
    SAYS(track, seen->waits[TAG_SMALL], ROUNDS * RUNS);
    SAYS(track, seen->puts[TAG_SMALL], ROUNDS * RUNS);
    SAYS(track, seen->waits[TAG_LARGE], RUNS);
    SAYS(track, seen->puts[TAG_LARGE], RUNS);
    SAYS(track, seen->waits[TAG_LATE], late * RUNS);
    SAYS(track, seen->puts[TAG_READY], late * RUNS);
    SAYS(track, seen->puts[TAG_LATE], late == 0 ? (ranks - 1) * RUNS : 0);
    SAYS(track, seen->unfinished, 0);
    /* A million divisions. */
    if (late != 0 && !random_schedule)
        SAYS(track, seen->longest[TAG_LATE] > 200000, 1);
}

static void check_ring(const struct trace_track *track, const struct seen *seen)
{
    /* Each run has its begin and end, 3 barriers, 2 collectives, a region around all rounds, and 4
     * events a round, at least. */
    SAYS(track, track->lost >= RUNS * (8 * RING + 9) - RING, 1);
    /* Of a region the end alone may be kept, of the two around the round that is cut. */
    SAYS(track, seen->kept + seen->regions + 2 + 2 * seen->runs + LOOKS >= RING, 1);
    SAYS(track, seen->kept <= RING, 1);
    SAYS(track, seen->barriers > 0, 1); /* it is the last ones that are kept */
}

static int never; /* waits that did not end */

static void check_failed(const struct trace_track *track, const struct seen *seen)
{
    SAYS(track, seen->runs, 1);
    SAYS(track, seen->waits[TAG_SMALL], ROUNDS);
    SAYS(track, seen->waits[TAG_NEVER] <= (track->rank != 0), 1);
    SAYS(track, seen->unfinished, seen->waits[TAG_NEVER]);
    never += (int)seen->unfinished;
}

static void check_file(void)
{
    struct trace trace;
    struct seen seen;
    int tracks = 0;
    FILE *in = fopen(path, "r");

    if (in == NULL || !trace_read(in, path, &trace)) {
        printf("%s: no timeline\n", path);
        wrong++;
        return;
    }
    fclose(in);
    for (size_t i = 0; i < trace.tracks_count; i++) {
        const struct trace_track *track = &trace.tracks[i];
        check_nested(&trace, track);
        if (strcmp(track->name, "host program") == 0) {
            count(&trace, track, -1, &seen);
            SAYS(track, seen.regions, which == FAILED ? 1 : RUNS);
        }
        if (track->rank < 0)
            continue;
        tracks++;
        count(&trace, track, (track->rank + 1) % ranks, &seen);
        if (which == PLAIN)
            check_plain(track, &seen);
        else if (which == SMALL_RING)
            check_ring(track, &seen);
        else
            check_failed(track, &seen);
    }
    if (which == FAILED && ranks > 1 && never == 0) {
        printf("no rank waited when the job failed\n");
        wrong++;
    }
    if (tracks != ranks) {
        printf("%d tracks of %d ranks\n", tracks, ranks);
        wrong++;
    }
    trace_free(&trace);
}

int main(int argc, char **argv)
{
    /* By weftrun or an mpirun, the parent of all processes. */
    const bool launched = getenv("WEFT_PROCESS") != NULL ||
                          getenv("OMPI_COMM_WORLD_RANK") != NULL || getenv("PMI_RANK") != NULL;

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "ring") == 0)
            which = SMALL_RING;
        if (strcmp(argv[i], "failed") == 0)
            which = FAILED;
    }
    snprintf(path, sizeof(path), "/tmp/weft-test-trace.%d", (int)(launched ? getppid() : getpid()));
    setenv("WEFT_TRACE", path, 1);
    if (which == SMALL_RING)
        setenv("WEFT_TRACE_EVENTS", "64", 1);
    const int result = test_main(argc, argv, body);
    if (looks == 0)
        return result;
    if (result == TEST_PASSED)
        check_file();
    unlink(path);
    return wrong == 0 ? result : TEST_FAILED;
}
#endif
