/*
 * gaspi_lost exit|kill|term|none - the last rank ends early: by itself, by gaspi_proc_kill of rank
 * 0, or (term) none does; none: nor is the group of all committed at first. The others learn it
 * from a call that blocks, and the state vector says who it is. For test_gaspi.sh.
 */
#include "gaspi_test.h"

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

int main(int argc, char **argv)
{
    const char *const how = argc > 1 ? argv[1] : "";
    gaspi_notification_id_t found;
    gaspi_state_t states[64];
    gaspi_return_t code;

    const int whole = strcmp(how, "term") == 0 || strcmp(how, "none") == 0;
    gaspi_config_t config;

    GOOD(gaspi_config_get(&config));
    if (strcmp(how, "none") == 0)
        config.build_infrastructure = GASPI_TOPOLOGY_NONE;
    GOOD(gaspi_config_set(config));
    GOOD(gaspi_proc_init(GASPI_BLOCK));
    GOOD(gaspi_proc_rank(&rank));
    GOOD(gaspi_proc_num(&ranks));
    const gaspi_rank_t last = (gaspi_rank_t)(ranks - 1);
    if (strcmp(how, "none") == 0) {
        CODE(GASPI_ERR_INV_GROUP, gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK));
        GOOD(gaspi_group_commit(GASPI_GROUP_ALL, GASPI_BLOCK));
    }
    segment(0, 64);
    if (rank == 0 && whole) { /* a commit that is never over keeps nobody from the end */
        gaspi_group_t group;
        GOOD(gaspi_group_create(&group));
        GOOD(gaspi_group_add(group, 0));
        GOOD(gaspi_group_add(group, last));
        CODE(GASPI_TIMEOUT, gaspi_group_commit(group, 5));
        CODE(GASPI_ERR_ACTIVE_COLL, gaspi_group_delete(group));
        CODE(GASPI_ERR_INV_GROUP, gaspi_group_add(group, last));
    }
    if (!whole)
        all_have_left(strcmp(how, "exit") == 0 ? last : 0);
    if (rank == last && strcmp(how, "exit") == 0)
        _exit(3);
    if (rank == 0 && strcmp(how, "kill") == 0)
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
    code = gaspi_proc_term(GASPI_BLOCK);
    CHECK(code == (whole ? GASPI_SUCCESS : GASPI_ERROR));
    return 0;
}
