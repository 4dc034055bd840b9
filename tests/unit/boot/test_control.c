/*
 * The control channel of a job that runs: all processes see all frames in one order, and learn of a
 * loss exactly once, as tasks of one address space and over TCP.
 */
#include "control_run.h"

/* Twice in a row: who is first in the second job waits for the last of the first. */
static int all_send_twice(struct weft_config *config)
{
    int wrong = all_send(config);
    return wrong ? wrong : all_send(config);
}

/* An orderly end is no loss. */
static int leave_one_by_one(struct weft_config *config)
{
    struct weft_control *control;
    struct weft_frame frame;

    EXPECT(weft_control_open(&control, config) == WEFT_OK);
    const int me = control->process;
    if (me != 0)
        pause_ms(50 * me);
    if (me == PROCESSES - 1)
        EXPECT(weft_control_next(control, &frame, 0) == WEFT_ERR_TIMEOUT);
    weft_control_close(control, true);
    return 0;
}

/* In one address space nobody's memory goes while another may still write into it. */
static int leave_together(struct weft_config *config)
{
    struct weft_control *control;

    EXPECT(weft_control_open(&control, config) == WEFT_OK);
    pause_ms(30 * control->process);
    __atomic_add_fetch(&shared->leaving, 1, __ATOMIC_RELAXED);
    weft_control_close(control, control->process != 1); /* one is lost */
    EXPECT(__atomic_load_n(&shared->leaving, __ATOMIC_RELAXED) == PROCESSES);
    return 0;
}

static void wake_soon(void *control)
{
    pause_ms(30);
    weft_control_wake(control);
}

/* Who waits for a frame is woken, and waits no more; frames that are there come all the same. */
static int all_wake(struct weft_config *config)
{
    struct weft_control *control;
    struct weft_frame frame;
    struct weft_task waker;

    EXPECT(weft_control_open(&control, config) == WEFT_OK);
    const uint64_t start = weft_now_ns();
    EXPECT(weft_task_start(&waker, "waker", wake_soon, control) == WEFT_OK);
    while (weft_control_next(control, &frame, 200 * second) == WEFT_OK)
        ; /* of those who were woken earlier */
    weft_task_join(&waker);
    while (weft_control_next(control, &frame, 200 * second) == WEFT_OK)
        ;
    EXPECT(weft_now_ns() - start < 100 * second);
    const int me = control->process;
    EXPECT(weft_control_send(control, (uint16_t)(me + 1), NULL, 0) == WEFT_OK);
    do {
        const weft_status status = weft_control_next(control, &frame, 0);
        EXPECT(status == WEFT_OK || status == WEFT_ERR_TIMEOUT);
        frame.kind = status == WEFT_OK ? frame.kind : 0;
        EXPECT(weft_now_ns() - start < 100 * second);
    } while (frame.kind != me + 1);
    weft_control_close(control, true);
    return 0;
}

/* Process 2 closes without a good-bye, the others go on without it. */
static int one_closes(struct weft_config *config)
{
    struct weft_control *control;

    EXPECT(weft_control_open(&control, config) == WEFT_OK);
    if (control->process == 2) {
        weft_control_close(control, false);
        return 0;
    }
    int wrong = expect_lost(control, 2);
    if (!wrong)
        wrong = exchange(control, PROCESSES - 1);
    weft_control_close(control, true);
    return wrong;
}

static int one_is_killed(struct weft_config *config)
{
    struct weft_control *control;

    EXPECT(weft_control_open(&control, config) == WEFT_OK);
    if (config->process == 2)
        raise(SIGKILL);
    int wrong = expect_lost(control, 2);
    if (!wrong)
        wrong = exchange(control, PROCESSES - 1);
    weft_control_close(control, true);
    return wrong;
}

