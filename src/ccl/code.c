/* ccl/code.c - the kernels of kernels.cu, as the library carries them. */
#include "ccl/ccl.h"

#ifdef WEFT_HAVE_CUDA
/* For all GPUs: a fat binary, made by nvcc. */
extern const char weft_ccl_fatbin[] __attribute__((visibility("hidden")));
__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        ".globl weft_ccl_fatbin\n"
        ".hidden weft_ccl_fatbin\n"
        "weft_ccl_fatbin: .incbin \"" WEFT_BLOCK_IMAGE "\"\n"
        ".popsection\n");
const void *const weft_ccl_image = weft_ccl_fatbin;
#else
const void *const weft_ccl_image = NULL;
#endif
