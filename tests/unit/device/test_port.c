/* How the host program waits: it never sleeps without a look after it has told the bell. */
#include "device/port.h"

#include "base/task.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Far more than the host program polls before it sleeps. */
enum { MANY = 4000 };

/* Waits until the port has prepared to sleep, and returns to look. */
static void wait_until_prepared(struct weft_port *port)
{
    for (int i = 0; i < MANY && port->bell->sleepers == 0; i++)
        weft_port_wait(port);
    assert_int_equal(port->bell->sleepers, 1);
}

static void looks_between_prepare_and_sleep(void **state)
{
    struct weft_bell bell = {0};
    struct weft_port_call call = {.rounds = 0};
    struct weft_port port = {.host = true, .bell = &bell, .call = &call};

    (void)state;
    for (int i = 0; i < 3; i++) {
        wait_until_prepared(&port);
        weft_bell_ring(&bell); /* between the look and the sleep: it does not sleep */
        weft_port_wait(&port);
        assert_int_equal(bell.sleepers, 0);
    }
    weft_port_waited(&port);
}

static void a_wait_that_ends_leaves_the_bell(void **state)
{
    struct weft_bell bell = {0};
    struct weft_port_call call = {.rounds = 0};
    struct weft_port port = {.host = true, .bell = &bell, .call = &call};

    (void)state;
    wait_until_prepared(&port);
    weft_port_waited(&port);
    assert_int_equal(bell.sleepers, 0);
    wait_until_prepared(&port);
    if (setjmp(call.escape) == 0)
        weft_port_end(&port);
    assert_int_equal(bell.sleepers, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks_between_prepare_and_sleep),
        cmocka_unit_test(a_wait_that_ends_leaves_the_bell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
