#include <weft/device.h>

enum { MOST_RANKS = 2 }; /* on each device */

struct hello {
    int *boxes; /* two for each rank of this device: received, and to send */
};

WEFT_KERNEL(hello, struct hello, user)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), n = weft_size(self, WEFT_COMM_WORLD);
    int *in = &user->boxes[2 * weft_rank(self, WEFT_COMM_DEVICE)], *out = in + 1;

    weft_enter(self);
    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, in, sizeof(*in));
    if (weft_thread(self) == 0)
        *out = 100 + me;
    weft_put_notify(self, win, (me + 1) % n, 0, out, sizeof(*out), 0); /* tag 0 */
    weft_wait(self, 0, 1);                                             /* from the left */
    weft_log(self, "of %d, received %d", n, *in);
    weft_win_free(self, &win);
    weft_leave(self);
}

#ifndef __CUDACC__ /* nvcc takes the kernel alone */
int main(int argc, char **argv)
{
    struct hello user;
    weft_job *job;

    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return 1;
    user.boxes = weft_malloc(job, 2 * MOST_RANKS * sizeof(*user.boxes));
    if (user.boxes != NULL && weft_prepare(job, &hello, 32, MOST_RANKS) == WEFT_OK)
        weft_run(job, &user, sizeof(user), NULL);
    return weft_close(job); /* the job's first error, which has been printed */
}
#endif
