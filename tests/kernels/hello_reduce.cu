/*
 * hello_reduce.cu - README's hello, and one collective of few elements.
 */
#include <weft/coll.h>

struct user {
    int *boxes;
    double *sums; /* of each rank: what it gives, and the sum */
};

WEFT_KERNEL(hello_reduce, struct user, user)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), n = weft_size(self, WEFT_COMM_WORLD);
    int *in = &user->boxes[2 * weft_rank(self, WEFT_COMM_DEVICE)], *out = in + 1;
    double *sum = &user->sums[2 * weft_rank(self, WEFT_COMM_DEVICE)];

    weft_enter(self);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, in, sizeof(*in));
    weft_put_notify(self, win, (me + 1) % n, 0, out, sizeof(*out), 0);
    weft_wait(self, 0, 1);
    weft_allreduce(self, WEFT_COMM_WORLD, sum, sum + 1, 1, WEFT_F64, WEFT_SUM);
    weft_log(self, "of %d, received %d, sum %g", n, *in, sum[1]);
    weft_win_free(self, &win);
    weft_leave(self);
}
