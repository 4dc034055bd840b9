/*
 * fault/test_ccl_faults.c - calls of weft/ccl.h that go wrong: members that make different calls,
 * by the host program and in kernels; one that never calls, or is killed meanwhile; arguments and
 * groups that are none. Each ends on all processes, with the right status and a line that says so.
 *
 *     test_ccl_faults [CASES]     the first ones alone: on GPUs those without a kernel, 12
 */
#include "support/fault_job.h"

#include <weft/ccl.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROCESSES = 2, COUNT = 100 };

static int case_now;

enum {
    DIFFERENT_CALLS,
    DIFFERENT_COUNTS,
    NEVER_CALLS,
    CLOSES,
    KILLED,
    REFUSED,
    NOT_MAPPED,
    MIXTURES_DIFFER, /* which the first call finds, and open */
    MIXTURE_SIZES,
    MIXTURE_WAITS,
    MIXTURE_REFUSED,
    DIFFERENT_SIZES, /* the far device's launches return at their end: there nobody would ask */
    IN_KERNEL,
    NO_COLUMN,
    CASES
};

struct data {
    const weft_ccl_view *view;
    float *x;
    int what, me;
};

WEFT_KERNEL(wrong_columns, struct data, data)
{
    weft_enter(self);
    weft_column_allreduce(self, data->view, 0, data->x, data->x, COUNT, WEFT_F32, WEFT_SUM);
    if (data->what == NO_COLUMN)
        weft_column_barrier(self, data->view, 7);
    else if (data->me == 0)
        weft_column_allreduce(self, data->view, 0, data->x, data->x, COUNT, WEFT_F32, WEFT_MAX);
    else
        weft_column_barrier(self, data->view, 0);
    weft_column_barrier(self, data->view, 0);
    weft_leave(self);
}

static int in_kernel(weft_job *job, weft_ccl *ccl)
{
    struct data data = {.view = weft_ccl_kernel(ccl), .what = case_now, .me = weft_ccl_me(ccl)};

    data.x = weft_malloc(job, COUNT * sizeof(float));
    if (data.x == NULL || weft_prepare(job, &wrong_columns, 1, 1) != WEFT_OK)
        return 100;
    return (int)weft_run(job, &data, sizeof(data), NULL);
}

/* Of one process alone; the job goes on. */
static int refused(weft_ccl *ccl, float *x)
{
    int good = 0;

    good += weft_ccl_allreduce(ccl, NULL, x, 1, WEFT_F32, WEFT_SUM, NULL) == WEFT_ERR_ARGUMENT;
    good +=
        weft_ccl_allreduce(ccl, (char *)x + 2, x, 1, WEFT_F32, WEFT_SUM, NULL) == WEFT_ERR_ARGUMENT;
    good += weft_ccl_allreduce(ccl, x, x, 1, (weft_type)9, WEFT_SUM, NULL) == WEFT_ERR_ARGUMENT;
    good += weft_ccl_allreduce(ccl, x, x, 1, WEFT_BF16, WEFT_XOR, NULL) == WEFT_ERR_ARGUMENT;
    good += weft_ccl_broadcast(ccl, 2, x, 1, WEFT_F32, NULL) == WEFT_ERR_ARGUMENT;
    good += weft_ccl_broadcast(ccl, -1, x, 1, WEFT_F32, NULL) == WEFT_ERR_ARGUMENT;
    good += weft_ccl_allgather(ccl, x, x, (size_t)1 << 60, WEFT_F32, NULL) == WEFT_ERR_ARGUMENT;
    good += weft_ccl_barrier(NULL, NULL) == WEFT_ERR_ARGUMENT;
    good += weft_ccl_allreduce(ccl, NULL, NULL, 0, WEFT_F32, WEFT_SUM, NULL) == WEFT_OK;
    return good == 9 && weft_ccl_check(ccl) == WEFT_OK ? WEFT_ERR_ARGUMENT : 101;
}

