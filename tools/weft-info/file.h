/* weft-info/file.h - making the file of measured values (base/tune.h), which jobs read. */
#ifndef WEFT_INFO_FILE_H
#define WEFT_INFO_FILE_H

#include "weft/types.h"

#include <stdint.h>

/* A measured value of a setting that may be tuned, by its name in config.def. */
struct tuned {
    const char *name;
    uint64_t value;
    const char *device; /* the kind of device that it is good for; NULL: any */
};

/*
 * Whether a file can be made there, before anybody measures for it; makes the folders. Errors:
 * SYSTEM, with the reason.
 */
weft_status tuned_try(const char *path);

/*
 * Writes the file, whole or not at all; makes the two folders above it where they are missing.
 * Errors: SYSTEM, with the reason.
 */
weft_status tuned_write(const char *path, const struct tuned *values, int count);

#endif
