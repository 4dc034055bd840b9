/*
 * Jobs of tasks that break: bodies that fail, or wait for ever, lists that differ, words that no
 * place would send, a place that is killed while it has tasks of another, and one that has no
 * memory when tasks end.
 */
#include "support/fault_job.h"
#include "task/tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct user {
    weft_win win;
};

struct none {
    int unused;
};

#define FAULTS(X) X(fine) X(beyond) X(spawns) X(endless) X(large) X(waits)
WEFT_TASK_IDS(FAULTS)

WEFT_TASK(fine, struct none, args)
{
}

/* A put outside of the window. */
WEFT_TASK(beyond, struct none, args)
{
    struct user *user = weft_task_user(task);
    weft_put(self, user->win, 0, 61, task, 8);
}

WEFT_TASK(spawns, struct none, args)
{
    const weft_task_desc desc = {.body = 77};
    weft_task_spawn(self, task, &desc);
}

/* Takes a while; at place 1, which is killed, for ever. */
WEFT_TASK(endless, struct none, args)
{
    struct user *user = weft_task_user(task);

    if (weft_process(self) != 1) {
        usleep(1000);
        return;
    }
    fault_add(FAULT_WORD_A);
    while (weft_fetch_add(self, user->win, 0, 0, 0) == 0)
        continue;
}

WEFT_TASK(large, struct none, args)
{
}

/* For what nobody sends. */
WEFT_TASK(waits, struct none, args)
{
    weft_wait(self, 3, 1);
}

WEFT_TASK_KERNEL(faults, FAULTS, struct user)

#define OTHERS(X) X(fine) X(beneath) X(spawns) X(endless) X(large) X(waits)
WEFT_TASK(beneath, struct none, args)
{
}
WEFT_TASK_KERNEL(others, OTHERS, struct user)

enum provoked {
    BEYOND,
    SPAWNS,
    LARGE,
    WAITS,
    RECORDED,
    TIMEOUT,
    LISTS,
    GRANT,
    GARBAGE,
    OUTSIDE,
    EARLY,
    KILL,
    PLACES,
    COPIES,
    STEAL,
    ROOM,
    ENDS,
    NOT_BEGUN,
    PROVOKED
};
static enum provoked provoked;

static bool is_lie(void)
{
    return provoked >= GRANT && provoked <= EARLY;
}

/*
 * Place 1 tells place 0 of a load that it has not. It answers the last ask and the next one in
 * turns, as its own answer may come first, until that ends the job. EARLY: it says that all is
 * done.
 */
static void lie(weft_job *job, weft_win win)
{
    const struct weft_task_record outside = {
        .body = fine_id,
        .end = 1,
        .home = 1,
        .datas = 1,
        .data[0] = {.win = win, .offset = 60, .bytes = 8, .mode = WEFT_TASK_INOUT}};
    const struct weft_task_place *p = &job->tasks->place;
    const uint64_t *asked = &p->mail->word[weft_task_row(2, WEFT_TASK_ASKED, 0)];
    const uint64_t phase = 1;
    weft_status status = WEFT_OK;

    if (provoked == OUTSIDE)
        weft_host_put(job, p->win, 0, offsetof(struct weft_task_mail, grant), &outside,
                      sizeof(outside));
    if (provoked == EARLY)
        weft_host_put(job, p->win, 0, offsetof(struct weft_task_mail, finished), &phase, 8);
    for (uint64_t i = 1; status == WEFT_OK; i++) {
        const uint64_t ask = __atomic_load_n(asked, __ATOMIC_ACQUIRE) + (i & 1), load = i << 32 | 5;
        const uint64_t granted = ask << 32 | (provoked == GRANT ? 77 : 1);
        if (provoked != EARLY)
            weft_host_put(job, p->win, 0, offsetof(struct weft_task_mail, granted), &granted, 8);
        weft_host_flush(job, p->win);
        if (provoked != EARLY)
            weft_host_put(job, p->win, 0, weft_task_mail_at(weft_task_row(2, WEFT_TASK_LOAD, 1)),
                          &load, 8);
        status = weft_host_flush(job, p->win);
        usleep(1000);
    }
}

