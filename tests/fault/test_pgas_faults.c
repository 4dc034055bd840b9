/*
 * Jobs that use the address space wrongly: each gets its line and its status; what a call refuses
 * does not end the job, so that the calls behind it do what they should.
 */
#include "pgas/pgas.h"
#include "support/fault_job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct user {
    weft_gspace *space;
    weft_gptr there;
    uint64_t *source; /* device memory; how many blocks there were */
};

/* Past the end of a segment. */
WEFT_KERNEL(beyond, struct user, user)
{
    weft_gput(self, user->space, weft_gptr_add(user->there, 60), user->source, 8);
}

/* Takes all there is, and gives it back. */
WEFT_KERNEL(greedy, struct user, user)
{
    enum { MOST = 64 };
    weft_gptr held[MOST];
    uint64_t n = 0;

    for (; n < MOST; n++) {
        held[n] = weft_local_alloc(self, user->space, 65536);
        if (weft_gptr_is_null(held[n]))
            break;
    }
    *user->source = n;
    while (n-- > 0)
        weft_local_free(self, user->space, held[n]);
}

enum provoked {
    END,
    IN_KERNEL,
    FREED,
    PLACE,
    GARBAGE,
    TWICE,
    INNER,
    FOREIGN,
    FULL,
    SMALL_HEAP,
    BYTES,
    LEAST,
    RUNNING,
    NOT_STARTED,
    MEETING,
    BOARD
};
static enum provoked provoked;

static weft_status run(weft_job *job, const weft_kernel *kernel, weft_gptr there, uint64_t *found)
{
    struct user user = {weft_pgas_space(job), there, weft_malloc(job, 8)};
    weft_status status = weft_prepare(job, kernel, 1, 1);

    if (status == WEFT_OK)
        status = weft_run(job, &user, sizeof(user), NULL);
    *found = *user.source;
    return status;
}

/* Nobody can mean that: place 1 makes no call, and brings it all the same. */
static weft_status board(weft_job *job, int process)
{
    struct weft_gbrought lie = {.call = 77, .bytes = 64}, brought[2];
    const struct weft_gtalk *const talk = &job->pgas->talks[weft_handle_index(WEFT_COMM_HOST)];
    weft_gspan span;

    if (process == 0)
        return weft_galloc(job, WEFT_COMM_HOST, 64, &span);
    weft_team_allgather(talk->team, &lie, sizeof(lie), brought, NULL);
    return WEFT_ERR_MISMATCH;
}

static weft_status provoke(weft_job *job, int process, weft_gspan *span)
{
    const weft_gptr g = span->base, garbage = {0xdeadbeef, 3, 4, 5};
    uint64_t word = 0;
    weft_gptr block = weft_gptr_null();
    weft_gspan other;
    weft_status status;
    struct user user = {weft_pgas_space(job), g, weft_malloc(job, 8)};

    if (provoked == TWICE || provoked == INNER || provoked == FOREIGN)
        weft_host_local_alloc(job, 1000, &block);
    switch (provoked) {
    case END:
        return weft_host_gput(job, weft_gptr_add(g, 60), &word, 8);
    case IN_KERNEL:
        return run(job, &beyond, g, &word);
    case FREED:
        weft_gfree(job, span);
        return weft_host_gget(job, g, &word, 8);
    case PLACE:
        return weft_host_gget(job, weft_gptr_at_place(g, 9), &word, 8);
    case GARBAGE:
        return weft_host_gget(job, garbage, &word, 8);
    case TWICE:
        weft_host_local_free(job, block);
        return weft_host_local_free(job, block);
    case INNER:
        return weft_host_local_free(job, weft_gptr_add(block, 256));
    case FOREIGN:
        return weft_host_local_free(job, weft_gptr_at_place(block, 1 - process));
    case FULL:
        status = run(job, &greedy, g, &word);
        return status == WEFT_OK && (word < 8 || word >= 16) ? WEFT_ERR_MEMORY : status;
    case SMALL_HEAP:
        return weft_galloc(job, WEFT_COMM_HOST, 2 << 20, &other);
    case BYTES:
        return weft_galloc(job, WEFT_COMM_HOST, process == 0 ? 64 : 128, &other);
    case RUNNING:
        status = weft_prepare(job, &greedy, 1, 1);
        if (status == WEFT_OK)
            status = weft_start(job, &user, sizeof(user));
        if (status == WEFT_OK && weft_malloc(job, 8) == NULL)
            status = weft_galloc(job, WEFT_COMM_HOST, 8, &other);
        weft_finish(job, NULL);
        return status;
    case NOT_STARTED:
        return weft_finish(job, NULL);
    case MEETING: /* as if another thread were in such a call */
        job->pgas->meeting = true;
        status = weft_galloc(job, WEFT_COMM_HOST, 64, &other);
        job->pgas->meeting = false;
        return weft_gfree(job, span) == WEFT_OK ? status : WEFT_ERR_ARGUMENT;
    default:
        return board(job, process);
    }
}

