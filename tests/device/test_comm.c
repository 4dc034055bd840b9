/*
 * Communicators: size and rank, where the ranks of each process are, split by color and key,
 * nested, without members, freed and made again; notifications name ranks of the communicator.
 */
#include "support/test.h"

enum { TAG = 9, AGAIN = 100, MOST = 256 };

struct data {
    struct test_check check;
    int32_t first, here, ranks, processes, process; /* what the host was told */
    uint32_t odd_comm, odd_ranks;                   /* shared within the device */
    uint32_t again;
};

WEFT_DEVICE_FN void check_numbers(weft_self *self, struct data *user)
{
    struct test_check *check = &user->check;
    const int me = weft_rank(self, WEFT_COMM_WORLD);
    int first = 0;

    CHECK_EQ(self, check, weft_size(self, WEFT_COMM_WORLD), user->ranks);
    CHECK_EQ(self, check, weft_size(self, WEFT_COMM_DEVICE), user->here);
    CHECK_EQ(self, check, me, user->first + weft_rank(self, WEFT_COMM_DEVICE));
    CHECK_EQ(self, check, weft_processes(self), user->processes);
    CHECK_EQ(self, check, weft_process(self), user->process);
    for (int p = 0; p < weft_processes(self); p++) {
        CHECK_EQ(self, check, weft_process_first(self, p), first);
        first += weft_process_ranks(self, p);
    }
    CHECK_EQ(self, check, first, user->ranks);
    CHECK_EQ(self, check, weft_process_first(self, user->process), user->first);
    CHECK_EQ(self, check, weft_process_ranks(self, user->process), user->here);
}

/* A ring of notifications in comm, after which all of its ranks have heard exactly one. */
WEFT_DEVICE_FN void check_ring(weft_self *self, struct data *user, weft_comm comm)
{
    const int n = weft_size(self, comm), me = weft_rank(self, comm);

    CHECK(self, &user->check, me >= 0 && me < n);
    weft_notify(self, comm, (me + 1) % n, TAG);
    weft_wait(self, TAG, 1);
    weft_barrier(self, comm);
    CHECK_EQ(self, &user->check, weft_test(self, TAG, 1), 0);
    weft_barrier(self, comm); /* before anyone begins the next ring */
}

/* The keys reverse the order: the last rank of the parent comes first. */
WEFT_DEVICE_FN void check_keys(weft_self *self, struct data *user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    weft_comm reversed = weft_comm_split(self, WEFT_COMM_WORLD, 7, -me);
    weft_comm equal = weft_comm_split(self, WEFT_COMM_WORLD, 0, 42);

    CHECK(self, &user->check, reversed != WEFT_COMM_NONE && equal != WEFT_COMM_NONE);
    CHECK(self, &user->check, reversed != equal);
    CHECK_EQ(self, &user->check, weft_size(self, reversed), n);
    CHECK_EQ(self, &user->check, weft_rank(self, reversed), n - 1 - me);
    CHECK_EQ(self, &user->check, weft_rank(self, equal), me);
    check_ring(self, user, reversed);
    check_ring(self, user, equal);
    weft_comm_free(self, &equal);
    check_ring(self, user, reversed);
    weft_comm_free(self, &reversed);
    CHECK_EQ(self, &user->check, reversed, WEFT_COMM_NONE);
}

/* Odd and even ranks; within them, halves; the others of the device are no members. */
WEFT_DEVICE_FN void check_nested(weft_self *self, struct data *user)
{
    const int n = weft_size(self, WEFT_COMM_WORLD), me = weft_rank(self, WEFT_COMM_WORLD);
    const int members = n / 2 + (me % 2 == 0 ? n % 2 : 0);
    weft_comm parity = weft_comm_split(self, WEFT_COMM_WORLD, me % 2, me);

    CHECK_EQ(self, &user->check, weft_failure(self), WEFT_OK);
    CHECK_EQ(self, &user->check, weft_size(self, parity), members);
    CHECK_EQ(self, &user->check, weft_rank(self, parity), me / 2);
    check_ring(self, user, parity);
    if (me % 2 == 1 && weft_thread(self) == 0) { /* the same value from every odd rank */
        if (test_add_u32(&user->odd_ranks, 1) == 0)
            user->odd_comm = parity;
    }
    weft_barrier(self, WEFT_COMM_DEVICE);
    if (user->odd_ranks > 0)
        CHECK_EQ(self, &user->check, weft_rank(self, user->odd_comm), me % 2 ? me / 2 : -1);
    weft_barrier(self, WEFT_COMM_DEVICE); /* before its members free it */

    weft_comm half = weft_comm_split(self, parity, me / 2 < members / 2, -me);
    CHECK_EQ(self, &user->check, weft_size(self, half),
             me / 2 < members / 2 ? members / 2 : members - members / 2);
    check_ring(self, user, half);
    weft_comm_free(self, &half);
    weft_comm_free(self, &parity);
}

