/*
 * litmus/channels.cu - the litmus kernels in which messages go by channels: what was read before a
 * message is known to who takes it, and nothing else is.
 */
#include "kernels.h"

enum { ROUNDS = 20, WORD = 3 }; /* a channel is there after nine puts, or seventeen */

/*
 * Rank 0 puts the same to both ranks of the other process. Each has then read it, and tells rank 1,
 * who overwrites it by a put.
 */
WEFT_KERNEL(litmus_chain, struct litmus_data, data)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), wrong = data->wrong;
    const int words = wrong == 0 ? 2 : 1;
    unsigned char *mapped = test_mine(self, data->mapped, LITMUS_EACH);
    unsigned char *const next = test_mine(self, data->sources, LITMUS_EACH);
    weft_win win = window_over(self, data->mapped);

    test_fill(self, mapped, LARGE, key_of(0, 0));
    for (int round = 0; round < ROUNDS; round++) {
        if (me == 0) {
            if (wrong == WRONG_EARLY)
                weft_notify(self, WEFT_COMM_WORLD, 1, WORD);
            weft_put_notify(self, win, 3, HALF, mapped, wrong == WRONG_LARGE ? LARGE : SMALL, DATA);
            weft_put_notify(self, win, 2, HALF, mapped, SMALL, DATA);
            weft_wait(self, FREE, 1);
        } else if (me == 1) {
            weft_wait(self, WORD, words);
            test_fill(self, next, SMALL, key_of(0, round + 1));
            weft_put_notify(self, win, 0, 0, next, SMALL, FREE);
            weft_flush_local(self, win);
        } else {
            weft_wait(self, DATA, 1);
            CHECK_EQ(self, &data->check, test_differs(self, mapped + HALF, SMALL, key_of(0, round)),
                     0);
            if (wrong == 0 || (me == 2 && wrong != WRONG_EARLY))
                weft_notify(self, WEFT_COMM_WORLD, 1, WORD);
        }
    }
    weft_win_free(self, &win);
    test_done(self, &data->check);
}

/* Data that go directly, and an answer through a channel: the data have been used before it. */
WEFT_KERNEL(litmus_answer, struct litmus_data, data)
{
    unsigned char *mapped = test_mine(self, data->mapped, LITMUS_EACH);
    const int me = weft_rank(self, WEFT_COMM_WORLD), partner = far_partner(self);
    weft_win win = window_over(self, data->mapped);
    unsigned char *const source = test_mine(self, data->sources, LITMUS_EACH);

    for (int round = 0; round < ROUNDS; round++) {
        test_fill(self, source, LARGE, key_of(me, round));
        weft_put_notify(self, win, partner, 0, source, LARGE, DATA);
        weft_wait(self, DATA, 1);
        CHECK_EQ(self, &data->check, test_differs(self, mapped, LARGE, key_of(partner, round)), 0);
        weft_put_notify(self, win, partner, HALF, source, SMALL, FREE);
        if (data->wrong == WRONG_LATE)
            test_will_read(mapped, LARGE);
        weft_wait(self, FREE, 1);
        weft_flush_local(self, win);
    }
    weft_win_free(self, &win);
    test_done(self, &data->check);
}