static int body(int process)
{
    weft_job *job = NULL;
    weft_gspan span = {.members = 0};

    setenv("WEFT_HEAP", provoked == SMALL_HEAP && process == 0 ? "16M" : "1M", 1);
    setenv("WEFT_HEAP_LEAST_BLOCK", provoked == LEAST && process == 1 ? "512" : "256", 1);
    weft_status status = weft_open(&job, NULL, NULL);
    if (status == WEFT_OK)
        status = weft_pgas_open(job);
    if (status == WEFT_OK)
        status = weft_galloc(job, WEFT_COMM_HOST, 64, &span);
    fault_add(FAULT_WORD_READY);
    if (status == WEFT_OK)
        status = provoke(job, process, &span);
    weft_close(job);
    return (int)status;
}

static int failed_checks;

static void expect(enum provoked which, weft_status status, const char *words)
{
    static struct fault_job job;

    provoked = which;
    fault_start(&job, 2, body);
    fault_await(&job);
    bool good = fault_wait(&job, FAULT_HANG_S);
    for (int p = 0; p < 2; p++)
        good = good && job.status[p] == (int)status &&
               (strstr(job.text[p], words) != NULL || (which == BOARD && p == 1));
    if (good)
        return;
    failed_checks++;
    for (int p = 0; p < 2; p++)
        printf("FAILED: case %d, process %d: status %d, not %d, or no \"%s\":\n%s\n", which, p,
               job.status[p], (int)status, words, job.text[p]);
}

int main(void)
{
    setbuf(stdout, NULL);
    expect(END, WEFT_ERR_BOUNDS,
           "weft_host_gput: 8 bytes at offset 60 are not inside segment 1 (64 bytes at place 0)");
    expect(IN_KERNEL, WEFT_ERR_BOUNDS,
           "weft_gput: 8 bytes at offset 60 are not inside segment 1 (64 bytes at place 0)");
    expect(FREED, WEFT_ERR_WINDOW, "weft_host_gget: segment 1 was freed");
    expect(PLACE, WEFT_ERR_RANK, "weft_host_gget: place 9 is not one of 2");
    expect(GARBAGE, WEFT_ERR_ARGUMENT, "weft_host_gget: not a global pointer: where 0xdeadbeef");
    expect(TWICE, WEFT_ERR_ARGUMENT, "is not the beginning of a block of place");
    expect(INNER, WEFT_ERR_ARGUMENT, "weft_local_free: offset ");
    expect(FOREIGN, WEFT_ERR_ARGUMENT, "is not the beginning of a block of place");
    expect(FULL, WEFT_OK, "");
    expect(SMALL_HEAP, WEFT_ERR_MEMORY, "weft_galloc: place 1 has ");
    expect(BYTES, WEFT_ERR_MISMATCH, "weft_galloc: place 0 asks for 64 bytes, place 1 for 128");
    expect(LEAST, WEFT_ERR_MISMATCH,
           "WEFT_HEAP_LEAST_BLOCK=256 and WEFT_SEGMENTS=256 in process 0, 512 and 256 in process");
    expect(RUNNING, WEFT_ERR_STATE, "weft_galloc: a kernel runs");
    expect(NOT_STARTED, WEFT_ERR_STATE, "weft_finish");
    expect(MEETING, WEFT_ERR_STATE, "weft_galloc: another thread of process ");
    expect(BOARD, WEFT_ERR_MISMATCH, "place 1 in garbage of segment 0");
    printf("%d checks failed\n", failed_checks);
    return failed_checks != 0;
}
