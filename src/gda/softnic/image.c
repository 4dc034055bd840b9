/* gda/softnic/image.c - the kernel of block.cu, as the library carries it. */
#include "gda/softnic/image.h"

#include <stddef.h>

#ifdef WEFT_HAVE_CUDA
/* For all GPUs: a fat binary, made by nvcc. */
extern const char weft_nic_fatbin[] __attribute__((visibility("hidden")));
__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        ".globl weft_nic_fatbin\n"
        ".hidden weft_nic_fatbin\n"
        "weft_nic_fatbin: .incbin \"" WEFT_BLOCK_IMAGE "\"\n"
        ".popsection\n");
const void *const weft_nic_image = weft_nic_fatbin;
#else
const void *const weft_nic_image = NULL;
#endif
