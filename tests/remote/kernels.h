/*
 * kernels.h - the kernels of tests/remote, by their mangled names: as CUDA code in programs that
 * nvcc compiles, and as functions of the fake driver.
 */
#ifndef TESTS_REMOTE_KERNELS_H
#define TESTS_REMOTE_KERNELS_H

#define KERNEL_ADD "_Z10vector_addPKfS0_Pfi" /* c[i] = a[i] + b[i] */
#define KERNEL_SCALE                                                                               \
    "_Z5scalePiii"                /* a[i] = a[i] * factor + shift; a, factor, shift:               \
                                     one number a thread of the grid */
#define KERNEL_SLOW  "_Z4slowPii" /* the same as scale by 1, after some milliseconds */
#define KERNEL_SPEAK "_Z5speakii" /* lines from..from+n-1 on stdout, each by printf */
#define KERNEL_FETCH                                                                               \
    "_Z5fetchPiyii" /* out[y * width + x] = texture(x, y); out, texture, width, rows; rows 0: a    \
                       line */
#define KERNEL_STORE                                                                               \
    "_Z5storeyiii" /* surface(x, y) += shift; surface, width, rows, shift. At most 512 threads a   \
                      block; 32 KiB of shared memory of its own */
#define GLOBAL_TABLE "table" /* int table[64] */

#endif
