/*
 * A kernel and its host program in C++17, for the CPU device (test_cxx.sh): every rank puts a
 * number into its right neighbour's window and logs what it received. Wrong logs, by -D: FORMAT,
 * MANY.
 */
#include <weft/device.h>

#include <array>
#include <cstdio>

namespace
{

enum { RANKS = 4 };

struct user_data {
    int *boxes;
    int wrong;
};

template <class T> struct slot {
    T received, sent;
};

} // namespace

WEFT_KERNEL(neighbours, user_data, user)
{
    const int me = weft_rank(self, WEFT_COMM_WORLD), n = weft_size(self, WEFT_COMM_WORLD);
    auto *mine = reinterpret_cast<slot<int> *>(user->boxes) + me;
    const std::array<const char *, 2> parity = {"even", "odd"};

    weft_win win = weft_win_create(self, WEFT_COMM_WORLD, &mine->received, sizeof(mine->received));
    weft_for (i, 1)
        mine->sent = 100 + me;
    weft_sync(self);
    weft_put_notify(self, win, (me + 1) % n, 0, &mine->sent, sizeof(mine->sent), 0);
    weft_wait(self, 0, 1);
    if (mine->received != 100 + (me + n - 1) % n)
        user->wrong = 1;
    weft_log(self, "%s rank of %d: %d, %.1f, %p, %c, %zu", parity[static_cast<size_t>(me) % 2], n,
             mine->received, 0.5f, static_cast<void *>(nullptr), true ? 'x' : 'y', sizeof(*mine));
    weft_log(self, "no arguments");
#ifdef FORMAT
    weft_log(self, "a real as %d", 0.5);
#endif
#ifdef MANY
    weft_log(self, "%d%d%d%d%d%d%d%d%d", 1, 2, 3, 4, 5, 6, 7, 8, 9);
#endif
    weft_win_free(self, &win);
}

int main(int argc, char **argv)
{
    user_data user = {};
    weft_job *job;

    if (weft_open(&job, &argc, argv) != WEFT_OK)
        return 1;
    user.boxes = static_cast<int *>(weft_malloc(job, RANKS * sizeof(slot<int>)));
    if (user.boxes != nullptr && weft_prepare(job, &neighbours, 1, RANKS) == WEFT_OK &&
        weft_run(job, &user, sizeof(user), nullptr) == WEFT_OK)
        std::printf("%s\n", user.wrong != 0 ? "wrong" : "right");
    return weft_close(job);
}
