/*
 * common/random.h - initial conditions out of a seed: numbers that depend on the seed and an index
 * alone, so that every process makes its own part without making the others'.
 */
#ifndef COMMON_RANDOM_H
#define COMMON_RANDOM_H

#include <stdint.h>

/* The mixer of splitmix64. */
static inline uint64_t random_bits(uint64_t seed, uint64_t index)
{
    uint64_t bits = (seed * 0xd1342543de82ef95u) ^ ((index + 1) * 0x9e3779b97f4a7c15u);
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    return bits ^ (bits >> 31);
}

/* From 0 up to, but not, 1. */
static inline double random_unit(uint64_t seed, uint64_t index)
{
    return (double)(random_bits(seed, index) >> 11) * 0x1p-53;
}

#endif
