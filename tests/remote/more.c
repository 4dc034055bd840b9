/*
 * more.c - a program that uses cuFFT and cuRAND, and cuSPARSE (more_sparse.c) and cuBLASLt
 * (more_lt.c), each compared with a loop on the host: plans and descriptors, numbers that lie on
 * host and device, streams, mistakes.
 */
#include "more.h"

#include <cufftXt.h>
#include <curand.h>

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct more more;

bool more_begins(const char *library, int status, int missing)
{
    if (status == missing)
        printf("%s: not at the server\n", library);
    else
        OK(status);
    return status == 0;
}

/* ---- transforms ------------------------------------------------------------------------------ */

/* Of rows x columns numbers, both parts of each; the cell `to`. */
static bool is_transform(const float *from, int rows, int columns, int to, const float *got)
{
    double re = 0, im = 0;

    for (int i = 0; i < rows * columns; i++) {
        const double turn = -2 * M_PI *
                            ((double)(i / columns) * (to / columns) / rows +
                             (double)(i % columns) * (to % columns) / columns);
        re += from[2 * i] * cos(turn) - from[2 * i + 1] * sin(turn);
        im += from[2 * i] * sin(turn) + from[2 * i + 1] * cos(turn);
    }
    return fabs(re - got[0]) < 1e-3 && fabs(im - got[1]) < 1e-3;
}

static void forward(cufftHandle plan, const float *from, float *got)
{
    memcpy(more.pinned, from, 2 * CELLS * sizeof(float));
    OK(cudaMemset(more.there[0], 0, 2 * CELLS * sizeof(float)));
    OK(cudaDeviceSynchronize());
    blas_far_copy(more.there[0], more.pinned, 2 * CELLS * sizeof(float), more.stream);
    OK(cufftExecC2C(plan, (cufftComplex *)more.there[0], (cufftComplex *)more.there[1],
                    CUFFT_FORWARD));
    OK(cudaMemcpyAsync(more.pinned, more.there[1], 2 * CELLS * sizeof(float),
                       cudaMemcpyDeviceToHost, more.stream));
    OK(cudaStreamSynchronize(more.stream));
    memcpy(got, more.pinned, 2 * CELLS * sizeof(float));
}

