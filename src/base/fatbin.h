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

#endif
