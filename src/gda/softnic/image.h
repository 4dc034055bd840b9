/* gda/softnic/image.h - the software NIC's code for GPUs; NULL: this build has none. */
#ifndef WEFT_GDA_SOFTNIC_IMAGE_H
#define WEFT_GDA_SOFTNIC_IMAGE_H

extern const void *const weft_nic_image;

#endif