/* The root ends when it knows that all are in the job; what it relayed until then may be lost. */
static int root_is_killed(struct weft_config *config)
{
    struct weft_control *control;
    struct weft_frame frame = {.kind = 1};

    EXPECT(weft_control_open(&control, config) == WEFT_OK);
    EXPECT(weft_control_send(control, 3, NULL, 0) == WEFT_OK);
    for (int i = 0; config->process == 0 && i < PROCESSES; i++)
        EXPECT(weft_control_next(control, &frame, 200 * second) == WEFT_OK);
    if (config->process == 0)
        raise(SIGKILL);
    while (frame.kind != WEFT_FRAME_LOST)
        EXPECT(weft_control_next(control, &frame, 200 * second) == WEFT_OK);
    EXPECT(frame.source == 0);
    EXPECT(weft_control_next(control, &frame, 0) == WEFT_ERR_TIMEOUT); /* once */
    weft_control_close(control, true);
    return 0;
}

/* What the root said before it closed still arrives. */
static int root_closes(struct weft_config *config)
{
    struct weft_control *control;
    struct weft_frame frame;

    EXPECT(weft_control_open(&control, config) == WEFT_OK);
    if (config->process == 0) {
        EXPECT(weft_control_send(control, 9, "last words", 10) == WEFT_OK);
        weft_control_close(control, false);
        return 0;
    }
    EXPECT(weft_control_next(control, &frame, 200 * second) == WEFT_OK);
    EXPECT(frame.kind == 9 && frame.bytes == 10);
    free(frame.payload);
    int wrong = expect_lost(control, 0);
    EXPECT(weft_control_next(control, &frame, 0) == WEFT_ERR_TIMEOUT); /* once */
    weft_control_close(control, true);
    return wrong;
}

/* Frames that all who read have had. */
static uint32_t all_have(void)
{
    const uint32_t a = __atomic_load_n(&shared->have[0], __ATOMIC_RELAXED);
    const uint32_t b = __atomic_load_n(&shared->have[3], __ATOMIC_RELAXED);

    return a < b ? a : b;
}

/* Process 1 does not read while process 2 sends more than a member may be behind; the others do. */
static int one_does_not_read(struct weft_config *config)
{
    enum { AHEAD = 8 }; /* of those who read, that they are not lost, too */
    static unsigned char block[WEFT_FRAME_MAX];
    struct weft_control *control;
    struct weft_frame frame;
    bool lost = false;
    int sent = 0;

    EXPECT(weft_control_open(&control, config) == WEFT_OK);
    if (config->process == 1) {
        while (weft_control_send(control, 1, NULL, 0) == WEFT_OK)
            pause_ms(20);
        weft_control_close(control, false);
        return 0;
    }
    while (!lost) {
        if (config->process == 2 && sent < (int)all_have() + AHEAD) {
            EXPECT(weft_control_send(control, 2, block, sizeof(block)) == WEFT_OK);
            EXPECT(++sent < 256); /* the bound is 64 MiB, and something lies in sockets */
        }
        for (;;) {
            weft_status status =
                weft_control_next(control, &frame, config->process == 2 ? 1000000 : 200 * second);
            if (status == WEFT_ERR_TIMEOUT && config->process == 2)
                break;
            EXPECT(status == WEFT_OK);
            free(frame.payload);
            lost = frame.kind == WEFT_FRAME_LOST;
            if (lost)
                break;
            if (frame.kind == 2)
                __atomic_add_fetch(&shared->have[config->process], 1, __ATOMIC_RELAXED);
        }
    }
    EXPECT(frame.source == 1);
    weft_control_close(control, true);
    return 0;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void local_order(void **state)
{
    (void)state;
    run_local(all_send_twice);
    assert_one_order();
}

static void local_ends(void **state)
{
    (void)state;
    run_local(leave_one_by_one);
    run_local(leave_together);
    run_local(one_closes);
    run_local(all_wake);
}

static void tcp_order(void **state)
{
    (void)state;
    run_tcp(all_send, true, -1);
    assert_one_order();
    run_tcp(all_send_twice, true, -1);
}

static void tcp_ends(void **state)
{
    (void)state;
    run_tcp(leave_one_by_one, true, -1);
    run_tcp(one_closes, true, -1);
    run_tcp(all_wake, true, -1);
    run_tcp(one_is_killed, true, 2);
    run_tcp(root_is_killed, true, 0);
    run_tcp(root_closes, true, -1);
    run_tcp(one_does_not_read, true, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(local_order), cmocka_unit_test(local_ends),
                                       cmocka_unit_test(tcp_order), cmocka_unit_test(tcp_ends)};

    return open_shared() ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
