/* Which node a process is on, and its turn there, which chooses its GPU: for block and for cyclic
 * placements, unlike devices, and hosts of one name. Whose memory may be mapped. */
#include "runtime/job/site.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { MOST = 16 };

static struct weft_site sites[MOST];
static int nodes[MOST];

static void set(int process, const char *host, const char *boot, weft_kind kind)
{
    struct weft_site *site = &sites[process];

    snprintf(site->host, sizeof(site->host), "%s", host);
    snprintf(site->boot, sizeof(site->boot), "%s", boot);
    site->kind = kind;
}

static void block(void **state)
{
    (void)state;
    for (int p = 0; p < 8; p++)
        set(p, p < 4 ? "a" : "b", "1", WEFT_KIND_CUDA);
    assert_int_equal(weft_site_nodes(sites, 8, nodes), 2);
    for (int p = 0; p < 8; p++) {
        assert_int_equal(nodes[p], p / 4);
        assert_int_equal(weft_site_turn(sites, p), p % 4);
    }
}

/* By its number in the job, two of four would have had one GPU of two. */
static void cyclic(void **state)
{
    (void)state;
    for (int p = 0; p < 12; p++)
        set(p, p % 3 == 0 ? "a" : p % 3 == 1 ? "b" : "c", "1", WEFT_KIND_CUDA);
    assert_int_equal(weft_site_nodes(sites, 12, nodes), 3);
    for (int p = 0; p < 12; p++) {
        assert_int_equal(nodes[p], p % 3);
        assert_int_equal(weft_site_turn(sites, p), p / 3);
    }
}

/* Processes on CPUs take no GPU's turn. */
static void unlike(void **state)
{
    (void)state;
    for (int p = 0; p < 6; p++)
        set(p, "a", "1", p % 2 == 0 ? WEFT_KIND_CPU : WEFT_KIND_CUDA);
    assert_int_equal(weft_site_nodes(sites, 6, nodes), 1);
    for (int p = 0; p < 6; p++)
        assert_int_equal(weft_site_turn(sites, p), p / 2);
}

static void one_name(void **state)
{
    (void)state;
    for (int p = 0; p < 4; p++)
        set(p, "localhost", p % 2 == 0 ? "1" : "2", WEFT_KIND_CUDA);
    assert_int_equal(weft_site_nodes(sites, 4, nodes), 2);
    assert_int_equal(weft_site_turn(sites, 3), 1);
}

/* Each of the three keeps one process from the memory of the others. */
static void together(void **state)
{
    (void)state;
    for (int p = 0; p < 4; p++)
        sites[p] = (struct weft_site){.user = 1000, .spaces = {5, 6}};
    assert_true(weft_site_together(sites, 4));
    for (int p = 0; p < 4; p++)
        for (int what = 0; what < 3; what++) {
            const struct weft_site before = sites[p];
            sites[p].user += what == 0;
            sites[p].spaces[0] += what == 1;
            sites[p].spaces[1] += what == 2;
            assert_false(weft_site_together(sites, 4));
            sites[p] = before;
        }
    assert_true(weft_site_together(sites, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(block), cmocka_unit_test(cyclic),
                                       cmocka_unit_test(unlike), cmocka_unit_test(one_name),
                                       cmocka_unit_test(together)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
