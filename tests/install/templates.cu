/*
 * A kernel in C++ for both compilers (test_cxx.sh), in a library: each rank doubles 8 numbers by a
 * template, and all add theirs up. nvcc gets WEIGHT by its own flags; the CPU device has 1.
 */
#include "templates.h"

#ifdef __CUDACC__
#define ANYWHERE __device__
#else
#define ANYWHERE
#define WEIGHT 1
#endif

template <typename T> struct twice {
    ANYWHERE static T of(T x)
    {
        return WEIGHT * (x + x);
    }
};

template <typename F, typename T> WEFT_DEVICE_FN void map(weft_self *self, T *a, size_t n)
{
    (void)self; /* one thread of the CPU device asks for nothing */
    weft_for (i, n)
        a[i] = F::of(a[i]);
}

WEFT_KERNEL(templates, struct numbers, user)
{
    double *mine = user->a + 16 * weft_rank(self, WEFT_COMM_DEVICE);

    map<twice<double>>(self, mine, 8);
    weft_sync(self);
    weft_allreduce(self, WEFT_COMM_WORLD, mine, mine + 8, 8, WEFT_F64, WEFT_SUM);
}
