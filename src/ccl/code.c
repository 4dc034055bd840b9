/* ccl/code.c - the kernels of kernels.cu, as the library carries them. */
#include "base/fatbin.h"
#include "ccl/ccl.h"

WEFT_FATBIN_IMAGE(weft_ccl_image);
