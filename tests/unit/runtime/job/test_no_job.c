/*
 * Every public call takes a job, a team or a collective that is not there: it answers with
 * WEFT_ERR_ARGUMENT, or with what its header says, and nothing is touched. The same of handles in
 * calls on a job that is. tools/check finds calls that are missing here.
 */
#include "weft/ccl.h"
#include "weft/pgas.h"
#include "weft/task.h"
#include "weft/team.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The call answers with ARGUMENT; as it should; at all. */
#define REFUSED(call, ...)  assert_int_equal(call(__VA_ARGS__), WEFT_ERR_ARGUMENT)
#define IS(call, condition) assert_true(condition)
#define RETURNS(call, ...)  call(__VA_ARGS__)

/* Arguments. */
static int number;
static size_t count, sizes[8];
static uint32_t half;
static uint64_t word;
static const double *list;
static void *memory;
static weft_win win;
static weft_op op;
static weft_comm group;
static weft_message_op message_op;
static weft_team *team;
static weft_team_op *team_op;
static weft_combine combine;
static weft_ccl *ccl;
static weft_gptr g;
static weft_gspan span;
static weft_gwhere where;
static weft_heap_numbers heap;
static weft_glock lock;
static weft_task_desc desc;
static weft_task_id task;
static weft_task_numbers numbers;

static void ccl_calls(void **state)
{
    (void)state;
    REFUSED(weft_ccl_open, NULL, WEFT_COMM_HOST, 0, &ccl);
    REFUSED(weft_ccl_allreduce, NULL, &word, &word, 1, WEFT_U64, WEFT_SUM, NULL);
    REFUSED(weft_ccl_broadcast, NULL, 0, &word, 1, WEFT_U64, NULL);
    REFUSED(weft_ccl_barrier, NULL, NULL);
    REFUSED(weft_ccl_check, NULL);
    IS(weft_ccl_members, weft_ccl_members(NULL) == -1);
    IS(weft_ccl_me, weft_ccl_me(NULL) == -1);
    IS(weft_ccl_kernel, weft_ccl_kernel(NULL) == NULL);
}

static void weft_calls(void **state)
{
    (void)state;
    REFUSED(weft_open, NULL, NULL, NULL);
    REFUSED(weft_open_threads, NULL, NULL, NULL, WEFT_THREAD_SINGLE);
    REFUSED(weft_close, NULL);
    IS(weft_error, weft_error(NULL)[0] != 0); /* of the call before */
    RETURNS(weft_abort, NULL, "no job");
    REFUSED(weft_prepare, NULL, NULL, 0, 0);
    RETURNS(weft_limit_shared, NULL, 8);
    REFUSED(weft_tags_take, NULL, 0, &number);
    REFUSED(weft_tags_give, NULL, 0, 0);
    IS(weft_lost, weft_lost(NULL) == -1);
    IS(weft_numbers_of, weft_numbers_of(NULL) == NULL);
    IS(weft_first_rank_of, weft_first_rank_of(NULL, 0) == -1);
    IS(weft_ranks_of, weft_ranks_of(NULL, 0) == -1);
    IS(weft_process_kind, weft_process_kind(NULL, 0) == WEFT_KIND_NONE);
    IS(weft_device_of, weft_device_of(NULL, 0) == -1);
    REFUSED(weft_run, NULL, &word, 8, NULL);
    REFUSED(weft_start, NULL, &word, 8);
    REFUSED(weft_finish, NULL, NULL);
    IS(weft_running, weft_running(NULL) == 0);
    REFUSED(weft_intervals, NULL, &list, &count);
    IS(weft_malloc, weft_malloc(NULL, 8) == NULL);
    RETURNS(weft_free, NULL, &word);
    REFUSED(weft_register, NULL, &word, 8);
    REFUSED(weft_unregister, NULL, &word);
    REFUSED(weft_copy, NULL, &word, &word, 8);
}

