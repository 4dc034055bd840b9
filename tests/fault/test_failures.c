/*
 * fault/test_failures.c - every way in which a job can go wrong ends it: on all processes, with the
 * right status, with a line that says what happened, soon, and with nothing left behind.
 */
#include "support/fault_job.h"
#include "weft/device.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROCESSES = 4, RANKS = 3 };

struct data {
    int what;
};

/* What the ranks do, by number. */
enum {
    FOR_EVER,
    BAD_RANK,
    WAIT_FOR_NOBODY,
    WAIT_FOR_ENDED,
    MISS_BARRIER,
    MISS_WINDOW,
    COMPUTE_ON,
    DISAGREE
};

static void compute(double seconds)
{
    for (const double end = fault_now() + seconds; fault_now() < end;)
        continue;
}

WEFT_KERNEL(failing, struct data, data)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), n = weft_size(self, WEFT_COMM_WORLD);

    weft_enter(self);
    if (data->what == BAD_RANK && me == 4)
        weft_notify(self, WEFT_COMM_WORLD, n + 7, 1);
    if (data->what == WAIT_FOR_NOBODY && me == 1)
        weft_wait(self, 42, 3);
    if (data->what == WAIT_FOR_ENDED) {
        if (me == 1)
            weft_wait(self, 43, 1);
        return;
    }
    if (data->what == MISS_BARRIER && me != 2)
        weft_barrier(self, WEFT_COMM_WORLD);
    if (data->what == MISS_BARRIER && me == 2)
        weft_wait(self, 9, 1);
    if (data->what == MISS_WINDOW && me != 2)
        weft_win_create(self, WEFT_COMM_WORLD, NULL, 0);
    if (data->what == MISS_WINDOW && me == 2)
        weft_wait(self, 9, 1);
    if (data->what == COMPUTE_ON && me == 0) {
        fault_add(FAULT_WORD_A);
        compute(2);
    }
    if (data->what == COMPUTE_ON && me == 4) {
        while (fault_look(FAULT_WORD_A) == 0)
            usleep(1000);
        weft_notify(self, WEFT_COMM_WORLD, -3, 1);
    }
    if (data->what == DISAGREE) {
        weft_win win = WEFT_WIN_NONE;
        weft_comm comm = WEFT_COMM_NONE;
        if (me == 5)
            comm = weft_comm_split(self, WEFT_COMM_WORLD, 0, 0);
        else
            win = weft_win_create(self, WEFT_COMM_WORLD, NULL, 0);
        weft_log(self, "not reached %d %d", (int)win, (int)comm);
    }
    for (;;) { /* a ring that never ends */
        weft_notify(self, WEFT_COMM_WORLD, (me + 1) % n, 1);
        weft_wait(self, 1, 1);
    }
}

/* What the ranks do in the next job: body_kernel's. */
static int ranks_do;
static int victim; /* whom it kills, if anyone */

/* A process that runs the kernel; its exit code is the status. */
static int body_kernel(int process)
{
    struct data data = {ranks_do};

    (void)process;
    return fault_run(&failing, RANKS, &data, sizeof(data));
}

/* Process 1 leaves without closing the job. */
static int body_leave(int process)
{
    weft_job *job;

    if (process != 1)
        return body_kernel(process);
    if (weft_open(&job, NULL, NULL) == WEFT_OK)
        weft_prepare(job, &failing, 1, RANKS);
    _exit(0);
}

/* Process 3 gives up while the others run. */
static int body_abort(int process)
{
    weft_job *job = NULL;
    weft_status status;

    if (process != 3)
        return body_kernel(process);
    status = weft_open(&job, NULL, NULL);
    if (status == WEFT_OK)
        weft_abort(job, "the input is empty");
    if (status == WEFT_OK)
        status = weft_prepare(job, &failing, 1, RANKS);
    weft_close(job);
    return (int)status;
}

/* The processes disagree about which call comes next. */
static int body_mismatch(int process)
{
    weft_job *job = NULL;
    weft_status status = weft_open(&job, NULL, NULL);
    int all[PROCESSES];

    if (status == WEFT_OK)
        status = process == 2 ? weft_host_gather(job, 0, &process, sizeof(process), all)
                              : weft_prepare(job, &failing, 1, RANKS);
    weft_close(job);
    return (int)status;
}

/* Waits in a host barrier that process 2 never enters. */
static int body_host_barrier(int process)
{
    weft_job *job = NULL;
    weft_status status = weft_open(&job, NULL, NULL);

    if (status == WEFT_OK)
        fault_add(FAULT_WORD_READY);
    if (status == WEFT_OK && process == 2)
        sleep(30);
    if (status == WEFT_OK)
        status = weft_host_barrier(job);
    weft_close(job);
    return (int)status;
}

