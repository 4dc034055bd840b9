/*
 * support/ccl_reference.h - what calls of weft/ccl.h give, by a serial loop over the members in
 * their order: written apart from the library, in doubles where that is exact. Compiles as C17 and
 * as CUDA C.
 */
#ifndef WEFT_TESTS_CCL_REFERENCE_H
#define WEFT_TESTS_CCL_REFERENCE_H

#include "support/check.h"

#include <weft/ccl.h>

#include <math.h>

enum ccl_what { ALLREDUCE, REDUCE, SCATTER, ALLGATHER, ALLTOALL, BROADCAST, CCL_WHATS };

/* One call, as all members know it. */
struct ccl_call {
    enum ccl_what what;
    weft_type type;
    weft_operation operation;
    size_t count;
    int members, root;
    uint64_t key;
};

WEFT_DEVICE_FN size_t ccl_size(weft_type type)
{
    return type == WEFT_U8                                            ? 1
           : type == WEFT_F16 || type == WEFT_BF16                    ? 2
           : type == WEFT_I32 || type == WEFT_U32 || type == WEFT_F32 ? 4
                                                                      : 8;
}

WEFT_DEVICE_FN int ccl_is_real(weft_type type)
{
    return type >= WEFT_F32 && type <= WEFT_BF16;
}

/* ---- reals ----------------------------------------------------------------------------------- */

/* Digits behind the point, and the least exponent. */
WEFT_DEVICE_FN int ccl_digits(weft_type type)
{
    return type == WEFT_F16 ? 10 : type == WEFT_BF16 ? 7 : 23;
}

WEFT_DEVICE_FN int ccl_least(weft_type type)
{
    return type == WEFT_F16 ? -14 : -126;
}

/* Gives the value of bits of F16, BF16 or F32. */
WEFT_DEVICE_FN double ccl_worth(uint64_t bits, weft_type type)
{
    const int digits = ccl_digits(type), width = type == WEFT_F32 ? 32 : 16;
    const uint64_t rest = bits & (((uint64_t)1 << digits) - 1);
    const int most = (1 << (width - 1 - digits)) - 1, exponent = (int)(bits >> digits) & most;
    const double sign = bits >> (width - 1) & 1 ? -1.0 : 1.0;

    if (exponent == most)
        return rest != 0 ? (double)NAN : sign * (double)INFINITY;
    if (exponent == 0)
        return sign * ldexp((double)rest, ccl_least(type) - digits);
    return sign *
           ldexp((double)(rest + ((uint64_t)1 << digits)), exponent - 1 + ccl_least(type) - digits);
}

/* Rounds a real to bits, to nearest even. */
WEFT_DEVICE_FN uint64_t ccl_bits(double worth, weft_type type)
{
    const int digits = ccl_digits(type), width = type == WEFT_F32 ? 32 : 16;
    const int most = (1 << (width - 1 - digits)) - 1;
    const uint64_t sign = (uint64_t)(signbit(worth) != 0) << (width - 1);
    int exponent;

    if (isnan(worth))
        return ((uint64_t)1 << (width - 1)) - 1;
    worth = fabs(worth);
    if (worth == 0)
        return sign;
    if (isinf(worth))
        return sign | (uint64_t)most << digits;
    frexp(worth, &exponent);
    if (exponent - 1 < ccl_least(type))
        exponent = ccl_least(type) + 1;
    const double steps = rint(ldexp(worth, digits - (exponent - 1)));
    /* Subnormals have no digit before the point: the sum is right for both. */
    const uint64_t all = (uint64_t)steps + ((uint64_t)(exponent - 1 - ccl_least(type)) << digits);
    return sign | (all >= (uint64_t)most << digits ? (uint64_t)most << digits : all);
}

/* Adds or multiplies two F32: doubles have the result exactly, but for far apart ones, which differ
 * in the last digit of a double only: rounding twice is rounding once (Figueroa, 1995). */
WEFT_DEVICE_FN uint64_t ccl_f32(uint64_t a, uint64_t b, weft_operation operation)
{
    const double x = ccl_worth(a, WEFT_F32), y = ccl_worth(b, WEFT_F32);
    return ccl_bits(operation == WEFT_SUM ? x + y : x * y, WEFT_F32);
}

WEFT_DEVICE_FN uint64_t ccl_f64(uint64_t a, uint64_t b, weft_operation operation)
{
    double x, y;
    uint64_t bits;

    memcpy(&x, &a, sizeof(x));
    memcpy(&y, &b, sizeof(y));
    if (operation == WEFT_SUM)
        x = x + y;
    else if (operation == WEFT_PROD)
        x = x * y;
    else if (isnan(x) || (operation == WEFT_MIN ? y < x : y > x))
        x = y;
    memcpy(&bits, &x, sizeof(bits));
    return isnan(x) ? 0x7ff8000000000000u : bits;
}

WEFT_DEVICE_FN uint64_t ccl_least_or_most(uint64_t a, uint64_t b, weft_type type, int least)
{
    const double x = ccl_worth(a, type), y = ccl_worth(b, type);
    return isnan(x) || (least ? y < x : y > x) ? b : a;
}

/* ---- elements -------------------------------------------------------------------------------- */

/* Gives element i of a member's block: often of like size, now and then any bits at all. */
WEFT_DEVICE_FN uint64_t ccl_element(const struct ccl_call *call, int member, int block, size_t i)
{
    const uint64_t bits = test_mix(call->key * 1000003u + (uint64_t)member * 65537u +
                                   (uint64_t)block * 257u + i * 8191u);
    const double worth = ((double)(bits >> 40 & 0xffff) - 30000.0) / 4096.0;
    double f64 = worth;
    uint64_t like = bits;

    if (call->type == WEFT_F64)
        memcpy(&like, &f64, sizeof(like));
    else if (ccl_is_real(call->type))
        like = ccl_bits(worth, call->type);
    like = (bits & 7) == 0 ? bits >> 3 : like;
    return call->type == WEFT_F64 || ccl_size(call->type) == 8
               ? like
               : like & (((uint64_t)1 << 8 * ccl_size(call->type)) - 1);
}

