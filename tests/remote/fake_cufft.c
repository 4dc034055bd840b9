/* fake_cufft.c - cuFFT in host memory, a few functions of it: plans are numbers. */
#include "fake_work.h"

#include <cufftXt.h>

#include <math.h>

enum { PLANS = 64, RANKS = 3 };

/* rows x columns, in so many batches. */
static struct plan {
    bool used;
    cufftType type;
    int rows, columns, batch, in_stride, in_batch, out_stride, out_batch;
    cudaStream_t stream;
} plans[PLANS];

static struct plan *plan_of(cufftHandle plan)
{
    return plan > 0 && plan < PLANS && plans[plan].used ? &plans[plan] : NULL;
}

cufftResult cufftCreate(cufftHandle *plan)
{
    for (*plan = 1; *plan < PLANS; ++*plan)
        if (!plans[*plan].used) {
            plans[*plan] = (struct plan){.used = true};
            return CUFFT_SUCCESS;
        }
    return CUFFT_ALLOC_FAILED;
}
cufftResult cufftDestroy(cufftHandle plan)
{
    if (plan_of(plan) == NULL)
        return CUFFT_INVALID_PLAN;
    plans[plan].used = false;
    return CUFFT_SUCCESS;
}
cufftResult cufftSetStream(cufftHandle plan, cudaStream_t stream)
{
    if (plan_of(plan) == NULL)
        return CUFFT_INVALID_PLAN;
    plans[plan].stream = stream;
    return CUFFT_SUCCESS;
}

static cufftResult make(cufftHandle plan, struct plan shape, size_t *bytes)
{
    if (plan_of(plan) == NULL || shape.rows < 1 || shape.columns < 1 || shape.batch < 1)
        return plan_of(plan) == NULL ? CUFFT_INVALID_PLAN : CUFFT_INVALID_SIZE;
    shape.used = true;
    shape.stream = plans[plan].stream;
    plans[plan] = shape;
    *bytes = (size_t)shape.rows * (size_t)shape.columns * sizeof(cufftComplex);
    return CUFFT_SUCCESS;
}
cufftResult cufftMakePlan1d(cufftHandle plan, int nx, cufftType type, int batch, size_t *bytes)
{
    return make(plan,
                (struct plan){.type = type,
                              .rows = 1,
                              .columns = nx,
                              .batch = batch,
                              .in_stride = 1,
                              .in_batch = nx,
                              .out_stride = 1,
                              .out_batch = type == CUFFT_R2C ? nx / 2 + 1 : nx},
                bytes);
}
cufftResult cufftPlan1d(cufftHandle *plan, int nx, cufftType type, int batch)
{
    size_t bytes;
    const cufftResult result = cufftCreate(plan);

    return result == CUFFT_SUCCESS ? cufftMakePlan1d(*plan, nx, type, batch, &bytes) : result;
}
cufftResult cufftPlan2d(cufftHandle *plan, int nx, int ny, cufftType type)
{
    size_t bytes;
    const cufftResult result = cufftCreate(plan);

    return result == CUFFT_SUCCESS ? make(*plan,
                                          (struct plan){.type = type,
                                                        .rows = nx,
                                                        .columns = ny,
                                                        .batch = 1,
                                                        .in_stride = 1,
                                                        .out_stride = 1},
                                          &bytes)
                                   : result;
}
cufftResult cufftPlanMany(cufftHandle *plan, int rank, int *n, int *in, int in_stride, int in_batch,
                          int *out, int out_stride, int out_batch, cufftType type, int batch)
{
    size_t bytes;
    const cufftResult result = cufftCreate(plan);

    if (result != CUFFT_SUCCESS || rank != 1 || in[0] != n[0] || out[0] != n[0])
        return result != CUFFT_SUCCESS ? result : CUFFT_NOT_SUPPORTED;
    return make(*plan,
                (struct plan){.type = type,
                              .rows = 1,
                              .columns = n[0],
                              .batch = batch,
                              .in_stride = in_stride,
                              .in_batch = in_batch,
                              .out_stride = out_stride,
                              .out_batch = out_batch},
                &bytes);
}

/* A user's limit is read. */
cufftResult cufftXtSetWorkAreaPolicy(cufftHandle plan, cufftXtWorkAreaPolicy policy, size_t *bytes)
{
    if (plan_of(plan) == NULL)
        return CUFFT_INVALID_PLAN;
    return policy == CUFFT_WORKAREA_USER && *bytes == 4096 ? CUFFT_SUCCESS : CUFFT_INVALID_VALUE;
}

struct transform {
    struct plan plan;
    const float *from;
    cufftComplex *to;
    int sign;
};

static void run_transform(const void *work)
{
    const struct transform *t = work;
    const struct plan *p = &t->plan;
    const int cells = p->rows * p->columns, out = p->type == CUFFT_R2C ? p->columns / 2 + 1 : cells;
    float *copy = malloc((size_t)cells * 2 * sizeof(*copy));

    for (int b = 0; b < p->batch; b++) {
        for (int i = 0; i < cells; i++) {
            const int at = b * p->in_batch + i * p->in_stride;
            copy[2 * i] = p->type == CUFFT_R2C ? t->from[at] : t->from[2 * at];
            copy[2 * i + 1] = p->type == CUFFT_R2C ? 0 : t->from[2 * at + 1];
        }
        for (int k = 0; k < out; k++) {
            double re = 0, im = 0;
            for (int i = 0; i < cells; i++) {
                const double turn = t->sign * 2 * M_PI *
                                    ((double)(i / p->columns) * (k / p->columns) / p->rows +
                                     (double)(i % p->columns) * (k % p->columns) / p->columns);
                re += copy[2 * i] * cos(turn) - copy[2 * i + 1] * sin(turn);
                im += copy[2 * i] * sin(turn) + copy[2 * i + 1] * cos(turn);
            }
            t->to[b * p->out_batch + k * p->out_stride] =
                (cufftComplex){.x = (float)re, .y = (float)im};
        }
    }
    free(copy);
}

static cufftResult transform(cufftHandle plan, cufftType type, struct transform t)
{
    if (plan_of(plan) == NULL)
        return CUFFT_INVALID_PLAN;
    if (plans[plan].type != type || t.from == NULL || t.to == NULL)
        return type != plans[plan].type ? CUFFT_INVALID_TYPE : CUFFT_INVALID_VALUE;
    t.plan = plans[plan];
    return fake_enqueue(t.plan.stream, run_transform, &t, sizeof(t)) ? CUFFT_SUCCESS
                                                                     : CUFFT_EXEC_FAILED;
}
cufftResult cufftExecC2C(cufftHandle plan, cufftComplex *from, cufftComplex *to, int direction)
{
    return transform(plan, CUFFT_C2C,
                     (struct transform){.from = &from->x, .to = to, .sign = direction});
}
cufftResult cufftExecR2C(cufftHandle plan, cufftReal *from, cufftComplex *to)
{
    return transform(plan, CUFFT_R2C, (struct transform){.from = from, .to = to, .sign = -1});
}
