/*
 * order/inline.h - how functions are declared that ranks call: once for the CPU device and the
 * host, once, by nvcc, for GPUs. WEFT_COLD: not worth a place in every kernel that may call it.
 */
#ifndef WEFT_ORDER_INLINE_H
#define WEFT_ORDER_INLINE_H

#ifdef __CUDACC__
#define WEFT_INLINE      static __device__ __forceinline__
#define WEFT_COLD        static __device__ __noinline__ __attribute__((unused))
#define WEFT_HOT         WEFT_INLINE
#define WEFT_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define WEFT_UNROLL      _Pragma("unroll")
#define WEFT_ROLLED      _Pragma("unroll 1") /* for what is rare, or long */
/*
 * p, a parameter, is the state of a rank, which lies in shared memory; a function that is not
 * inlined cannot see that, and would take instructions for any memory. For the functions that a
 * traced job goes through, some of which others do, too: elsewhere no time was won
 * (docs/decisions.md).
 */
#define WEFT_IN_SHARED(p)                                                                          \
    ((p) = (__typeof__(p))weft_in_shared((unsigned)__cvta_generic_to_shared(p)))

/*
 * asm, or nvcc 13.0 folds the two conversions into none. Not __builtin_assume(__isShared(p)): in
 * large kernels it takes that for false, and drops the code after it.
 */
WEFT_INLINE void *weft_in_shared(unsigned address)
{
    asm("" : "+r"(address));
    return __cvta_shared_to_generic(address);
}
#else
#define WEFT_INLINE      static inline
#define WEFT_COLD        static __attribute__((noinline, unused))
#define WEFT_HOT         static inline __attribute__((always_inline))
#define WEFT_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define WEFT_UNROLL
#define WEFT_ROLLED
#define WEFT_IN_SHARED(p) (void)0
#endif

#endif
