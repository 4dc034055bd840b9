/* texts.cu - how errors are called that a program may see: over weft's runtime as over NVIDIA's,
 * which needs no GPU for it. What a lost server is called (46) is weft's own, and most other texts
 * are words of the name. */
#include <cstdio>

int main()
{
    static const int seen[] = {0,   1,   2,   3,   4,   9,   12,  13,  20,  21,  52,   98,  100,
                               101, 200, 201, 209, 214, 215, 217, 218, 220, 222, 304,  400, 401,
                               500, 600, 700, 701, 702, 704, 705, 708, 709, 710, 712,  713, 714,
                               715, 716, 717, 718, 719, 720, 800, 801, 912, 999, 12345};

    for (int number : seen)
        std::printf("%d %s: %s\n", number, cudaGetErrorName(cudaError_t(number)),
                    cudaGetErrorString(cudaError_t(number)));
    for (int number = 0; number < 1000; number++)
        std::printf("%s\n", cudaGetErrorName(cudaError_t(number)));
    return 0;
}