/* Opens a second job, to which the process that is killed never comes. */
static int body_second_job(int process)
{
    weft_job *job = NULL, *second = NULL;
    weft_status status = weft_open(&job, NULL, NULL);

    fault_add(FAULT_WORD_READY);
    if (process == victim)
        pause();
    if (status == WEFT_OK)
        status = weft_open(&second, NULL, NULL);
    weft_close(second);
    weft_close(job);
    return (int)status;
}

/* Gets from process 2, which does not answer, while a kernel runs. */
static int body_host_get(int process)
{
    struct data data = {FOR_EVER};
    weft_job *job = NULL;
    weft_win win = WEFT_WIN_NONE;
    uint64_t word;
    weft_status status = weft_open(&job, NULL, NULL);

    if (status == WEFT_OK)
        status = weft_host_win_create(job, weft_malloc(job, 8), 8, &win);
    if (status == WEFT_OK)
        status = weft_prepare(job, &failing, 1, RANKS);
    if (status == WEFT_OK)
        status = weft_start(job, &data, sizeof(data));
    fault_add(FAULT_WORD_READY);
    if (process == 2)
        raise(SIGSTOP);
    while (status == WEFT_OK) /* until it stands still */
        status = weft_host_get(job, win, 2, 0, &word, 8);
    if (status != WEFT_OK && weft_finish(job, NULL) != status)
        status = WEFT_OK;
    weft_close(job);
    return (int)status;
}

/* Process 1 has another limit than the others: each of them sees it, and one tells the job. */
static int body_differ(int process)
{
    weft_job *job = NULL;

    if (process == 1)
        setenv("WEFT_WINDOWS", "17", 1);
    const weft_status status = weft_open(&job, NULL, NULL);
    weft_close(job);
    return (int)status;
}

struct failure {
    const char *name;
    int (*body)(int process); /* NULL: body_kernel, for ranks_do */
    int ranks_do;
    bool kills;         /* one process is killed */
    int victim;         /* its number */
    weft_status status; /* of all processes that were not killed */
    const char *says;   /* a line of every such process */
    const char *environment[2];
    const char *path;  /* NULL: auto */
    const char *cause; /* another line, of process 0; or NULL */
};

static const struct failure failures[] = {
    {.name = "a process is killed",
     .ranks_do = FOR_EVER,
     .kills = true,
     .victim = 2,
     .status = WEFT_ERR_PEER_LOST,
     .says = "process 2 (pid "},
    {.name = "process 0 is killed",
     .ranks_do = FOR_EVER,
     .kills = true,
     .victim = 0,
     .status = WEFT_ERR_PEER_LOST,
     .says = "process 0 (pid "},
    {.name = "one is killed, proxied",
     .ranks_do = FOR_EVER,
     .kills = true,
     .victim = 3,
     .status = WEFT_ERR_PEER_LOST,
     .says = "process 3 (pid ",
     .path = "proxy"},
    {.name = "one is killed in a host barrier",
     .body = body_host_barrier,
     .kills = true,
     .victim = 2,
     .status = WEFT_ERR_PEER_LOST,
     .says = "process 2 (pid "},
    {.name = "one is killed, gets from it are under way",
     .body = body_host_get,
     .kills = true,
     .victim = 2,
     .status = WEFT_ERR_PEER_LOST,
     .says = "process 2 (pid ",
     .path = "proxy"},
    {.name = "one is killed that does not come to a second job",
     .body = body_second_job,
     .kills = true,
     .victim = 2,
     .status = WEFT_ERR_PEER_LOST,
     .says = "process 2 (pid "},
    {.name = "process 0 is killed, and does not come to a second job",
     .body = body_second_job,
     .kills = true,
     .victim = 0,
     .status = WEFT_ERR_PEER_LOST,
     .says = "process 0 (pid "},
    {.name = "a process leaves",
     .body = body_leave,
     .status = WEFT_ERR_PEER_LOST,
     .says = "was lost: killed, out of reach, or ended without weft_close"},
    {.name = "the program gives up",
     .body = body_abort,
     .status = WEFT_ERR_USER,
     .says = "process 3: the input is empty"},
    {.name = "a bad rank",
     .ranks_do = BAD_RANK,
     .status = WEFT_ERR_RANK,
     .says = "rank 4: weft_notify: target 19 is not one of the 12 ranks of WEFT_COMM_WORLD"},
    {.name = "a bad rank, proxied",
     .ranks_do = BAD_RANK,
     .status = WEFT_ERR_RANK,
     .says = "rank 4: weft_notify: target 19 is not one of the 12 ranks of WEFT_COMM_WORLD",
     .path = "proxy"},
    {.name = "a wait for nobody",
     .ranks_do = WAIT_FOR_NOBODY,
     .status = WEFT_ERR_TIMEOUT,
     .says = "in weft_wait for tag",
     .environment = {"WEFT_TIMEOUT_S", "1.5"}},
    {.name = "a wait for ranks that have ended",
     .ranks_do = WAIT_FOR_ENDED,
     .status = WEFT_ERR_TIMEOUT,
     .says = "in weft_wait for tag 43",
     .environment = {"WEFT_TIMEOUT_S", "1.5"},
     .cause = "rank 0, rank 2 have ended their kernel\n"},
    {.name = "a missed barrier",
     .ranks_do = MISS_BARRIER,
     .status = WEFT_ERR_TIMEOUT,
     .says = "s in ",
     .environment = {"WEFT_TIMEOUT_S", "1.5"},
     .cause = "for tag 9: has 0 of 1"},
    {.name = "a missed window",
     .ranks_do = MISS_WINDOW,
     .status = WEFT_ERR_TIMEOUT,
     .says = "in weft_win_create of WEFT_COMM_WORLD: not there: ",
     .environment = {"WEFT_TIMEOUT_S", "1.5"},
     .cause = "for tag 9: has 0 of 1"},
    {.name = "a rank computes on",
     .ranks_do = COMPUTE_ON,
     .status = WEFT_ERR_RANK,
     .says = "rank 4: weft_notify: target -3",
     .environment = {"WEFT_STALL_S", "0.3"},
     .cause = "ranks that compute on without a call of weft's: rank 0\n"},
    {.name = "ranks disagree",
     .ranks_do = DISAGREE,
     .status = WEFT_ERR_MISMATCH,
     .says = "weft_comm_split"},
    {.name = "settings differ",
     .body = body_differ,
     .status = WEFT_ERR_CONFIG,
     .says = "could not open the job: WEFT_WINDOWS"},
    {.name = "processes disagree",
     .body = body_mismatch,
     .status = WEFT_ERR_MISMATCH,
     .says = " while process "},
};

