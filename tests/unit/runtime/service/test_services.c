/*
 * What modules register (runtime/service/service.h): who owns a kind is asked for it and nobody
 * else, two owners are refused, a frame goes to all who want it, and a full table says so.
 */
#include "runtime/service/service.h"

#include "base/say.h"
#include "boot/frame.h"
#include "runtime/job/job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FIRST = 3, SECOND = 5, BOTH = 7, NOBODY = 9 };

static char heard[16]; /* who heard a frame, in order */

static void hear(char who)
{
    heard[strlen(heard)] = who;
}

static void hear_a(struct weft_job *job, const struct weft_frame *frame)
{
    (void)job, (void)frame;
    hear('a');
}

static void hear_b(struct weft_job *job, const struct weft_frame *frame)
{
    (void)job, (void)frame;
    hear('b');
}

static bool work(struct weft_job *job)
{
    (void)job;
    hear('w');
    return true;
}

static bool rest(struct weft_job *job)
{
    (void)job;
    hear('r');
    return false;
}

static const struct weft_service a = {.round = {work, rest},
                                      .frames = WEFT_KIND(FIRST) | WEFT_KIND(BOTH),
                                      .owns[WEFT_OWNS_COMMANDS] = WEFT_KIND(FIRST),
                                      .owns[WEFT_OWNS_WAITS] = WEFT_KIND(SECOND),
                                      .frame = hear_a};
static const struct weft_service b = {.round = {NULL, rest},
                                      .frames = WEFT_KIND(SECOND) | WEFT_KIND(BOTH),
                                      .owns[WEFT_OWNS_COMMANDS] = WEFT_KIND(SECOND),
                                      .owns[WEFT_OWNS_WAITS] = WEFT_KIND(FIRST),
                                      .frame = hear_b};

static struct weft_job *make(void)
{
    struct weft_job *job = calloc(1, sizeof(*job));
    assert_non_null(job);
    assert_int_equal(weft_service_add(&job->services, &a), WEFT_OK);
    assert_int_equal(weft_service_add(&job->services, &b), WEFT_OK);
    memset(heard, 0, sizeof(heard));
    return job;
}

static void a_kind_has_one_owner(void **state)
{
    static const struct weft_service thief = {.owns[WEFT_OWNS_COMMANDS] =
                                                  WEFT_KIND(NOBODY) | WEFT_KIND(SECOND)};
    static const struct weft_service eavesdropper = {.owns[WEFT_OWNS_WAITS] = WEFT_KIND(FIRST)};
    struct weft_job *job = make();

    (void)state;
    assert_ptr_equal(weft_service_owner(&job->services, WEFT_OWNS_COMMANDS, FIRST), &a);
    assert_ptr_equal(weft_service_owner(&job->services, WEFT_OWNS_COMMANDS, SECOND), &b);
    assert_ptr_equal(weft_service_owner(&job->services, WEFT_OWNS_WAITS, FIRST), &b);
    assert_ptr_equal(weft_service_owner(&job->services, WEFT_OWNS_WAITS, SECOND), &a);
    assert_int_equal(weft_service_add(&job->services, &thief), WEFT_ERR_STATE);
    assert_int_equal(weft_service_add(&job->services, &eavesdropper), WEFT_ERR_STATE);
    assert_null(weft_service_owner(&job->services, WEFT_OWNS_COMMANDS,
                                   NOBODY)); /* nothing of what was refused remains */
    assert_int_equal(job->services.count, 2);
    free(job);
}

static void frames_go_to_all_who_want_them(void **state)
{
    struct weft_job *job = make();
    struct weft_frame frame = {.kind = FIRST};

    (void)state;
    assert_true(weft_services_frame(job, &frame));
    frame.kind = BOTH;
    assert_true(weft_services_frame(job, &frame));
    frame.kind = SECOND;
    assert_true(weft_services_frame(job, &frame));
    assert_string_equal(heard, "aabb");
    frame.kind = NOBODY;
    assert_false(weft_services_frame(job, &frame));
    frame.kind = WEFT_SERVICE_KINDS + FIRST; /* no kind, and not FIRST */
    assert_false(weft_services_frame(job, &frame));
    assert_string_equal(heard, "aabb");
    free(job);
}

static void rounds_are_made_by_side(void **state)
{
    struct weft_job *job = make();

    (void)state;
    assert_true(weft_services_round(job, 0));
    assert_string_equal(heard, "w");
    assert_false(weft_services_round(job, 1));
    assert_string_equal(heard, "wrr");
    free(job);
}

static void a_full_table_refuses(void **state)
{
    static const struct weft_service plain;
    struct weft_job *job = make();

    (void)state;
    while (job->services.count < WEFT_SERVICES)
        assert_int_equal(weft_service_add(&job->services, &plain), WEFT_OK);
    assert_int_equal(weft_service_add(&job->services, &plain), WEFT_ERR_LIMIT);
    assert_int_equal(job->services.count, WEFT_SERVICES);
    free(job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kind_has_one_owner), cmocka_unit_test(frames_go_to_all_who_want_them),
        cmocka_unit_test(rounds_are_made_by_side), cmocka_unit_test(a_full_table_refuses)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