static void host_calls(void **state)
{
    (void)state;
    REFUSED(weft_host_win_create, NULL, &word, 8, &win);
    REFUSED(weft_host_win_free, NULL, &win);
    REFUSED(weft_host_put, NULL, 0, 0, 8, &word, 8);
    REFUSED(weft_host_put_notify, NULL, 0, 0, 8, &word, 8, 0);
    REFUSED(weft_host_notify, NULL, 0, 0);
    REFUSED(weft_host_notify_rank, NULL, 0, 0);
    REFUSED(weft_host_put_notify_rank, NULL, 0, 0, 8, &word, 8, 0, 0);
    REFUSED(weft_host_wait, NULL, 0, 1);
    REFUSED(weft_host_wait_for, NULL, 0, 1, 0);
    REFUSED(weft_host_test, NULL, 0, 1, &number);
    REFUSED(weft_host_flush, NULL, 0);
    REFUSED(weft_host_ptr, NULL, 0, 0, &memory);
    IS(weft_host_pid, weft_host_pid(NULL, 0) == 0);
    REFUSED(weft_host_fetch_accumulate_begin, NULL, 0, 0, 0, &word, &word, 1, WEFT_U64, WEFT_SUM,
            &op);
    REFUSED(weft_host_fence, NULL);
    REFUSED(weft_host_barrier, NULL);
    REFUSED(weft_host_put_begin, NULL, 0, 0, 8, &word, 8, &op);
    REFUSED(weft_host_get, NULL, 0, 0, 8, &word, 8);
    REFUSED(weft_host_get_begin, NULL, 0, 0, 8, &word, 8, &op);
    REFUSED(weft_host_fetch_add, NULL, 0, 0, 8, 1, &word);
    REFUSED(weft_host_swap, NULL, 0, 0, 8, 1, &word);
    REFUSED(weft_host_compare_swap, NULL, 0, 0, 8, 1, 1, &word);
    REFUSED(weft_host_fetch_add_u32, NULL, 0, 0, 8, 1, &half);
    REFUSED(weft_host_swap_u32, NULL, 0, 0, 8, 1, &half);
    REFUSED(weft_host_compare_swap_u32, NULL, 0, 0, 8, 1, 1, &half);
    REFUSED(weft_host_add, NULL, 0, 0, 8, 1);
    REFUSED(weft_host_accumulate_begin, NULL, 0, 0, 8, &word, 8, WEFT_U64, WEFT_SUM, &op);
    REFUSED(weft_host_op_test, NULL, op, WEFT_LOCAL, &number);
    REFUSED(weft_host_op_wait, NULL, op, WEFT_LOCAL);
    REFUSED(weft_host_op_wait_for, NULL, op, WEFT_LOCAL, 0);
    REFUSED(weft_host_batch_begin, NULL);
    REFUSED(weft_host_batch_end, NULL);
    REFUSED(weft_expose, NULL, &word, 8, 1);
    REFUSED(weft_unexpose, NULL, 1);
    REFUSED(weft_exposed, NULL, 0, 1, 0, &win);
    REFUSED(weft_host_split, NULL, 0, 0, &group);
    REFUSED(weft_host_group_split, NULL, WEFT_COMM_HOST, 0, 0, &group);
    REFUSED(weft_host_group_free, NULL, &group);
    REFUSED(weft_host_group_barrier, NULL, WEFT_COMM_HOST);
    REFUSED(weft_host_group_win_create, NULL, WEFT_COMM_HOST, &word, 8, &win);
    REFUSED(weft_host_region_begin, NULL, "no job");
    REFUSED(weft_host_region_end, NULL);
    REFUSED(weft_host_gather, NULL, 0, &word, 8, &word);
    REFUSED(weft_host_scatter, NULL, 0, &word, &word, 8);
}

static void message_calls(void **state)
{
    (void)state;
    REFUSED(weft_host_send, NULL, WEFT_COMM_HOST, 0, 0, &word, 8);
    REFUSED(weft_host_send_synchronous, NULL, WEFT_COMM_HOST, 0, 0, &word, 8);
    REFUSED(weft_host_send_begin, NULL, WEFT_COMM_HOST, 0, 0, &word, 8, &message_op);
    REFUSED(weft_host_send_synchronous_begin, NULL, WEFT_COMM_HOST, 0, 0, &word, 8, &message_op);
    REFUSED(weft_host_receive, NULL, WEFT_COMM_HOST, 0, 0, &word, 8, NULL);
    REFUSED(weft_host_receive_begin, NULL, WEFT_COMM_HOST, 0, 0, &word, 8, &message_op);
    REFUSED(weft_host_message_cancel, NULL, &message_op, &number);
    REFUSED(weft_host_message_wait, NULL, &message_op, NULL);
    REFUSED(weft_host_message_wait_for, NULL, &message_op, 0, NULL);
    REFUSED(weft_host_message_test, NULL, &message_op, &number, NULL);
    REFUSED(weft_host_message_look, NULL, message_op, &number, NULL);
    REFUSED(weft_host_message_wait_all, NULL, &message_op, 8, NULL);
    REFUSED(weft_host_message_wait_any, NULL, &message_op, 8, &number, NULL);
    REFUSED(weft_host_probe, NULL, WEFT_COMM_HOST, 0, 0, &number, NULL);
    REFUSED(weft_host_probe_wait, NULL, WEFT_COMM_HOST, 0, 0, NULL);
    REFUSED(weft_host_probe_match, NULL, WEFT_COMM_HOST, 0, 0, &number, &message_op, NULL);
    REFUSED(weft_host_probe_match_wait, NULL, WEFT_COMM_HOST, 0, 0, &message_op, NULL);
    REFUSED(weft_host_receive_matched, NULL, &message_op, &word, 8, NULL);
    REFUSED(weft_host_receive_matched_begin, NULL, &message_op, &word, 8, &message_op);
    IS(weft_host_reaches, weft_host_reaches(NULL, &word) == 0);
    REFUSED(weft_message_group_take, NULL, 1, &number, 1, &group);
    REFUSED(weft_message_group_give, NULL, &group);
}

