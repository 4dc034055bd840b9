/*
 * The service block of a GPU without a GPU (block_run.h): the order in which lots become visible
 * while stores are held back. With one of their labels weakened, it is noticed.
 */
#include "block_run.h"

/* Lots that are in the errand: puts to two places, each with a count or without, and counts alone.
 * What they store is the number of the lot. */
enum { FEW = 2000 };

static struct few {
    uint32_t place[2][4], count;
} few, there[FEW + 1]; /* memory; what is there at least when a lot is delivered */
static uint64_t few_wrong, few_given;

/* Who sees a count, or `delivered`, sees that lot and all before; who sees data, all before its
 * lot.
 */
static void look_few(void)
{
    uint64_t seen = control.turn.delivered > few.count ? control.turn.delivered : few.count;

    for (int w = 0; w < 8; w++)
        if (few.place[w / 4][w % 4] > seen + 1)
            seen = few.place[w / 4][w % 4] - 1;
    few_wrong += few.count < there[seen].count;
    for (int w = 0; w < 8; w++)
        few_wrong += few.place[w / 4][w % 4] < there[seen].place[w / 4][w % 4];
}

static void give_few(void)
{
    static const uint8_t sizes[] = {0, 4, 8, 16};
    const uint64_t number = ++few_given, words = number << 32 | number;
    uint32_t *const place = few.place[number % 2];
    struct weft_errand errand = {.kind = WEFT_ERRAND_FEW,
                                 .bytes = sizes[any_below(4)],
                                 .count = (uint32_t)number,
                                 .address = (uint64_t)(uintptr_t)place,
                                 .data = {words, words, 0, 0, number}};

    there[number] = there[number - 1];
    for (uint32_t w = 0; w < errand.bytes / 4; w++)
        there[number].place[number % 2][w] = (uint32_t)number;
    if (errand.bytes == 0 || any_below(2) == 0) {
        errand.data[2] = (uint64_t)(uintptr_t)&few.count;
        there[number].count = (uint32_t)number;
    }
    weft_command_push(&errands, (const struct weft_command *)&errand, NULL, 0, true);
}

static void few_host(void)
{
    now++;
    if (strcmp(warp.at[0], "barrier") == 0)
        met_at = stores;
    if (few_given != FEW && few_given - control.turn.delivered < WEFT_BLOCK_DEPTH)
        give_few();
    if (held_count != 0 && any_below(2) == 0)
        arrive_any();
}

/* How often something was seen too early. */
static uint64_t run_few(enum weft_order label)
{
    const uint32_t start = UINT32_MAX - FEW / 2;

    open_rings(start);
    memset(&few, 0, sizeof(few));
    control.turn.delivered = few_given = few_wrong = 0;
    weakened = label;
    holds = true;
    arrived = look_few;
    open_warp();
    warp.met = few_host;
    while (control.turn.delivered != FEW) {
        run_warp(lease_block);
        while (held_count != 0)
            arrive_any();
        next = start + (uint32_t)control.turn.delivered;
    }
    warp.met = NULL;
    close_warp();
    holds = false;
    assert_memory_equal(&few, &there[FEW], sizeof(few));
    return few_wrong;
}

static void test_few(void **unused)
{
    (void)unused;
    assert_int_equal(run_few(ORDER_none), 0);
    assert_true(run_few(ORDER_deliver_small) > 0);
    assert_true(run_few(ORDER_count_store_host) > 0);
    assert_true(run_few(ORDER_command_credit) > 0);
}

/* Counts of three groups, two each, behind a piece, all of them the number of their lot. */
enum { GROUPS = 3, GROUPED = 1000 };

static struct {
    uint64_t data[4];
    uint32_t count[GROUPS][2];
} grouped;
static uint64_t grouped_wrong;

/* Who sees a count sees the data, and what was counted before in that group. */
static void look_grouped(void)
{
    for (int g = 0; g < GROUPS; g++) {
        grouped_wrong += grouped.count[g][0] < grouped.count[g][1];
        for (int w = 0; w < 4; w++)
            grouped_wrong += grouped.data[w] < grouped.count[g][0];
        grouped_wrong += grouped.count[g][1] < control.turn.delivered;
    }
}

static void grouped_host(void)
{
    now++;
    if (strcmp(warp.at[0], "barrier") == 0) /* and nothing else orders memory */
        met_at = stores;
    if (held_count != 0 && any_below(2) == 0)
        arrive_any();
}

static void fill_grouped(uint64_t number)
{
    const uint64_t data[4] = {number, number, number, number};

    lot.piece[0] = (struct weft_lot_piece){(uint64_t)(uintptr_t)grouped.data, 0, sizeof(data)};
    memcpy(lot.bytes, data, sizeof(data));
    for (uint32_t i = 0; i < 2 * GROUPS; i++) {
        const uint32_t g = i % GROUPS;
        lot.word[i].to = (uint64_t)(uintptr_t)&grouped.count[g][i / GROUPS];
        lot.word[i].value = number;
        lot.size[i] = 4 | (1 + g) << WEFT_LOT_GROUP;
    }
}

static uint64_t run_grouped(enum weft_order label)
{
    struct weft_errand errand = {
        .kind = WEFT_ERRAND_DELIVER, .address = (uint64_t)(uintptr_t)&lot, .data = {1, 2 * GROUPS}};

    open_rings(0);
    memset(&grouped, 0, sizeof(grouped));
    grouped_wrong = 0;
    control.turn.delivered = 0;
    weakened = label;
    holds = true;
    arrived = look_grouped;
    open_warp();
    warp.met = grouped_host;
    for (uint64_t number = 1; number <= GROUPED; number++) {
        fill_grouped(number);
        errand.data[4] = number;
        weft_command_push(&errands, (const struct weft_command *)&errand, NULL, 0, true);
        run_warp(lease_block);
        next = errands.head;
    }
    while (held_count != 0)
        arrive_any();
    warp.met = NULL;
    close_warp();
    holds = false;
    assert_int_equal(grouped.count[0][1], GROUPED);
    return grouped_wrong;
}

static void test_grouped(void **unused)
{
    (void)unused;
    assert_int_equal(run_grouped(ORDER_none), 0);
    assert_true(run_grouped(ORDER_count_store_host) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_few),
        cmocka_unit_test(test_grouped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
