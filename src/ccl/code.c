/* ccl/code.c - the kernels of kernels.cu, as the library carries them. */
#include "base/fatbin.h"
#include "ccl/ccl.h"

#ifdef WEFT_HAVE_CUDA
WEFT_FATBIN(weft_ccl_fatbin);
const void *const weft_ccl_image = weft_ccl_fatbin;
#else
const void *const weft_ccl_image = NULL;
#endif