static void team_calls(void **state)
{
    (void)state;
    REFUSED(weft_team_open, NULL, WEFT_COMM_HOST, 0, 0, "no job", NULL, &team);
    REFUSED(weft_team_meanwhile, NULL, NULL);
    REFUSED(weft_team_close, NULL);
    REFUSED(weft_team_device, NULL, 1, &number);
    REFUSED(weft_team_barrier, NULL, &team_op);
    REFUSED(weft_team_broadcast, NULL, 0, &word, 8, &team_op);
    REFUSED(weft_team_reduce, NULL, 0, &word, &word, 8, &combine, &team_op);
    REFUSED(weft_team_allreduce, NULL, &word, &word, 8, &combine, &team_op);
    REFUSED(weft_team_reduce_scatter, NULL, &word, &word, sizes, &combine, &team_op);
    REFUSED(weft_team_scan, NULL, 0, &word, &word, 8, &combine, &team_op);
    REFUSED(weft_team_gather, NULL, 0, &word, 8, &word, &team_op);
    REFUSED(weft_team_gather_sizes, NULL, 0, &word, 8, &word, sizes, sizes, &team_op);
    REFUSED(weft_team_scatter, NULL, 0, &word, &word, 8, &team_op);
    REFUSED(weft_team_scatter_sizes, NULL, 0, &word, sizes, sizes, &word, 8, &team_op);
    REFUSED(weft_team_allgather, NULL, &word, 8, &word, &team_op);
    REFUSED(weft_team_allgather_sizes, NULL, &word, &word, sizes, sizes, &team_op);
    REFUSED(weft_team_alltoall, NULL, &word, &word, 8, &team_op);
    REFUSED(weft_team_exchange, NULL, WEFT_TEAM_EXCHANGE, NULL, 8, NULL, 8, &team_op);
    REFUSED(weft_team_test, NULL, &number);
    REFUSED(weft_team_wait, NULL);
    REFUSED(weft_team_wait_for, NULL, 0);
}