static int failed_checks;

static void check(bool good, const struct failure *f, int process, const char *what,
                  const struct fault_job *job)
{
    failed_checks += fault_check(good, job, f->name, process, what);
}

/* Files that a job of ours could have left. */
static int left_behind(void)
{
    DIR *dir = opendir("/dev/shm");
    int count = 0;

    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;)
        count += strstr(e->d_name, "weft") != NULL;
    if (dir != NULL)
        closedir(dir);
    return count;
}

static void run_failure(const struct failure *f)
{
    static struct fault_job job;
    const int before = left_behind();

    const char *const usual =
        getenv("WEFT_NET") != NULL ? "proxy" : "auto"; /* over what it names */
    setenv("WEFT_PATH", f->path != NULL ? f->path : usual, 1);
    ranks_do = f->ranks_do;
    victim = f->victim;
    if (f->environment[0] != NULL)
        fault_set(f->environment[0], f->environment[1]);
    fault_start(&job, PROCESSES, f->body != NULL ? f->body : body_kernel);
    fault_await(&job);
    if (f->kills)
        fault_kill(&job, f->victim, 0.1);
    const double from = f->kills ? fault_now() - job.started : job.ready;
    if (!fault_wait(&job, FAULT_HANG_S))
        check(false, f, 0, "a process had to be killed", &job);
    if (f->environment[0] != NULL)
        unsetenv(f->environment[0]);
    for (int p = 0; p < PROCESSES; p++) {
        if ((f->kills && p == f->victim) || (f->body == body_leave && p == 1))
            continue;
        check(job.status[p] == (int)f->status, f, p, "another status than expected", &job);
        const char *said = strstr(job.text[p], f->says);
        check(said != NULL, f, p, "it does not say what happened", &job);
        check(said == NULL || strstr(said + 1, f->says) == NULL || f->status == WEFT_ERR_TIMEOUT, f,
              p, "it says it twice", &job);
        check(job.ended[p] - from < 10 * fault_scale(), f, p, "it took more than 10 s", &job);
    }
    check(f->cause == NULL || strstr(job.text[0], f->cause) != NULL, f, 0, "no word of the cause",
          &job);
    check(left_behind() == before, f, 0, "something is left in /dev/shm", &job);
    printf("%s: done\n", f->name);
}

int main(void)
{
    setbuf(stdout, NULL);
    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++)
        run_failure(&failures[i]);
    printf("%d checks failed\n", failed_checks);
    return failed_checks != 0;
}
