/* more_lt.c - cuBLASLt: products with descriptors. */
#include "more.h"

#include <cublasLt.h>
#include <cublas_v2.h>

#include <math.h>
#include <string.h>

struct lt {
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t layout;
    float *bias;
    void *work;
};

static void lt_multiply(struct lt *lt, const void *alpha, const void *beta, float times,
                        const cublasLtMatmulAlgo_t *algorithm)
{
    static float a[CELLS], b[CELLS], bias[N];

    for (int i = 0; i < CELLS; i++) {
        a[i] = (float)(i * 7 % 11) / 11 - 0.5f;
        b[i] = (float)(i * 5 % 13) / 13 - 0.5f;
    }
    for (int i = 0; i < N; i++)
        bias[i] = (float)i;
    OK(cudaMemcpy(lt->bias, bias, sizeof(bias), cudaMemcpyHostToDevice));
    OK(cudaMemcpy(more.there[1], b, sizeof(b), cudaMemcpyHostToDevice));
    OK(cudaMemset(more.there[0], 0, sizeof(a)));
    OK(cudaDeviceSynchronize());
    memcpy(more.pinned, a, sizeof(a));
    blas_far_copy(more.there[0], more.pinned, sizeof(a), more.stream);
    OK(cublasLtMatmul(lt->handle, lt->desc, alpha, more.there[0], lt->layout, more.there[1],
                      lt->layout, beta, more.there[2], lt->layout, more.there[2], lt->layout,
                      algorithm, lt->work, 64, more.stream));
    OK(cudaMemcpyAsync(more.pinned, more.there[2], sizeof(a), cudaMemcpyDeviceToHost, more.stream));
    OK(cudaStreamSynchronize(more.stream));
    for (int i = 0; i < CELLS; i++) {
        float sum = 0;
        for (int k = 0; k < N; k++)
            sum += a[i % N + k * N] * b[k + i / N * N];
        CHECK(fabsf(more.pinned[i] - (times * sum + (float)(i % N))) < 1e-3f);
    }
}

static void set(struct lt *lt, cublasLtMatmulDescAttributes_t which, const void *value, size_t size)
{
    OK(cublasLtMatmulDescSetAttribute(lt->desc, which, value, size));
}

void more_lt(bool fake)
{
    const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    cublasLtEpilogue_t had = CUBLASLT_EPILOGUE_DEFAULT;
    const cublasLtPointerMode_t on_device = CUBLASLT_POINTER_MODE_DEVICE;
    const float two = 2, zero = 0, factors[] = {3, 0};
    const cudaDataType_t wide = CUDA_R_64F;
    cublasLtMatmulHeuristicResult_t found[4];
    cublasLtMatmulPreference_t preference;
    float *scalars, *bias = NULL;
    const size_t most = 1 << 20;
    size_t written = 0;
    cublasHandle_t blas;
    struct lt lt;
    int count = 0;

    if (!more_begins("cublasLt", cublasLtCreate(&lt.handle), CUBLAS_STATUS_NOT_INITIALIZED))
        return;
    const cublasLtHandle_t own = lt.handle;
    OK(cudaMalloc((void **)&lt.bias, N * sizeof(float)));
    OK(cudaMalloc(&lt.work, 64));
    OK(cudaMalloc((void **)&scalars, sizeof(factors)));
    OK(cudaMemcpy(scalars, factors, sizeof(factors), cudaMemcpyHostToDevice));
    OK(cudaMemset(more.there[2], 0, CELLS * sizeof(float)));
    OK(cublasLtMatmulDescCreate(&lt.desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    OK(cublasLtMatrixLayoutCreate(&lt.layout, CUDA_R_32F, N, N, N));
    set(&lt, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue));
    set(&lt, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &lt.bias, sizeof(lt.bias));
    OK(cublasLtMatmulDescGetAttribute(lt.desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias,
                                      sizeof(bias), &written));
    CHECK(bias == lt.bias && written == sizeof(bias));
    OK(cublasLtMatmulDescGetAttribute(lt.desc, CUBLASLT_MATMUL_DESC_EPILOGUE, &had, sizeof(had),
                                      &written)); /* the second result is aligned, too */
    CHECK(had == epilogue && written == sizeof(had));
    CHECK(cublasLtMatmulDescSetAttribute(lt.desc, CUBLASLT_MATMUL_DESC_SCALE_TYPE, &wide,
                                         sizeof(wide)) == CUBLAS_STATUS_INVALID_VALUE);
    OK(cublasLtMatmulPreferenceCreate(&preference));
    OK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                            fake ? &most : &(size_t){64}, sizeof(most)));
    OK(cublasLtMatmulAlgoGetHeuristic(lt.handle, lt.desc, lt.layout, lt.layout, lt.layout,
                                      lt.layout, preference, 4, found, &count));
    CHECK(count >= 1 && count <= 4);
    OK(cublasLtMatmulPreferenceDestroy(preference));
    lt_multiply(&lt, &two, &zero, 2, &found[0].algo);
    lt_multiply(&lt, &two, &zero, 2, NULL);
    set(&lt, CUBLASLT_MATMUL_DESC_POINTER_MODE, &on_device, sizeof(on_device));
    lt_multiply(&lt, scalars, scalars + 1, 3, fake ? &found[0].algo : NULL);
    CHECK(strcmp(cublasLtGetStatusName(CUBLAS_STATUS_INVALID_VALUE),
                 "CUBLAS_STATUS_INVALID_VALUE") == 0);
    if (fake)
        CHECK(cublasLtMatmulAlgoGetHeuristic(lt.handle, lt.desc, lt.layout, lt.layout, lt.layout,
                                             lt.layout, NULL, -1, found,
                                             &count) == CUBLAS_STATUS_INVALID_VALUE);
    OK(cublasCreate(&blas)); /* its handle is one of cuBLASLt, too */
    OK(cublasSetStream(blas, more.stream));
    OK(cudaMemset(more.there[2], 0, CELLS * sizeof(float)));
    lt.handle = (cublasLtHandle_t)blas;
    lt_multiply(&lt, scalars, scalars + 1, 3, NULL);
    lt.handle = own;
    OK(cublasDestroy(blas));
    OK(cublasLtMatmulDescDestroy(lt.desc));
    if (fake) { /* factors of another size */
        OK(cublasLtMatmulDescCreate(&lt.desc, CUBLAS_COMPUTE_32F, wide));
        set(&lt, CUBLASLT_MATMUL_DESC_EPILOGUE, &epilogue, sizeof(epilogue));
        set(&lt, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &lt.bias, sizeof(lt.bias));
        lt_multiply(&lt, &(const double){2.5}, &(const double){0}, 2.5f, NULL);
        OK(cublasLtMatmulDescDestroy(lt.desc));
    }
    OK(cublasLtMatrixLayoutDestroy(lt.layout));
    OK(cublasLtDestroy(lt.handle));
    OK(cudaFree(lt.bias));
    OK(cudaFree(lt.work));
    OK(cudaFree(scalars));
}