static int refused_mixture(weft_ccl_moe *moe, char *rows, int32_t *chosen)
{
    float *const weights = (float *)(void *)chosen;
    int good = 0;

    good +=
        weft_ccl_dispatch(moe, rows + 4, chosen, 1, rows, chosen, NULL, NULL) == WEFT_ERR_ARGUMENT;
    good += weft_ccl_dispatch(moe, rows, NULL, 1, rows, chosen, NULL, NULL) == WEFT_ERR_ARGUMENT;
    good += weft_ccl_dispatch(moe, rows, chosen, 3, rows, chosen, NULL, NULL) == WEFT_ERR_ARGUMENT;
    good += weft_ccl_dispatch(moe, rows, chosen, -1, rows, chosen, NULL, NULL) == WEFT_ERR_ARGUMENT;
    good += weft_ccl_combine(moe, rows, weights, WEFT_U8, rows, NULL) == WEFT_ERR_ARGUMENT;
    good += weft_ccl_combine(moe, rows, weights, WEFT_F32, NULL, NULL) == WEFT_ERR_ARGUMENT;
    good += weft_ccl_combine(NULL, rows, weights, WEFT_F32, rows, NULL) == WEFT_ERR_ARGUMENT;
    return good == 7 ? WEFT_ERR_ARGUMENT : 104;
}

static int outcome(weft_job *job, weft_ccl *ccl, weft_status status);

static int mixture(weft_job *job, weft_ccl *ccl, int process)
{
    const weft_ccl_moe_desc desc = {.experts = case_now == MIXTURES_DIFFER ? 3 + process : 4,
                                    .topk = 1,
                                    .tokens = case_now == MIXTURE_SIZES ? 1 + process : 2,
                                    .row_bytes = 16};
    char *const rows = weft_malloc(job, 1024);
    int32_t *const chosen = weft_malloc(job, 1024);
    weft_ccl_moe *moe;

    if (rows == NULL || chosen == NULL)
        return 105;
    const weft_status status = weft_ccl_moe_open(ccl, &desc, &moe);
    if (status != WEFT_OK)
        return (int)status;
    if (case_now == MIXTURE_REFUSED)
        return refused_mixture(moe, rows, chosen);
    if (case_now == MIXTURE_WAITS && process == 1)
        return outcome(job, ccl, WEFT_OK);
    return outcome(job, ccl,
                   weft_ccl_dispatch(moe, rows, chosen, 2, rows + 256, chosen + 64, NULL, NULL));
}

/* What a call has come to: on a stream it goes on after its return. */
static int outcome(weft_job *job, weft_ccl *ccl, weft_status status)
{
    for (int i = 0; i < 5000 && status == WEFT_OK; i++) {
        usleep(10000);
        status = weft_ccl_check(ccl);
    }
    return weft_error(job)[0] == '\0' ? 105 : (int)status; /* the reason is there, too */
}

static int call(weft_job *job, weft_ccl *ccl, int process)
{
    const size_t five[] = {5, 5}, mine[] = {6, 5};
    float *const x = weft_malloc(job, 2 * COUNT * sizeof(float));

    if (x == NULL || weft_ccl_allreduce(ccl, x, x, COUNT, WEFT_F32, WEFT_SUM, NULL) != WEFT_OK)
        return 102;
    fault_add(FAULT_WORD_READY);
    switch (case_now) {
    case DIFFERENT_CALLS:
        return outcome(job, ccl,
                       process == 0 ? weft_ccl_allreduce(ccl, x, x, COUNT, WEFT_F32, WEFT_SUM, NULL)
                                    : weft_ccl_allgather(ccl, x + COUNT, x, COUNT, WEFT_F32, NULL));
    case DIFFERENT_COUNTS:
        return outcome(
            job, ccl,
            weft_ccl_reduce_scatter(ccl, x, x, process == 0 ? 8 : 9, WEFT_F32, WEFT_SUM, NULL));
    case DIFFERENT_SIZES: /* of the block from member 1 to member 0 */
        return outcome(job, ccl,
                       weft_ccl_alltoall_sizes(ccl, x, process == 0 ? five : mine, x + COUNT, five,
                                               WEFT_F32, NULL));
    case CLOSES: /* process 1 does, in body, and waits there */
        return process == 1
                   ? WEFT_ERR_TIMEOUT
                   : outcome(job, ccl,
                             weft_ccl_allreduce(ccl, x, x, COUNT, WEFT_F32, WEFT_SUM, NULL));
    case NEVER_CALLS:
    case KILLED:
        if (process == 1)
            return outcome(job, ccl, WEFT_OK);
        return outcome(job, ccl, weft_ccl_allreduce(ccl, x, x, COUNT, WEFT_F32, WEFT_SUM, NULL));
    case REFUSED:
        return refused(ccl, x);
    case MIXTURES_DIFFER:
    case MIXTURE_SIZES:
    case MIXTURE_WAITS:
    case MIXTURE_REFUSED:
        return mixture(job, ccl, process);
    default:
        return in_kernel(job, ccl);
    }
}