/* In process 1 there is no memory when tasks end. */
static bool no_lines;

void *aligned_alloc(size_t alignment, size_t bytes)
{
    void *memory = NULL;

    return no_lines || posix_memalign(&memory, alignment, bytes) != 0 ? NULL : memory;
}

/* The second task waits for the first, which never ends. */
static weft_status record(weft_job *job, weft_win win)
{
    weft_recording *recording;
    weft_task_desc desc = {.body = waits_id, .datas = 1};
    weft_status status = weft_tasks_record(job, &recording);

    desc.data[0] = (weft_task_data_desc){.win = win, .bytes = 8, .mode = WEFT_TASK_OUT};
    if (status == WEFT_OK)
        status = weft_tasks_add(recording, &desc);
    desc.body = fine_id;
    if (status == WEFT_OK)
        status = weft_tasks_add(recording, &desc);
    if (status == WEFT_OK)
        status = weft_tasks_ready(recording);
    return status == WEFT_OK ? weft_tasks_run(recording, 1) : status;
}

/* Process 1 gets no memory for the words of 300 tasks any more. */
static void be_poor(weft_job *job)
{
    const struct rlimit little = {16384, 16384};

    if (weft_numbers_of(job)->process == 1)
        setrlimit(RLIMIT_FSIZE, &little);
}

/* A ring of all places, which does not end (STEAL, ROOM: soon): each task reads what the one before
 * has written. */
static weft_status record_all(weft_job *job, weft_win win)
{
    const int places = weft_numbers_of(job)->processes;
    const int tasks = provoked == COPIES || provoked == ROOM ? 300 : places;
    weft_recording *recording;
    weft_status status = weft_tasks_record_all(job, &recording);

    for (int t = 0; t < tasks && status == WEFT_OK; t++) {
        const int p = t % places;
        weft_task_desc desc = {.body = fine_id, .datas = 2};
        desc.data[0] =
            (weft_task_data_desc){.win = win, .place = p, .bytes = 8, .mode = WEFT_TASK_OUT};
        desc.data[1] = desc.data[0];
        desc.data[1].place = (p + places - 1) % places;
        desc.data[1].mode = WEFT_TASK_IN;
        status = weft_tasks_add_at(recording, &desc, provoked >= STEAL ? -1 : p, 0);
    }
    if (provoked == COPIES)
        be_poor(job);
    if (status == WEFT_OK)
        status = weft_tasks_ready(recording);
    if (provoked == ROOM)
        be_poor(job);
    fault_add(FAULT_WORD_A);
    return status == WEFT_OK ? weft_tasks_run(recording, provoked >= STEAL ? 9 : UINT64_MAX / 2)
                             : status;
}

static weft_status create(weft_job *job, struct user *user, int process)
{
    static const uint32_t bodies[PROVOKED] = {
        [BEYOND] = beyond_id, [SPAWNS] = spawns_id, [LARGE] = large_id,
        [KILL] = endless_id,  [WAITS] = waits_id,   [TIMEOUT] = waits_id};
    weft_task_desc desc = {.body = bodies[provoked]};

    if (is_lie()) { /* nobody is done before the lie is found */
        desc = (weft_task_desc){.body = waits_id, .flags = WEFT_TASK_HOLD};
        weft_task_create(job, &desc, NULL);
        if (process == 1)
            lie(job, user->win);
    }
    no_lines = provoked == ENDS && process == 1;
    if (provoked == ENDS)
        return WEFT_OK;
    if (provoked >= PLACES)
        return record_all(job, user->win);
    if (process != 0 || is_lie())
        return WEFT_OK;
    if (provoked == RECORDED)
        return record(job, user->win);
    if (provoked == LARGE)
        desc.data[desc.datas++] =
            (weft_task_data_desc){.bytes = 1ull << 40, .mode = WEFT_TASK_SCRATCH};
    for (int i = 0; i < (provoked == KILL ? 2000 : 1); i++)
        weft_task_create(job, &desc, NULL);
    return WEFT_OK;
}

