/* empty.cu - the least program: one empty kernel, and its end. Plain CUDA: nothing of weft is in
 * it. */
extern "C" __global__ void empty_kernel()
{
}

int main()
{
    empty_kernel<<<1, 1>>>();
    return cudaGetLastError() == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
}
