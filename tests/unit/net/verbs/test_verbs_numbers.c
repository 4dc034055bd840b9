/*
 * net/verbs: numbers of receives and requests are compared by their
 * difference, which turns after 2^31. What a put waits for, and the last fence, stay behind what is
 * done, however long nothing new was waited for or fenced.
 */
#include "net/verbs/state.h"
#include "net/verbs/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { STEPS = 5000, STEP = 1 << 20 }; /* beyond 2^32 in all */

/* Only writes go to a process: the last message was the one before its first receive. */
static void messages_of_long_ago(void **state)
{
    struct weft_net *net = calloc(1, sizeof(*net));
    struct weft_verbs_sender sender = {0};
    uint64_t word = 0;

    (void)state;
    assert_non_null(net);
    net->words = (void *)&word;
    for (uint32_t i = 0; i < STEPS; i++) {
        sender.told += STEP;
        word = weft_verbs_ack(sender.told);
        assert_int_equal(weft_verbs_read_ack(net, 0, &sender), WEFT_OK);
        assert_int_equal(sender.acked, sender.told);
        assert_true(weft_verbs_reached(sender.acked, sender.message));
    }
    sender.message = sender.told += 3; /* a message, of which the target has told nothing yet */
    word = weft_verbs_ack(sender.told - 1);
    assert_int_equal(weft_verbs_read_ack(net, 0, &sender), WEFT_OK);
    assert_false(weft_verbs_reached(sender.acked, sender.message));
    free(net);
}

static void fences_of_long_ago(void **state)
{
    struct weft_net *net = calloc(1, sizeof(*net));
    struct weft_verbs_queue queue = {0}, *queues[] = {&queue};

    (void)state;
    assert_non_null(net);
    net->queues = queues;
    net->queues_count = 1;
    for (uint32_t i = 0; i < STEPS; i++) {
        queue.posted += STEP;
        assert_int_equal(
            weft_verbs_queue_complete(net, weft_verbs_request_id(0, false, queue.posted)), WEFT_OK);
        assert_false(weft_verbs_reached(queue.fenced, queue.posted));
    }
    queue.posted++;
    assert_int_equal(weft_verbs_queue_complete(net, weft_verbs_request_id(0, true, queue.posted)),
                     WEFT_OK);
    assert_true(weft_verbs_reached(queue.fenced, queue.posted));
    free(net);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_of_long_ago),
        cmocka_unit_test(fences_of_long_ago),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
