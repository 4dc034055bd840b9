/* gda/softnic/image.c - the kernel of block.cu, as the library carries it. */
#include "gda/softnic/image.h"

#include "base/fatbin.h"

WEFT_FATBIN_IMAGE(weft_nic_image);
