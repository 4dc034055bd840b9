/*
 * abi/letter.h: what is put into the words of a letter's head, or of a
 * door, comes out; words of two letters that follow each other are never taken for one.
 */
#include "abi/letter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { DRAWS = 100000 };

/* splitmix64. */
static uint64_t draw(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;

    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static struct weft_letter draw_letter(uint64_t *state, uint32_t n)
{
    struct weft_letter letter = {.address = draw(state) % WEFT_LETTER_ADDRESSES,
                                 .bytes = (uint32_t)(draw(state) % (WEFT_LETTER_MOST + 1)),
                                 .tag = (uint32_t)(draw(state) % 256),
                                 .stamp = (uint32_t)(draw(state) % WEFT_LETTER_STAMPS),
                                 .flag = weft_letter_flag(n)};

    letter.payload[0] = draw(state);
    letter.payload[1] = draw(state);
    return letter;
}

static void heads(void **unused)
{
    const uint64_t nothing[4] = {0};
    uint64_t state = 1;

    (void)unused;
    assert_int_equal(weft_letter_of(nothing).flag, 0);
    for (uint32_t n = UINT32_MAX - DRAWS / 2; n != DRAWS / 2; n++) {
        const struct weft_letter letter = draw_letter(&state, n);
        const struct weft_letter next = draw_letter(&state, n + 1);
        uint64_t word[4];
        assert_int_not_equal(letter.flag, 0);
        for (int w = 0; w < 4; w++)
            word[w] = weft_letter_word(&letter, w);
        const struct weft_letter read = weft_letter_of(word);
        assert_memory_equal(&read, &letter, sizeof(letter));
        for (int w = 0; w < 3; w++) {
            word[w] = weft_letter_word(&next, w);
            assert_int_equal(weft_letter_of(word).flag, 0);
        }
    }
}

static void doors(void **unused)
{
    uint64_t state = 2;

    (void)unused;
    for (int i = 0; i < DRAWS; i++) {
        const uint32_t stamp = (uint32_t)(draw(&state) % WEFT_LETTER_STAMPS);
        const uint32_t taken = (uint32_t)draw(&state);
        const bool open = draw(&state) % 2 != 0;
        const uint64_t door = weft_door(stamp, open, taken);
        assert_int_equal(weft_door_stamp(door), stamp);
        assert_int_equal(weft_door_taken(door), taken);
        assert_int_equal(weft_door_open(door), open);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(heads), cmocka_unit_test(doors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
