/* weft-info/manual.h - what settings there are. */
#ifndef WEFT_INFO_MANUAL_H
#define WEFT_INFO_MANUAL_H

#include "base/config.h"

#include <stdio.h>

/* Of every setting its name, default, range, unit, doc, the current value and its source. */
void print_manual(FILE *out, const struct weft_config *config);

#endif
