/*
 * gaspi_lost HOW - how a job of GASPI begins and ends, for test_gaspi.sh:
 *
 * - exit, kill, reads: the last rank ends early, by itself or by gaspi_proc_kill of rank 0, in the
 *   end while it reads from a stream; the others learn it from a call that blocks, and the state
 *   vector says who it is.
 * - term, none: rank 0 ends with calls under way that it has never completed. none: besides,
 *   GASPI_GROUP_ALL is not committed at first.
 * - leave: all end when they have begun, without gaspi_proc_term. No gaspi_proc_init fails.
 * - start US: the last process is killed after so many microseconds, while the job starts.
 * - differ: its number of notifications is another one.
 */
#include "gaspi_test.h"

#include <signal.h>
#include <sys/time.h>

gaspi_rank_t rank, ranks = 1;
unsigned checks;

/* Waits, in that rank, until the others are out of the call before: a loss could fail it. */
static void all_have_left(gaspi_rank_t who)
{
    if (rank == who) {
        for (gaspi_rank_t r = 0; r < ranks; r++)
            CHECK(r == who || await(0, r) == 1);
    } else {
        const gaspi_return_t code = gaspi_notify(0, who, rank, 1, 0, GASPI_BLOCK);
        CHECK(code == GASPI_SUCCESS ||
              code == GASPI_ERROR); /* the loss may come before it returns */
    }
}

static gaspi_return_t first(gaspi_pointer_t const one, gaspi_pointer_t const two,
                            gaspi_pointer_t const result, gaspi_reduce_state_t const state,
                            const gaspi_number_t number, const gaspi_size_t bytes,
                            const gaspi_timeout_t timeout_ms)
{
    (void)two, (void)state, (void)timeout_ms;
    memcpy(result, one, number * bytes);
    return GASPI_SUCCESS;
}

/* A group of all, or, not committed, of rank 0 and another. */
static gaspi_group_t group_of(int all, gaspi_rank_t other)
{
    gaspi_group_t group;

    GOOD(gaspi_group_create(&group));
    for (gaspi_rank_t i = 0; i < ranks; i++)
        if (all || i == 0 || i == other)
            GOOD(gaspi_group_add(group, i));
    if (all)
        GOOD(gaspi_group_commit(group, GASPI_BLOCK));
    return group;
}

enum { LARGE = 100000 }; /* elements of a reduction: they do not go at once */

/* What rank 0 begins and nobody completes, of every kind: the end waits for none of it. */
static void leave_under_way(gaspi_rank_t last)
{
    static gaspi_double from[LARGE], into[LARGE];
    static gaspi_long in[255], out[255];
    gaspi_group_t groups[8];

    for (int i = 0; i < 8; i++)
        groups[i] = group_of(1, 0);
    GOOD(gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK));
    if (rank != 0)
        return;
    CODE(GASPI_TIMEOUT, gaspi_barrier(groups[0], 5));
    CODE(GASPI_TIMEOUT, gaspi_barrier(groups[1], GASPI_TEST));
    CODE(GASPI_TIMEOUT,
         gaspi_allreduce(from, into, LARGE, GASPI_OP_SUM, GASPI_TYPE_DOUBLE, groups[2], 5));
    CODE(GASPI_TIMEOUT,
         gaspi_allreduce_user(in, out, 255, sizeof(in[0]), first, NULL, groups[3], GASPI_TEST));
    CODE(GASPI_TIMEOUT, gaspi_segment_create(1, 64, groups[4], GASPI_TEST, GASPI_ALLOC_DEFAULT));
    for (int i = 0; i < 10; i++)
        gaspi_passive_send(0, 0, last, 64, GASPI_TEST);
    GOOD(gaspi_write_notify(0, 0, last, 0, 32, 8, 9, 1, 0, GASPI_BLOCK));
    GOOD(gaspi_read_notify(0, 32, last, 0, 0, 8, 8, 1, GASPI_BLOCK));
    const gaspi_group_t group = group_of(0, last);
    CODE(GASPI_TIMEOUT, gaspi_group_commit(group, 5));
    CODE(GASPI_ERR_ACTIVE_COLL, gaspi_group_delete(group));
    CODE(GASPI_ERR_INV_GROUP, gaspi_group_add(group, last));
}

