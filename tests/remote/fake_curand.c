/* fake_curand.c - cuRAND in host memory, a few functions of it. */
#include "fake_work.h"

#include <curand.h>

#include <math.h>

struct curandGenerator_st {
    uint64_t seed, offset;
    cudaStream_t stream;
};
struct draws {
    uint64_t seed, offset, count;
    unsigned *bits; /* one of these */
    float *numbers;
    float mean, deviation;
};

curandStatus_t curandCreateGenerator(curandGenerator_t *generator, curandRngType_t type)
{
    if (type != CURAND_RNG_PSEUDO_PHILOX4_32_10)
        return CURAND_STATUS_TYPE_ERROR;
    *generator = calloc(1, sizeof(**generator));
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandDestroyGenerator(curandGenerator_t generator)
{
    free(generator);
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandGetVersion(int *version)
{
    *version = 10400;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream)
{
    generator->stream = stream;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator,
                                                  unsigned long long seed)
{
    generator->seed = seed;
    generator->offset = 0;
    return CURAND_STATUS_SUCCESS;
}
curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset)
{
    generator->offset = offset;
    return CURAND_STATUS_SUCCESS;
}

static uint64_t draw(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

static void run_draws(const void *work)
{
    const struct draws *d = work;

    for (uint64_t i = 0; i < d->count; i++) {
        const uint64_t bits = draw(d->seed * 0x9e3779b97f4a7c15 + (d->offset + i + 1) * 0x632be5ab);
        const double even = ((double)(bits >> 40) + 1) / (1 << 24),
                     other = (double)(bits & 0xffffff) / (1 << 24);
        if (d->bits != NULL)
            d->bits[i] = (unsigned)(bits >> 32);
        else if (d->deviation > 0)
            d->numbers[i] =
                d->mean + d->deviation * (float)(sqrt(-2 * log(even)) * cos(2 * M_PI * other));
        else
            d->numbers[i] = (float)even;
    }
}

static curandStatus_t generate(curandGenerator_t generator, struct draws draws)
{
    draws.seed = generator->seed;
    draws.offset = generator->offset;
    generator->offset += draws.count;
    return fake_enqueue(generator->stream, run_draws, &draws, sizeof(draws))
               ? CURAND_STATUS_SUCCESS
               : CURAND_STATUS_LAUNCH_FAILURE;
}
curandStatus_t curandGenerate(curandGenerator_t generator, unsigned *to, size_t n)
{
    return generate(generator, (struct draws){.bits = to, .count = n});
}
curandStatus_t curandGenerateUniform(curandGenerator_t generator, float *to, size_t n)
{
    return generate(generator, (struct draws){.numbers = to, .count = n});
}
curandStatus_t curandGenerateNormal(curandGenerator_t generator, float *to, size_t n, float mean,
                                    float deviation)
{
    if (n % 2 != 0)
        return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
    return generate(
        generator, (struct draws){.numbers = to, .count = n, .mean = mean, .deviation = deviation});
}