static int body(int process)
{
    const weft_task_kernel *kernel = provoked == LISTS && process == 1 ? &others : &faults;
    struct user user;
    weft_job *job = NULL;
    weft_status status;

    if (provoked == STEAL)
        setenv("WEFT_STEAL", process == 1 ? "off" : "all", 1);
    status = weft_open(&job, NULL, NULL);
    if (status == WEFT_OK)
        status = weft_host_win_create(job, weft_malloc(job, 64), 64, &user.win);
    if (status == WEFT_OK && provoked == NOT_BEGUN)
        status = weft_tasks_end(job);
    if (status == WEFT_OK)
        status = weft_tasks_begin(job, kernel, &user, 1,
                                  provoked == KILL || provoked == RECORDED || is_lie() ? 2 : 1);
    if (status == WEFT_OK) {
        fault_add(FAULT_WORD_READY);
        const weft_status made = create(job, &user, process);
        status = weft_tasks_end(job);
        if (provoked >= COPIES && provoked != ENDS)
            status = made;
    }
    fault_add(FAULT_WORD_READY);
    weft_close(job);
    return (int)status;
}

static int failed_checks;

static void check(bool good, const struct fault_job *job, int process, const char *what)
{
    if (good)
        return;
    failed_checks++;
    printf("FAILED: case %d, process %d: %s (status %d after %.1f s); it said:\n%s\n", provoked,
           process, what, job->status[process], job->ended[process], job->text[process]);
}

static void expect(enum provoked which, weft_status status, const char *words)
{
    static struct fault_job job;

    provoked = which;
    fault_set("WEFT_TIMEOUT_S", which == TIMEOUT ? "1" : "0");
    fault_start(&job, 2, body);
    fault_await(&job);
    check(fault_wait(&job, FAULT_HANG_S), &job, 0, "a process had to be killed");
    for (int p = 0; p < 2; p++) {
        check(job.status[p] == (int)status, &job, p, "another status");
        check(strstr(job.text[p], words) != NULL, &job, p, words);
    }
}

/* It says who waits, and is then killed. */
static void stalls(enum provoked which, const char *what, const char *why)
{
    static struct fault_job job;

    provoked = which;
    setenv("WEFT_STALL_S", "0.3", 1);
    fault_start(&job, 2, body);
    fault_await(&job);
    check(fault_says(&job, what, why, FAULT_HANG_S), &job, 0, why);
    fault_kill(&job, 1, 0);
    check(fault_wait(&job, FAULT_HANG_S), &job, 0, "a process had to be killed");
    unsetenv("WEFT_STALL_S");
}

static void kills(void)
{
    static struct fault_job job;

    provoked = KILL;
    setenv("WEFT_STALL_S", "0.3", 1);
    fault_start(&job, 3, body);
    fault_await(&job);
    for (const double from = fault_now(); fault_look(FAULT_WORD_A) == 0;) {
        usleep(1000);
        if (fault_now() - from > FAULT_HANG_S)
            break;
    }
    check(fault_look(FAULT_WORD_A) != 0, &job, 1, "it took no task");
    check(fault_says(&job, " tasks away", " is at place 1, made by ", FAULT_HANG_S), &job, 0,
          "it does not say what is away");
    unsetenv("WEFT_STALL_S");
    fault_kill(&job, 1, 0);
    const double from = fault_now() - job.started;
    check(fault_wait(&job, FAULT_HANG_S), &job, 0, "a process had to be killed");
    for (int p = 0; p < 3; p += 2) {
        check(job.status[p] == WEFT_ERR_PEER_LOST, &job, p, "another status than PEER_LOST");
        check(strstr(job.text[p], "process 1 (pid ") != NULL, &job, p, "it does not say who");
        check(job.ended[p] - from < 10 * fault_scale(), &job, p, "it took more than 10 s");
    }
}

