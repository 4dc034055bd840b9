/*
 * Memory that other processes map: what a share describes is mapped, and nothing else is, whatever
 * its numbers mean by now.
 */
#include "base/share.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { BYTES = 10000 };

static void is_shared(void **state)
{
    struct weft_share share;
    const char *reason = NULL;
    void *memory;
    (void)state;

    assert_int_equal(weft_share_create(BYTES, &memory, &share), WEFT_OK);
    assert_true(share.bytes >= BYTES && share.bytes % (uint64_t)sysconf(_SC_PAGESIZE) == 0);
    const pid_t child = fork();
    if (child == 0) {
        unsigned char *there = weft_share_map(&share, false, &reason);
        if (there != NULL)
            there[BYTES - 1] = 7;
        _exit(there == NULL);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(((unsigned char *)memory)[BYTES - 1], 7);
    weft_share_destroy(memory, &share);
}

static void refuse(const struct weft_share *share, const char *why)
{
    const char *reason = NULL;

    assert_null(weft_share_map(share, false, &reason));
    assert_non_null(strstr(reason, why));
}

/* In another PID namespace, or after the memory was freed, pid and fd name something else. */
static void another_file(void **state)
{
    struct weft_share first, second, wrong;
    void *one, *two;
    (void)state;

    assert_int_equal(weft_share_create(BYTES, &one, &first), WEFT_OK);
    assert_int_equal(weft_share_create(BYTES, &two, &second), WEFT_OK);
    wrong = first;
    wrong.fd = second.fd; /* of the same size */
    refuse(&wrong, "another file");
    wrong = first;
    wrong.bytes *= 2;
    refuse(&wrong, "its size");
    wrong = first;
    wrong.device++;
    refuse(&wrong, "another file");
    weft_share_destroy(two, &second);
    refuse(&second, "not in /proc");
    assert_int_equal(dup(first.fd), second.fd); /* the number is used again */
    refuse(&second, "another file");
    close(second.fd);
    weft_share_destroy(one, &first);
}

static void too_large(void **state)
{
    struct weft_share share;
    void *memory;
    (void)state;

    assert_int_equal(weft_share_create(UINT64_MAX, &memory, &share), WEFT_ERR_MEMORY);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(is_shared), cmocka_unit_test(another_file),
                                       cmocka_unit_test(too_large)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