static int body(int process)
{
    weft_job *job;
    weft_ccl *ccl = NULL;

    fault_set("WEFT_TIMEOUT_S",
              case_now == CLOSES && process == 1 ? "4" /* the other one says what is wrong */
              : case_now == NEVER_CALLS || case_now == CLOSES || case_now == MIXTURE_WAITS ? "1"
                                                                                           : "60");
    setenv("WEFT_PATH", case_now == NOT_MAPPED ? "proxy" : "auto", 1);
    if (weft_open(&job, NULL, NULL) != WEFT_OK)
        return 103;
    int status = (int)weft_ccl_open(job, WEFT_COMM_HOST, 4, &ccl);
    if (status == WEFT_OK)
        status = call(job, ccl, process);
    weft_ccl_close(&ccl);
    weft_close(job);
    return status;
}

/* What each process returns, and what one of them says. */
static const struct {
    weft_status status;
    const char *one, *other;
} wanted[CASES] = {
    [DIFFERENT_CALLS] = {WEFT_ERR_MISMATCH, "weft_ccl_allreduce of 100 F32",
                         "weft_ccl_allgather of 100 F32"},
    [DIFFERENT_COUNTS] = {WEFT_ERR_MISMATCH, "weft_ccl_reduce_scatter of 8 F32",
                          "weft_ccl_reduce_scatter of 9 F32"},
    [DIFFERENT_SIZES] = {WEFT_ERR_MISMATCH, "weft_ccl_alltoall_sizes", "weft_ccl_alltoall_sizes"},
    [NEVER_CALLS] = {WEFT_ERR_TIMEOUT, "weft_ccl_allreduce of 100 F32", "for member 1"},
    [CLOSES] = {WEFT_ERR_TIMEOUT, "in weft_ccl_close", "weft_ccl_allreduce of 100 F32"},
    [KILLED] = {WEFT_ERR_PEER_LOST, "process 1", "was lost"},
    [IN_KERNEL] = {WEFT_ERR_MISMATCH, "column 0", "failed"},
    [NO_COLUMN] = {WEFT_ERR_ARGUMENT, "weft_column_barrier", "column 7"},
    [REFUSED] = {WEFT_ERR_ARGUMENT, "memory is not aligned", "weft_ccl_allreduce"},
    [NOT_MAPPED] = {WEFT_ERR_UNSUPPORTED, "weft_ccl_open", "does not map"},
    [MIXTURES_DIFFER] = {WEFT_ERR_MISMATCH, "makes weft_ccl_dispatch of U8 (key", "call 2"},
    [MIXTURE_SIZES] = {WEFT_ERR_MISMATCH, "weft_ccl_moe_open", "asks for other numbers"},
    [MIXTURE_WAITS] = {WEFT_ERR_TIMEOUT, "weft_ccl_dispatch", "for member 1"},
    [MIXTURE_REFUSED] = {WEFT_ERR_ARGUMENT, "memory is not aligned", "weft_ccl_dispatch"},
};

int main(int argc, char **argv)
{
    const int cases = argc > 1 ? atoi(argv[1]) : CASES;
    int wrong = 0;

    for (case_now = 0; case_now < cases; case_now++) {
        struct fault_job job;
        bool says = false;
        fault_start(&job, PROCESSES, body);
        if (case_now == KILLED) {
            fault_await(&job);
            fault_kill(&job, 1, 0.1);
        }
        const bool ended = fault_wait(&job, 60);
        for (int p = 0; p < PROCESSES; p++) {
            char name[16];
            snprintf(name, sizeof(name), "case %d", case_now);
            says = says || (strstr(job.text[p], wanted[case_now].one) != NULL &&
                            strstr(job.text[p], wanted[case_now].other) != NULL);
            wrong += fault_check(ended && (job.status[p] == (int)wanted[case_now].status ||
                                           (case_now == KILLED && p == 1)),
                                 &job, name, p, "has another status");
            wrong += p == PROCESSES - 1
                         ? fault_check(says, &job, name, p, "and nobody says what is wrong")
                         : 0;
        }
    }
    printf("%s\n", wrong == 0 ? "all good" : "FAILED");
    return wrong != 0;
}
