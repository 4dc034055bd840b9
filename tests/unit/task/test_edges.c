/*
 * src/task/edges.c on random recordings: over three epochs in the order of recording, every two
 * accesses to a byte of which one writes are in order, and no edge is without such a pair.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "task/place.h"
#include "task/recorded.h"

enum { TASKS = 24, DATAS = 4, EPOCHS = 3, BYTES = 2048, SPACES = 3, ALL = TASKS * EPOCHS };

struct shape {
    uint32_t pitches[3]; /* of rows, one of them at random; 0: no rows */
    uint32_t most;       /* bytes of a row, or of a piece */
};

static uint64_t state;

static uint32_t draw(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

static weft_task_data_desc random_piece(const struct shape *shape)
{
    const uint32_t pitch = shape->pitches[draw(3)];
    weft_task_data_desc data = {.win = 1 + draw(SPACES - 1),
                                .place = (int32_t)draw(2),
                                .bytes = draw(shape->most) + (draw(16) != 0),
                                .mode = 1 + draw(4)};
    data.rows = pitch == 0 ? 1 : draw(8);
    if (pitch != 0 && data.bytes > pitch)
        data.bytes = pitch;
    data.pitch = data.rows > 1 ? pitch : data.bytes;
    const uint64_t span = (weft_task_rows(&data) - 1) * data.pitch + data.bytes;
    data.offset = span >= BYTES ? 0 : draw(BYTES - (uint32_t)span);
    if (shape->most >= 16 && draw(2) == 0)
        data.offset = data.offset / 16 * 16;
    return data;
}

/* Bytes of the task: read: 1; written: 2. */
static void touch(const struct weft_recorded *all, uint32_t t, uint8_t bytes[SPACES * 2][BYTES])
{
    memset(bytes, 0, (size_t)SPACES * 2 * BYTES);
    for (uint32_t i = all->task[t].data; i < all->task[t].data + all->task[t].datas; i++) {
        const weft_task_data_desc *const data = &all->data[i].desc;
        if (data->mode == WEFT_TASK_SCRATCH)
            continue;
        for (uint64_t row = 0; row < weft_task_rows(data); row++)
            for (uint64_t k = 0; k < data->bytes; k++)
                bytes[data->win * 2 + (uint32_t)data->place]
                     [data->offset + row * data->pitch + k] |= (uint8_t)data->mode;
    }
}

static bool conflict[TASKS][TASKS];
static bool before[ALL][ALL]; /* by epoch and task: has ended when the other begins */

static void find_conflicts(const struct weft_recorded *all)
{
    static uint8_t bytes[TASKS][SPACES * 2][BYTES];

    for (uint32_t t = 0; t < TASKS; t++)
        touch(all, t, bytes[t]);
    for (uint32_t a = 0; a < TASKS; a++)
        for (uint32_t b = 0; b < TASKS; b++) {
            const uint8_t *const one = bytes[a][0], *const two = bytes[b][0];
            bool any = false;
            for (size_t i = 0; !any && i < sizeof(bytes[a]); i++)
                any = one[i] != 0 && two[i] != 0 && ((one[i] | two[i]) & WEFT_TASK_OUT) != 0;
            conflict[a][b] = any;
        }
}

/* exact: data agree on a pitch, so that nothing is thought larger than it is. */
static void check(struct weft_recorded *all, bool exact)
{
    assert_int_equal(weft_edges_find(all, NULL, NULL), WEFT_OK);
    find_conflicts(all);
    memset(before, 0, sizeof(before));
    for (uint32_t t = 0; t < TASKS; t++)
        for (uint32_t i = 0; i < all->task[t].edges; i++) {
            const uint32_t edge = all->edge[all->task[t].edge + i];
            const uint32_t other = edge & ~WEFT_TASK_BEFORE;
            const bool earlier = (edge & WEFT_TASK_BEFORE) != 0;
            assert_true(other < TASKS && (earlier || other < t));
            assert_true(!exact || conflict[t][other] || (other == t && earlier));
            for (uint32_t e = earlier; e < EPOCHS; e++)
                before[(e - earlier) * TASKS + other][e * TASKS + t] = true;
        }
    for (uint32_t k = 0; k < ALL; k++)
        for (uint32_t a = 0; a < k; a++)
            for (uint32_t b = k + 1; before[a][k] && b < ALL; b++)
                before[a][b] = before[a][b] || before[k][b];
    for (uint32_t a = 0; a < ALL; a++)
        for (uint32_t b = a + 1; b < ALL; b++)
            if (conflict[a % TASKS][b % TASKS] || a % TASKS == b % TASKS)
                assert_true(before[a][b]);
    free(all->edge);
}

static void random_recordings(const struct shape *shape, bool exact, int rounds)
{
    static struct weft_recorded_task step[TASKS];
    static struct weft_recorded_data data[TASKS * DATAS];

    for (int round = 0; round < rounds; round++) {
        struct weft_recorded all = {.task = step, .data = data, .tasks = TASKS};
        state = (uint64_t)round;
        for (uint32_t t = 0; t < TASKS; t++) {
            step[t] = (struct weft_recorded_task){.data = all.datas, .datas = draw(DATAS + 1)};
            for (uint32_t i = 0; i < step[t].datas; i++)
                data[all.datas++].desc = random_piece(shape);
        }
        check(&all, exact);
    }
}

static void stretches(void **unused)
{
    static const struct shape few = {{0, 0, 0}, 200}, large = {{0, 0, 0}, 1500};
    static const struct shape words = {{0, 0, 0}, 8};

    (void)unused;
    random_recordings(&few, true, 60);
    random_recordings(&large, true, 20);
    random_recordings(&words, true, 60);
}

static void rows(void **unused)
{
    static const struct shape one = {{256, 256, 256}, 100}, wide = {{256, 256, 0}, 256};
    static const struct shape small = {{64, 0, 64}, 16};

    (void)unused;
    random_recordings(&one, true, 60);
    random_recordings(&wide, true, 60);
    random_recordings(&small, true, 60);
}

static void rows_of_several_pitches(void **unused)
{
    static const struct shape mixed = {{256, 128, 0}, 100};

    (void)unused;
    random_recordings(&mixed, false, 60);
}

/* Tiles of two fields that become each other: a task waits for itself, as it has written its tile
 * before, its own tile's other task, and those beside it. */
static void tiles(void **unused)
{
    enum { SIDE = 40, TILE = 8, PITCH = (SIDE * TILE + 2) };
    static struct weft_recorded_task step[2 * SIDE * SIDE];
    static struct weft_recorded_data data[4 * 2 * SIDE * SIDE];
    struct weft_recorded all = {.task = step, .data = data};

    (void)unused;
    for (int it = 0; it < 2; it++)
        for (int r = 0; r < SIDE; r++)
            for (int c = 0; c < SIDE; c++) {
                const uint64_t corner = (uint64_t)((r * TILE + 1) * PITCH + c * TILE + 1),
                               field = PITCH * PITCH;
                const struct {
                    uint64_t at, bytes;
                    uint32_t rows, mode;
                } piece[] = {{corner - 1 + field * (uint64_t)it, TILE + 2, TILE, WEFT_TASK_IN},
                             {corner - PITCH + field * (uint64_t)it, TILE, 1, WEFT_TASK_IN},
                             {corner + TILE * PITCH + field * (uint64_t)it, TILE, 1, WEFT_TASK_IN},
                             {corner + field * (uint64_t)!it, TILE, TILE, WEFT_TASK_OUT}};
                step[all.tasks++] = (struct weft_recorded_task){.data = all.datas, .datas = 4};
                for (int i = 0; i < 4; i++)
                    data[all.datas++].desc = (weft_task_data_desc){.win = 1,
                                                                   .offset = piece[i].at,
                                                                   .bytes = piece[i].bytes,
                                                                   .pitch = PITCH,
                                                                   .rows = piece[i].rows,
                                                                   .mode = piece[i].mode};
            }
    assert_int_equal(weft_edges_find(&all, NULL, NULL), WEFT_OK);
    assert_int_equal(all.edges, 2 * (6 * SIDE * SIDE - 4 * SIDE));
    free(all.edge);
}

/* Tiles that follow each other, each written by one task and read by many: readers wait for the
 * writer, and it for the readers of the epoch before. */
static void many_readers(void **unused)
{
    enum { TILES = 50, READERS = 60, TILE = 512, COUNT = TILES * (1 + READERS) };
    static struct weft_recorded_task step[COUNT];
    static struct weft_recorded_data data[COUNT];
    struct weft_recorded all = {.task = step, .data = data, .tasks = COUNT, .datas = COUNT};

    (void)unused;
    for (uint32_t t = 0; t < COUNT; t++) {
        step[t] = (struct weft_recorded_task){.data = t, .datas = 1};
        data[t].desc = (weft_task_data_desc){.win = 1,
                                             .offset = (uint64_t)(t % TILES) * TILE,
                                             .bytes = TILE,
                                             .mode = t < TILES ? WEFT_TASK_OUT : WEFT_TASK_IN};
    }
    assert_int_equal(weft_edges_find(&all, NULL, NULL), WEFT_OK);
    for (uint32_t t = 0; t < COUNT; t++) {
        const uint32_t now = t < TILES ? 0 : 1; /* the reader's writer; all wait for themselves */
        assert_int_equal(step[t].edges, t < TILES ? READERS + 1 : 2);
        for (uint32_t i = 0; i < step[t].edges; i++) {
            const uint32_t edge = all.edge[step[t].edge + i];
            assert_int_equal((edge & ~WEFT_TASK_BEFORE) % TILES, t % TILES);
            assert_int_equal(edge >> 31, i >= now);
        }
    }
    free(all.edge);
}

static void nothing(void **unused)
{
    struct weft_recorded_task one = {.count = 1};
    struct weft_recorded none = {.tasks = 0}, alone = {.task = &one, .tasks = 1};

    (void)unused;
    assert_int_equal(weft_edges_find(&none, NULL, NULL), WEFT_OK);
    assert_int_equal(none.edges, 0);
    assert_int_equal(weft_edges_find(&alone, NULL, NULL), WEFT_OK);
    assert_int_equal(one.edges, 1); /* after itself */
    assert_int_equal(alone.edge[one.edge], WEFT_TASK_BEFORE);
    free(alone.edge);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(stretches),
                                       cmocka_unit_test(rows),
                                       cmocka_unit_test(rows_of_several_pitches),
                                       cmocka_unit_test(tiles),
                                       cmocka_unit_test(many_readers),
                                       cmocka_unit_test(nothing)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
