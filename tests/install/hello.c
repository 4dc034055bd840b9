/* A program that uses an installed weft: opens a job and closes it. Every public header, as C17. */
#include <weft/device.h>
#include <weft/types.h>
#include <weft/weft.h>

#include <stdio.h>

WEFT_KERNEL(hello, int, user)
{
    if (weft_rank(self, WEFT_COMM_WORLD) == 0)
        *user += weft_size(self, WEFT_COMM_WORLD);
}

int main(int argc, char **argv)
{
    weft_job *job;
    int user = 40;

    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return 1;
    if (weft_prepare(job, &hello, 1, 2) == WEFT_OK)
        weft_run(job, &user, sizeof(user), NULL);
    printf("%d\n", user);
    return weft_close(job);
}
