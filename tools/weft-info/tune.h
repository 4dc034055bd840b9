/* weft-info/tune.h - measuring what settings depend on, on this machine. */
#ifndef WEFT_INFO_TUNE_H
#define WEFT_INFO_TUNE_H

#include "base/config.h"

/*
 * Measures, prints what it found, and writes the values to a file for a shell to read (NULL: to
 * none). Takes some seconds. In a job of two processes both call it, for what is measured between
 * them; process 0 does the rest. False, after a line that says why: it failed.
 */
bool tune(const struct weft_config *config, const char *path);

#endif
