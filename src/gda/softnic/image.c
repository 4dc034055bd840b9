/* gda/softnic/image.c - the kernel of block.cu, as the library carries it. */
#include "gda/softnic/image.h"

#include "base/fatbin.h"

#include <stddef.h>

#ifdef WEFT_HAVE_CUDA
WEFT_FATBIN(weft_nic_fatbin);
const void *const weft_nic_image = weft_nic_fatbin;
#else
const void *const weft_nic_image = NULL;
#endif