/* This process is the job's last, before it knows its rank. */
static int is_last(void)
{
    const char *const own = getenv("WEFT_PROCESS"), *const all = getenv("WEFT_PROCESSES");

    return own != NULL && all != NULL && atoi(own) == atoi(all) - 1;
}

/* The start of a job in which a process is lost, or is not as the others: an error, no crash. */
static int bad_start(const char *how, const char *microseconds)
{
    gaspi_config_t config;

    GOOD(gaspi_config_get(&config));
    if (is_last() && strcmp(how, "differ") == 0)
        config.notification_num = 100;
    GOOD(gaspi_config_set(config));
    if (is_last() && strcmp(how, "start") == 0) {
        signal(SIGALRM, SIG_DFL);
        setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = atoi(microseconds)}, NULL);
    }
    const gaspi_return_t code = gaspi_proc_init(GASPI_BLOCK);
    while (is_last() && strcmp(how, "start") == 0)
        pause();
    if (is_last() && strcmp(how, "differ") == 0)
        CODE(GASPI_ERR_CONFIG, code);
    if (code == GASPI_SUCCESS) /* until somebody ends the job */
        CODE(GASPI_ERROR, gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK));
    return 0;
}

static void read_for_ever(void)
{
    int ends[2];

    CHECK(pipe(ends) == 0);
    getc(fdopen(ends[0], "r"));
}

int main(int argc, char **argv)
{
    const char *const how = argc > 1 ? argv[1] : "";
    gaspi_notification_id_t found;
    gaspi_state_t states[64];

    if (strcmp(how, "start") == 0 || strcmp(how, "differ") == 0)
        return bad_start(how, argc > 2 ? argv[2] : "0");
    const int whole = strcmp(how, "term") == 0 || strcmp(how, "none") == 0;
    gaspi_config_t config;

    GOOD(gaspi_config_get(&config));
    if (strcmp(how, "none") == 0)
        config.build_infrastructure = GASPI_TOPOLOGY_NONE;
    config.allreduce_elem_max = LARGE;
    GOOD(gaspi_config_set(config));
    GOOD(gaspi_proc_init(GASPI_BLOCK));
    GOOD(gaspi_proc_rank(&rank));
    GOOD(gaspi_proc_num(&ranks));
    if (strcmp(how, "leave") == 0)
        return 0;
    const gaspi_rank_t last = (gaspi_rank_t)(ranks - 1);
    if (strcmp(how, "none") == 0) {
        CODE(GASPI_ERR_INV_GROUP, gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK));
        GOOD(gaspi_group_commit(GASPI_GROUP_ALL, GASPI_BLOCK));
    }
    segment(0, 64);
    if (whole)
        leave_under_way(last);
    if (!whole)
        all_have_left(strcmp(how, "exit") == 0 ? last : 0);
    if (rank == last && strcmp(how, "exit") == 0)
        _exit(3);
    if (rank == last && strcmp(how, "reads") == 0)
        read_for_ever();
    if (rank == 0 && (strcmp(how, "kill") == 0 || strcmp(how, "reads") == 0))
        GOOD(gaspi_proc_kill(last, GASPI_BLOCK));
    if (!whole) {
        CODE(GASPI_ERROR, gaspi_notify_waitsome(0, 64, 10, &found, GASPI_BLOCK));
        CODE(GASPI_ERROR, gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK));
        CODE(GASPI_ERROR, gaspi_proc_ping(last, 1000));
        GOOD(gaspi_state_vec_get(states));
        for (int i = 0; i < ranks; i++)
            CHECK(states[i] == (i == last ? GASPI_STATE_CORRUPT : GASPI_STATE_HEALTHY));
        printf("rank %d: rank %d is CORRUPT\n", rank, last);
        fflush(stdout);
    }
    GOOD(gaspi_proc_term(GASPI_BLOCK)); /* it ends this process alone */
    return 0;
}