WEFT_DEVICE_FN uint64_t ccl_integers(uint64_t a, uint64_t b, const struct ccl_call *call)
{
    const int shift = 64 - 8 * (int)ccl_size(call->type);
    const int is_signed = call->type == WEFT_I32 || call->type == WEFT_I64;
    const int64_t x = (int64_t)(a << shift) >> shift, y = (int64_t)(b << shift) >> shift;
    const int less = is_signed ? y < x : b < a;

    switch (call->operation) {
    case WEFT_SUM:
        return (a + b) << shift >> shift;
    case WEFT_PROD:
        return (a * b) << shift >> shift;
    case WEFT_MIN:
        return less ? b : a;
    case WEFT_MAX:
        return less || a == b ? a : b;
    case WEFT_AND:
        return a & b;
    case WEFT_OR:
        return a | b;
    default:
        return a ^ b;
    }
}

/* Element i of a block of all members, put together. */
WEFT_DEVICE_FN uint64_t ccl_together(const struct ccl_call *call, int block, size_t i)
{
    const int small = call->type == WEFT_F16 || call->type == WEFT_BF16;
    const int sums = call->operation == WEFT_SUM || call->operation == WEFT_PROD;
    uint64_t all = ccl_element(call, 0, block, i);

    if (small && sums)
        all = ccl_bits(ccl_worth(all, call->type), WEFT_F32);
    for (int m = 1; m < call->members; m++) {
        uint64_t next = ccl_element(call, m, block, i);
        if (small && sums)
            next = ccl_bits(ccl_worth(next, call->type), WEFT_F32);
        all = call->type == WEFT_F64            ? ccl_f64(all, next, call->operation)
              : ccl_is_real(call->type) && sums ? ccl_f32(all, next, call->operation)
              : ccl_is_real(call->type)
                  ? ccl_least_or_most(all, next, call->type, call->operation == WEFT_MIN)
                  : ccl_integers(all, next, call);
    }
    if (call->type == WEFT_F64)
        return ccl_f64(all, all, WEFT_MIN); /* a NaN has its bits */
    if (small && sums)
        return ccl_bits(ccl_worth(all, WEFT_F32), call->type);
    return ccl_is_real(call->type) && isnan(ccl_worth(all, call->type)) ? ccl_bits(NAN, call->type)
                                                                        : all;
}

/* Elements that a member gives, and gets: 0: its target stays as it is. */
WEFT_DEVICE_FN inline size_t ccl_gives(const struct ccl_call *call)
{
    const int all = call->what == SCATTER || call->what == ALLTOALL;
    return call->count * (size_t)(all ? call->members : 1);
}

WEFT_DEVICE_FN inline size_t ccl_gets(const struct ccl_call *call, int me)
{
    const int all = call->what == ALLGATHER || call->what == ALLTOALL;
    return call->what == REDUCE && me != call->root
               ? 0
               : call->count * (size_t)(all ? call->members : 1);
}

WEFT_DEVICE_FN inline uint64_t ccl_given(const struct ccl_call *call, int me, size_t i)
{
    return ccl_element(call, me, call->count == 0 ? 0 : (int)(i / call->count),
                       call->count == 0 ? 0 : i % call->count);
}

WEFT_DEVICE_FN inline uint64_t ccl_got(const struct ccl_call *call, int me, size_t i)
{
    const int block = (int)(i / call->count);

    switch (call->what) {
    case SCATTER:
        return ccl_together(call, me, i);
    case ALLGATHER:
        return ccl_element(call, block, 0, i % call->count);
    case ALLTOALL:
        return ccl_element(call, block, me, i % call->count);
    case BROADCAST:
        return ccl_element(call, call->root, 0, i);
    default:
        return ccl_together(call, 0, i);
    }
}

/* Whether a target may be the source, and where in a larger one the smaller one lies. */
WEFT_DEVICE_FN inline size_t ccl_source_in(const struct ccl_call *call, int me)
{
    return call->what == ALLGATHER ? (size_t)me * call->count : 0;
}

WEFT_DEVICE_FN inline size_t ccl_target_in(const struct ccl_call *call, int me)
{
    return call->what == SCATTER ? (size_t)me * call->count : 0;
}

/* Draws the next call of a sequence that all members draw alike. most: bytes of a block. */
WEFT_DEVICE_FN inline struct ccl_call ccl_draw(uint64_t key, int members, size_t most)
{
    const uint64_t bits = test_mix(key);
    struct ccl_call call;

    call.what = (enum ccl_what)(bits % CCL_WHATS);
    call.type = (weft_type)((bits >> 8 & 0xff) % (WEFT_U8 + 1));
    call.operation = (weft_operation)((bits >> 16 & 0xff) % (WEFT_PROD + 1));
    if (ccl_is_real(call.type) && call.operation >= WEFT_AND && call.operation <= WEFT_XOR)
        call.operation = WEFT_SUM;
    call.members = members;
    call.root = (int)(bits >> 24 & 0xff) % members;
    call.key = bits;
    call.count =
        bits >> 32 & 3 ? (bits >> 40) % (most / ccl_size(call.type) + 1) : (bits >> 40) % 9;
    return call;
}

WEFT_DEVICE_FN uint64_t ccl_read(const unsigned char *at, size_t size)
{
    uint64_t bits = 0;
    memcpy(&bits, at, size);
    return bits;
}

#endif
