/* cholesky/tile.c - tiles on a processor: with the fma and vectors of x86-64-v3 where it has them,
 * otherwise with what the compiler and libm do. */
#include "tile.h"

#if defined(__x86_64__)
#define WITH_FMA __attribute__((target("avx2,fma")))
#define HAS_FMA  (__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx2"))
#else
#define WITH_FMA
#define HAS_FMA 0
#endif

#define BOTH(name, parameters, arguments)                                                          \
    WITH_FMA static void name##_fma parameters                                                     \
    {                                                                                              \
        name##_inline arguments;                                                                   \
    }                                                                                              \
    void name parameters                                                                           \
    {                                                                                              \
        if (HAS_FMA)                                                                               \
            name##_fma arguments;                                                                  \
        else                                                                                       \
            name##_inline arguments;                                                               \
    }

BOTH(tile_gemm,
     (const struct tile *t, const double *from, double *to, const double *a, const double *b,
      uint64_t thread, uint64_t threads),
     (t, from, to, a, b, thread, threads))
BOTH(tile_trsm,
     (const struct tile *t, const double *from, double *to, const double *l, uint64_t thread,
      uint64_t threads),
     (t, from, to, l, thread, threads))
BOTH(tile_potrf_columns,
     (const struct tile *t, const double *from, double *to, uint64_t column, uint64_t thread,
      uint64_t threads),
     (t, from, to, column, thread, threads))
BOTH(tile_potrf_block, (const struct tile *t, double *to, uint64_t column), (t, to, column))
BOTH(tile_potrf_below,
     (const struct tile *t, double *to, uint64_t column, uint64_t thread, uint64_t threads),
     (t, to, column, thread, threads))
