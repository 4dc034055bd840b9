/*
 * base/fatbin.h - kernels that the library carries: the file that CMake's weft_cuda_image made of
 * them, for all GPUs, as the array `name`.
 */
#ifndef WEFT_BASE_FATBIN_H
#define WEFT_BASE_FATBIN_H

#define WEFT_FATBIN(name)                                                                          \
    extern const char name[] __attribute__((visibility("hidden")));                                \
    __asm__(".pushsection .rodata\n"                                                               \
            ".balign 16\n"                                                                         \
            ".globl " #name "\n"                                                                   \
            ".hidden " #name "\n" #name ": .incbin \"" WEFT_BLOCK_IMAGE "\"\n"                     \
            ".popsection\n")

/* The pointer `image` to them, which a header declares; NULL in a build without CUDA. */
#ifdef WEFT_HAVE_CUDA
#define WEFT_FATBIN_IMAGE(image)                                                                   \
    WEFT_FATBIN(image##_bytes);                                                                    \
    const void *const image = image##_bytes
#else
#define WEFT_FATBIN_IMAGE(image) const void *const image = 0
#endif

#endif