static void transforms(bool fake)
{
    static float from[2 * CELLS], got[2 * CELLS], line[2 * N];
    int n = N, apart = N, stale;
    cufftHandle plan, other;
    size_t bytes = 0;

    for (int i = 0; i < 2 * CELLS; i++)
        from[i] = (float)(i * 7 % 11) / 11 - 0.5f;
    if (!more_begins("cufft", cufftPlan1d(&plan, N, CUFFT_C2C, N), CUFFT_SETUP_FAILED))
        return;
    OK(cufftSetStream(plan, more.stream));
    forward(plan, from, got);
    for (int i = 0; i < CELLS; i++)
        CHECK(is_transform(from + 2 * N * (i / N), 1, N, i % N, got + 2 * i));
    OK(cufftDestroy(plan));
    OK(cufftPlan2d(&plan, N, N, CUFFT_C2C));
    OK(cufftSetStream(plan, more.stream));
    forward(plan, from, got);
    for (int i = 0; i < CELLS; i += 5)
        CHECK(is_transform(from, N, N, i, got + 2 * i));
    OK(cufftExecC2C(plan, (cufftComplex *)more.there[1], (cufftComplex *)more.there[1],
                    CUFFT_INVERSE));
    OK(cudaStreamSynchronize(more.stream));
    OK(cudaMemcpy(got, more.there[1], sizeof(got), cudaMemcpyDeviceToHost));
    for (int i = 0; i < 2 * CELLS; i++)
        CHECK(fabsf(got[i] / CELLS - from[i]) < 1e-4f);

    OK(cufftPlanMany(&other, 1, &n, &apart, N, 1, &apart, N, 1, CUFFT_C2C, N)); /* columns */
    OK(cufftSetStream(other, more.stream));
    forward(other, from, got);
    for (int i = 0; i < N; i++) {
        line[2 * i] = from[2 * (i * N + 3)];
        line[2 * i + 1] = from[2 * (i * N + 3) + 1];
    }
    for (int i = 0; i < N; i++)
        CHECK(is_transform(line, 1, N, i, got + 2 * (i * N + 3)));
    OK(cufftDestroy(other));

    OK(cufftCreate(&other));
    OK(cufftMakePlan1d(other, N, CUFFT_R2C, 1, &bytes));
    CHECK(!fake || bytes == N * sizeof(cufftComplex));
    OK(cudaMemcpy(more.there[0], from, N * sizeof(float), cudaMemcpyHostToDevice));
    OK(cufftExecR2C(other, more.there[0], (cufftComplex *)more.there[1]));
    OK(cudaMemcpy(got, more.there[1], (N + 2) * sizeof(float), cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) {
        line[2 * i] = from[i];
        line[2 * i + 1] = 0;
    }
    for (int i = 0; i <= N / 2; i++)
        CHECK(is_transform(line, 1, N, i, got + 2 * i));

    stale = other;
    OK(cufftDestroy(other));
    CHECK(cufftDestroy(stale) == CUFFT_INVALID_PLAN);
    CHECK(cufftPlan1d(&other, -1, CUFFT_C2C, 1) == CUFFT_INVALID_SIZE);
    if (fake) {
        OK(cufftXtSetWorkAreaPolicy(plan, CUFFT_WORKAREA_USER, &(size_t){4096}));
        CHECK(cufftPlanMany(&other, -1, &n, NULL, 1, 1, NULL, 1, 1, CUFFT_C2C, 1) ==
              CUFFT_INVALID_VALUE);
        COMES(
            CUFFT_INVALID_VALUE,
            cufftExecC2C(plan, (cufftComplex *)from, (cufftComplex *)more.there[1], CUFFT_FORWARD),
            cufftMakePlan1d(plan, N, CUFFT_C2C, 1, &bytes));
    }
    OK(cufftDestroy(plan));
}

/* ---- random numbers -------------------------------------------------------------------------- */

static void draw(curandGenerator_t generator, float *got, uint64_t seed, uint64_t offset, int count)
{
    OK(curandSetPseudoRandomGeneratorSeed(generator, seed));
    OK(curandSetGeneratorOffset(generator, offset));
    OK(curandGenerateUniform(generator, more.there[2], (size_t)count));
    OK(cudaMemcpyAsync(more.pinned, more.there[2], (size_t)count * sizeof(float),
                       cudaMemcpyDeviceToHost, more.stream));
    OK(cudaStreamSynchronize(more.stream));
    memcpy(got, more.pinned, (size_t)count * sizeof(float));
}

static void randoms(bool fake)
{
    static float first[DRAWS], again[DRAWS];
    curandGenerator_t generator;
    double sum = 0, squares = 0;
    int version = 0;

    if (!more_begins("curand", curandCreateGenerator(&generator, CURAND_RNG_PSEUDO_PHILOX4_32_10),
                     CURAND_STATUS_NOT_INITIALIZED))
        return;
    OK(curandGetVersion(&version));
    CHECK(version >= 10400);
    OK(curandSetStream(generator, more.stream));
    draw(generator, first, 5, 0, DRAWS);
    for (int i = 0; i < DRAWS; i++) {
        CHECK(first[i] > 0 && first[i] <= 1);
        sum += first[i];
    }
    CHECK(fabs(sum / DRAWS - 0.5) < 0.01);
    draw(generator, again, 5, 0, DRAWS);
    CHECK(memcmp(first, again, sizeof(first)) == 0);
    draw(generator, again, 5, 1000, 1000);
    CHECK((memcmp(first + 1000, again, 1000 * sizeof(*first)) == 0 || !fake) &&
          memcmp(first, again, 1000 * sizeof(*first)) != 0);
    draw(generator, again, 6, 0, DRAWS);
    CHECK(memcmp(first, again, sizeof(first)) != 0);
    OK(curandSetGeneratorOffset(generator, 0));
    OK(curandGenerateNormal(generator, more.there[2], DRAWS, 3, 2));
    OK(cudaStreamSynchronize(more.stream));
    OK(cudaMemcpy(first, more.there[2], sizeof(first), cudaMemcpyDeviceToHost));
    sum = 0;
    for (int i = 0; i < DRAWS; i++) {
        sum += first[i];
        squares += first[i] * first[i];
    }
    CHECK(fabs(sum / DRAWS - 3) < 0.1 && fabs(squares / DRAWS - 13) < 0.5);
    OK(curandDestroyGenerator(generator));
    CHECK(curandDestroyGenerator(generator) == CURAND_STATUS_NOT_INITIALIZED);
}

void more_run(unsigned options)
{
    const bool fake = (options & BLAS_FAKE) != 0;

    OK(cudaStreamCreateWithFlags(&more.stream, cudaStreamNonBlocking));
    OK(cudaMallocHost((void **)&more.pinned, DRAWS * sizeof(float)));
    for (int i = 0; i < 3; i++)
        OK(cudaMalloc((void **)&more.there[i], DRAWS * sizeof(float)));
    transforms(fake);
    randoms(fake);
    more_sparse(options);
    more_lt(fake);
    for (int i = 0; i < 3; i++)
        OK(cudaFree(more.there[i]));
    OK(cudaFreeHost(more.pinned));
    OK(cudaStreamDestroy(more.stream));
}