/* One of three places that run a recording of all. */
static void kills_place(int victim, const char *path)
{
    static struct fault_job job;

    provoked = PLACES;
    fault_set("WEFT_PATH", path);
    fault_start(&job, 3, body);
    for (const double from = fault_now();
         fault_look(FAULT_WORD_A) < 3 && fault_now() - from < FAULT_HANG_S;)
        usleep(1000);
    usleep(20000);
    fault_kill(&job, victim, 0);
    check(fault_wait(&job, FAULT_HANG_S), &job, victim, "a process had to be killed");
    for (int p = 0; p < 3; p++) {
        char who[32];
        snprintf(who, sizeof(who), "process %d (pid ", victim);
        check(p == victim || job.status[p] == WEFT_ERR_PEER_LOST, &job, p,
              "another status than PEER_LOST");
        check(p == victim || strstr(job.text[p], who) != NULL, &job, p, "it does not say who");
    }
    fault_set("WEFT_PATH", "auto");
}

int main(void)
{
    setbuf(stdout, NULL);
    expect(BEYOND, WEFT_ERR_BOUNDS, "in task \"beyond\" 0 of place 0");
    expect(SPAWNS, WEFT_ERR_ARGUMENT,
           "weft_task_spawn: body 77 is not one of the kernel's 6; in task \"spawns\"");
    expect(LARGE, WEFT_ERR_LIMIT, "needs 1099511627776 bytes for its data, and has 2097152");
    expect(TIMEOUT, WEFT_ERR_TIMEOUT, "has waited");
    expect(LISTS, WEFT_ERR_MISMATCH,
           "weft_tasks_begin: task 1 is \"beyond\" in process 0, \"beneath\" in process 1");
    expect(
        COPIES, WEFT_ERR_MEMORY,
        "weft_tasks_ready: 300 tasks: a place has no memory for tables, or for words and copies, "
        "of which place ");
    expect(STEAL, WEFT_OK, "");
    expect(ROOM, WEFT_OK,
           "weft_tasks_run: homes stay as they are: a place has no memory for others, of which "
           "place ");
    expect(ENDS, WEFT_OK, "");
    expect(NOT_BEGUN, WEFT_ERR_STATE, "weft_tasks_end: tasks have not begun");
    expect(GRANT, WEFT_ERR_PROTOCOL, "place 1 gives 77 tasks, at most 32");
    expect(GARBAGE, WEFT_ERR_PROTOCOL, "place 1 gives what is no task");
    expect(OUTSIDE, WEFT_ERR_BOUNDS,
           "weft_task_data: 8 bytes at offset 60 are not inside the window of 64 bytes of rank 0; "
           "in task \"fine\" 0 of place 1");
    expect(EARLY, WEFT_ERR_PROTOCOL, "place 0 says that all is done, and place 0 has done 0 of 1");
    stalls(WAITS, "in weft_wait for tag 3", "1 notifications; in task \"waits\" 0 of place");
    stalls(RECORDED, "for recorded task 0 \"waits\" of place 0, which has done 0 of 1 epochs",
           "to run task 1 \"fine\"");
    stalls(RECORDED, "host of process 0 has waited", "in weft_tasks_run: in weft_wait_until at ");
    stalls(RECORDED, "in weft_wait for tag 3", "in task \"waits\" 0 of place 0");
    kills();
    for (int p = 0; p < 3; p++)
        kills_place(p, p == 1 ? "auto" : "proxy");
    printf("%d checks failed\n", failed_checks);
    return failed_checks != 0;
}
