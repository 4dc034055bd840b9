/*
 * The services of a job (runtime/service/service.h): each kind of frame, command and wait has one
 * owner, who is found by it, and a frame of another size than the owner's ends the job.
 */
#include "runtime/service/service.h"

#include "boot/control.h"
#include "runtime/job/job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SORTS = 3, KINDS = 32, LAST_FRAME = WEFT_FRAME_UNEXPOSE };

static void a_kind_has_one_owner(void **state)
{
    (void)state;
    for (uint32_t sort = 0; sort < SORTS; sort++)
        for (uint32_t kind = 0; kind < KINDS; kind++) {
            const struct weft_service *owner = NULL;
            for (int i = 0; weft_services[i] != NULL; i++) {
                if ((weft_services[i]->owns[sort] & WEFT_KIND(kind)) == 0)
                    continue;
                assert_null(owner);
                owner = weft_services[i];
            }
            assert_ptr_equal(weft_service_owner((enum weft_owned)sort, kind), owner);
        }
    assert_null(weft_service_owner(WEFT_OWNS_FRAMES, KINDS + WEFT_FRAME_EXCHANGE));
}

static void every_kind_is_owned(void **state)
{
    (void)state;
    for (uint32_t kind = WEFT_FRAME_LOST; kind <= LAST_FRAME; kind++)
        assert_non_null(weft_service_owner(WEFT_OWNS_FRAMES, kind)->frame);
    assert_null(weft_service_owner(WEFT_OWNS_FRAMES, WEFT_FRAME_SITE)); /* not the monitor's */
    for (uint32_t kind = WEFT_COMMAND_PUT; kind <= WEFT_COMMAND_ASK; kind++)
        if (kind != WEFT_COMMAND_LOG) /* in a ring of its own */
            assert_non_null(weft_service_owner(WEFT_OWNS_COMMANDS, kind)->command);
}

static void frames_have_their_size(void **state)
{
    static struct weft_job job;
    struct weft_frame frame = {.kind = WEFT_FRAME_SEGMENT, .source = 3, .bytes = 1};

    (void)state;
    job.failing = 1; /* it has been told: nothing is sent */
    assert_true(weft_services_frame(&job, &frame));
    frame.kind = WEFT_FRAME_SITE;
    assert_false(weft_services_frame(&job, &frame));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_kind_has_one_owner),
                                       cmocka_unit_test(every_kind_is_owned),
                                       cmocka_unit_test(frames_have_their_size)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