static void pgas_calls(void **state)
{
    (void)state;
    REFUSED(weft_pgas_open, NULL);
    REFUSED(weft_pgas_close, NULL);
    IS(weft_pgas_space, weft_pgas_space(NULL) == NULL);
    REFUSED(weft_host_local_alloc, NULL, 8, &g);
    REFUSED(weft_host_local_alloc_kind, NULL, 8, WEFT_GKIND_DEVICE, &g);
    REFUSED(weft_host_local_free, NULL, g);
    REFUSED(weft_host_heap_numbers, NULL, &heap);
    REFUSED(weft_galloc, NULL, WEFT_COMM_HOST, 8, &span);
    REFUSED(weft_galloc_v, NULL, WEFT_COMM_HOST, 8, &span);
    REFUSED(weft_galloc_most, NULL, WEFT_COMM_HOST, 8, &span);
    REFUSED(weft_gadopt, NULL, WEFT_COMM_HOST, &word, 8, &span);
    REFUSED(weft_gfree, NULL, &span);
    IS(weft_gspan_member, weft_gptr_is_null(weft_gspan_member(NULL, &span, 0)));
    IS(weft_gspan_at, weft_gptr_is_null(weft_gspan_at(NULL, &span, 1)));
    IS(weft_host_gaddress, weft_host_gaddress(NULL, g) == NULL);
    REFUSED(weft_host_gwhere, NULL, g, &where);
    REFUSED(weft_host_gput, NULL, g, &word, 8);
    REFUSED(weft_host_gget, NULL, g, &word, 8);
    REFUSED(weft_host_gput_begin, NULL, g, &word, 8, &op);
    REFUSED(weft_host_gget_begin, NULL, g, &word, 8, &op);
    REFUSED(weft_host_gput_2d_begin, NULL, g, 8, &word, 8, 8, 8, &op);
    REFUSED(weft_host_gget_2d_begin, NULL, g, 8, &word, 8, 8, 8, &op);
    REFUSED(weft_host_gput_notify, NULL, g, &word, 8, 0, 0);
    REFUSED(weft_host_gflush, NULL);
    REFUSED(weft_host_gfetch_add, NULL, g, 1, &word);
    REFUSED(weft_host_gswap, NULL, g, 1, &word);
    REFUSED(weft_host_gcompare_swap, NULL, g, 1, 1, &word);
    REFUSED(weft_host_gaccumulate, NULL, g, &word, 8, WEFT_U64, WEFT_SUM, &op);
    REFUSED(weft_glock_create, NULL, WEFT_COMM_HOST, 0, &lock);
    REFUSED(weft_glock_free, NULL, &lock);
    REFUSED(weft_host_glock_acquire, NULL, &lock);
    REFUSED(weft_host_glock_try, NULL, &lock, &number);
    REFUSED(weft_host_glock_release, NULL, &lock);
}

static void task_calls(void **state)
{
    (void)state;
    REFUSED(weft_tasks_begin, NULL, NULL, &word, 0, 0);
    REFUSED(weft_task_create, NULL, &desc, &task);
    REFUSED(weft_task_run, NULL, &desc);
    REFUSED(weft_task_wait, NULL, task, NULL);
    REFUSED(weft_task_test, NULL, task, NULL);
    REFUSED(weft_task_cancel, NULL, task);
    REFUSED(weft_tasks_record, NULL, NULL);
    REFUSED(weft_tasks_record_all, NULL, NULL);
    REFUSED(weft_tasks_finish, NULL);
    REFUSED(weft_tasks_end, NULL);
    REFUSED(weft_tasks_numbers, NULL, &numbers);
}

/* Handles that are not there, in calls on a job that is; its end then says that it met errors. */
static void handles(void **state)
{
    weft_job *job = NULL;

    (void)state;
    assert_int_equal(weft_open(&job, NULL, NULL), WEFT_OK);
    assert_int_equal(weft_pgas_open(job), WEFT_OK);
    REFUSED(weft_prepare, job, NULL, 1, 1);
    REFUSED(weft_host_win_free, job, NULL);
    REFUSED(weft_host_message_cancel, job, NULL, &number);
    REFUSED(weft_host_message_wait, job, NULL, NULL);
    REFUSED(weft_host_message_wait_for, job, NULL, 0, NULL);
    REFUSED(weft_host_message_test, job, NULL, &number, NULL);
    REFUSED(weft_host_message_wait_all, job, NULL, 1, NULL);
    REFUSED(weft_host_message_wait_any, job, NULL, 1, &number, NULL);
    REFUSED(weft_host_receive_matched, job, NULL, &word, 8, NULL);
    REFUSED(weft_host_receive_matched_begin, job, NULL, &word, 8, &message_op);
    REFUSED(weft_gfree, job, NULL);
    IS(weft_gspan_member, weft_gptr_is_null(weft_gspan_member(job, NULL, 0)));
    IS(weft_gspan_at, weft_gptr_is_null(weft_gspan_at(job, NULL, 0)));
    REFUSED(weft_glock_free, job, NULL);
    REFUSED(weft_host_glock_acquire, job, NULL);
    REFUSED(weft_host_glock_try, job, NULL, &number);
    REFUSED(weft_host_glock_release, job, NULL);
    REFUSED(weft_tasks_begin, job, NULL, NULL, 1, 1);
    assert_int_equal(weft_pgas_close(job), WEFT_OK);
    assert_int_equal(weft_close(job), WEFT_ERR_ARGUMENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ccl_calls),     cmocka_unit_test(weft_calls), cmocka_unit_test(host_calls),
        cmocka_unit_test(message_calls), cmocka_unit_test(team_calls), cmocka_unit_test(pgas_calls),
        cmocka_unit_test(task_calls),    cmocka_unit_test(handles),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