/* A negative color makes no communicator; each rank alone; within the device. */
WEFT_DEVICE_FN void check_corners(weft_self *self, struct data *user)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD);
    weft_comm first = weft_comm_split(self, WEFT_COMM_WORLD, me == 0 ? 3 : -1, 0);

    CHECK_EQ(self, &user->check, first != WEFT_COMM_NONE, me == 0);
    CHECK_EQ(self, &user->check, weft_failure(self), WEFT_OK);
    if (first != WEFT_COMM_NONE) {
        check_ring(self, user, first);
        weft_comm_free(self, &first);
    }
    /* Each alone, as far as communicators suffice. */
    const int n = weft_size(self, WEFT_COMM_WORLD), colors = n < 32 ? n : 32;
    weft_comm alone = weft_comm_split(self, WEFT_COMM_WORLD, me % colors, 0);
    CHECK_EQ(self, &user->check, weft_size(self, alone), (n - me % colors + colors - 1) / colors);
    check_ring(self, user, alone);
    weft_comm_free(self, &alone);

    weft_comm device = weft_comm_split(self, WEFT_COMM_DEVICE, 1, 0);
    CHECK_EQ(self, &user->check, weft_size(self, device), user->here);
    CHECK_EQ(self, &user->check, weft_rank(self, device), weft_rank(self, WEFT_COMM_DEVICE));
    check_ring(self, user, device);
    weft_comm_free(self, &device);
}

/* There is a limit; to reach it is a failure that all see, and no error. */
WEFT_DEVICE_FN void check_limit(weft_self *self, struct data *user)
{
    weft_comm comms[MOST];
    int made = 0;

    while (made < MOST) {
        comms[made] = weft_comm_split(self, WEFT_COMM_WORLD, 0, 0);
        if (comms[made] == WEFT_COMM_NONE)
            break;
        made++;
    }
    CHECK(self, &user->check, made > 0 && made < MOST);
    CHECK_EQ(self, &user->check, weft_failure(self), WEFT_ERR_LIMIT);
    while (made > 0)
        weft_comm_free(self, &comms[--made]);
}

WEFT_KERNEL(comm_kernel, struct data, user)
{
    weft_enter(self);
    check_numbers(self, user);
    check_ring(self, user, WEFT_COMM_WORLD);
    check_ring(self, user, WEFT_COMM_DEVICE);
    check_keys(self, user);
    check_nested(self, user);
    check_corners(self, user);
    if (user->again == AGAIN)
        check_limit(self, user);
    /* More than may exist at once: what is freed can be used again, and old handles are not. */
    weft_comm last = WEFT_COMM_NONE;
    for (uint32_t i = 0; i < user->again; i++) {
        weft_comm comm = weft_comm_split(self, WEFT_COMM_WORLD, 0, 0);
        CHECK(self, &user->check, comm != WEFT_COMM_NONE && comm != last);
        last = comm;
        weft_barrier(self, comm);
        weft_comm_free(self, &comm);
    }
    weft_leave(self);
    test_done(self, &user->check);
}

#ifndef __CUDACC__
static int body(struct test_env *env)
{
    if (!test_prepare(env, &comm_kernel))
        return TEST_FAILED;
    const weft_numbers *n = env->numbers;
    struct data data = {.first = n->first_rank,
                        .here = n->ranks_here,
                        .ranks = n->ranks,
                        .processes = n->processes,
                        .process = n->process,
                        .again = env->brief ? 2 : AGAIN};
    TEST_EQ(env, weft_first_rank_of(env->job, n->process), n->first_rank);
    TEST_EQ(env, weft_ranks_of(env->job, n->process), n->ranks_here);
    TEST_EQ(env, weft_first_rank_of(env->job, n->processes), -1);
    TEST_EQ(env, weft_ranks_of(env->job, -1), -1);
    test_run(env, &data, sizeof(data));
    return TEST_PASSED;
}

TEST_MAIN(body)
#endif
