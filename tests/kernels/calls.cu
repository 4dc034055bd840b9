/*
 * calls.cu - a kernel for each call that a rank makes again and again: what this one alone takes.
 */
#include <weft/device.h>

struct user {
    weft_win win;
    unsigned char *memory;
    uint64_t bytes, sum;
};

WEFT_KERNEL(call_put, struct user, u)
{
    weft_put_notify(self, u->win, 0, 8, u->memory, u->bytes, 1);
}

WEFT_KERNEL(call_notify, struct user, u)
{
    weft_notify(self, WEFT_COMM_WORLD, 0, (int)u->bytes);
}

WEFT_KERNEL(call_wait, struct user, u)
{
    weft_wait(self, (int)u->bytes, 1);
}

WEFT_KERNEL(call_barrier, struct user, u)
{
    (void)u;
    weft_barrier(self, WEFT_COMM_WORLD);
}

WEFT_KERNEL(call_get, struct user, u)
{
    weft_get(self, u->win, 0, 8, u->memory, u->bytes);
}

WEFT_KERNEL(call_update, struct user, u)
{
    u->sum = weft_fetch_add(self, u->win, 0, 8, u->bytes);
}
