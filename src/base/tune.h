/*
 * base/tune.h - values that were measured on this machine (weft-info --tune), in a file.
 *
 * They come before the defaults and behind whatever the environment and the command line say. The
 * file names the machine and the version that it was made with, and is used there only. It is
 * text: "weft-tune 1", "version ...", "machine ...", then lines; # begins a comment.
 *
 *     NAME=VALUE            on every device
 *     NAME=VALUE DEVICE     on that kind of device only, which it was measured on: cpu or cuda
 */
#ifndef WEFT_BASE_TUNE_H
#define WEFT_BASE_TUNE_H

#include "base/config.h"

#include <stddef.h>

enum { WEFT_TUNE_PATH = 512, WEFT_TUNE_MACHINE = 256 };

#define WEFT_TUNE_TEXT(x)  #x
#define WEFT_TUNE_DIGIT(x) WEFT_TUNE_TEXT(x)
/* Of the library; the file names that which it was made with. */
#define WEFT_TUNE_VERSION                                                                          \
    WEFT_TUNE_DIGIT(WEFT_VERSION_MAJOR)                                                            \
    "." WEFT_TUNE_DIGIT(WEFT_VERSION_MINOR) "." WEFT_TUNE_DIGIT(WEFT_VERSION_PATCH)

/*
 * Where the file is: WEFT_TUNE, or weft/tune in XDG_CONFIG_HOME, or in .config of HOME. False:
 * WEFT_TUNE=off, or the environment names no such place.
 */
bool weft_tune_path(const struct weft_config *config, char path[WEFT_TUNE_PATH]);

/* Processor and GPUs, as the kernel tells them: "Xeon ..., 16 processors, 2 GPUs NVIDIA H200". */
void weft_tune_machine(char machine[WEFT_TUNE_MACHINE]);

/*
 * Takes the file's values for what is still the default. A file that is malformed, or of another
 * machine or version, gives one warning and changes nothing; so does one that WEFT_TUNE names and
 * that is not there.
 */
void weft_tune_read(struct weft_config *config);

/*
 * Once the device is known (its ops->name): what the file says of another kind becomes the default
 * again.
 */
void weft_tune_keep(struct weft_config *config, const char *device);

#endif
