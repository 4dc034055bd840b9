/* hangs.cu - each rank waits for something that never comes: for test_gdb.sh. */
#include <weft/device.h>

struct hangs {
    int unused;
};

WEFT_KERNEL(hangs, struct hangs, user)
{
    (void)user;
    weft_enter(self);
    if (weft_rank(self, WEFT_COMM_WORLD) == 0)
        weft_wait(self, 7, 2); /* rank 0 */
    else if (weft_rank(self, WEFT_COMM_WORLD) == 1)
        weft_barrier(self, WEFT_COMM_WORLD); /* rank 1 */
    weft_leave(self);                        /* rank 2 */
}

int main(int argc, char **argv)
{
    struct hangs user = {0};
    weft_job *job;

    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return 1;
    if (weft_prepare(job, &hangs, 3, 3) == WEFT_OK)
        weft_run(job, &user, sizeof(user), NULL); /* the host program */
    return weft_close(job);
}
