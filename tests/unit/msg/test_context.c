/*
 * Contexts (msg/context.h): one is found among many thousands as fast as among few, whichever
 * numbers a front end gives to its groups.
 */
#include "msg/context.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { COMMUNICATORS = 12000, APART = 4, MOST = 8 };

static void few_at_a_place(void **state)
{
    struct weft_contexts *contexts = calloc(1, sizeof(*contexts));

    (void)state;
    assert_non_null(contexts);
    for (uint32_t i = 0; i < 2 * COMMUNICATORS; i++) /* two of a communicator's four numbers */
        assert_non_null(weft_context_make(contexts, weft_group_handle(i / 2 * APART + i % 2)));
    for (int i = 0; i < WEFT_CONTEXT_BINS; i++) {
        int here = 0;
        for (const struct weft_msg_context *c = contexts->bin[i]; c != NULL; c = c->next)
            here++;
        assert_true(here <= MOST);
    }
    for (uint32_t i = 0; i < 2 * COMMUNICATORS; i++) {
        const weft_comm handle = weft_group_handle(i / 2 * APART + i % 2);
        assert_int_equal(weft_context_find(contexts, handle)->handle, handle);
    }
    assert_null(weft_context_find(contexts, weft_group_handle(2)));
    weft_contexts_close(contexts);
    free(contexts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(few_at_a_place)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
