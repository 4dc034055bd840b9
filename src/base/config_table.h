/*
 * base/config_table.h - config.def as an array: for each tunable its name, type and range, and how
 * its value is read from text. For config.c and tune.c; others take config.h.
 */
#ifndef WEFT_BASE_CONFIG_TABLE_H
#define WEFT_BASE_CONFIG_TABLE_H

#include "base/config.h"

#include <stddef.h>

enum weft_config_kind { WEFT_INT, WEFT_SIZE, WEFT_REAL, WEFT_CHOICE, WEFT_TEXT };

/* One row of config.def. */
struct weft_config_row {
    const char *name;
    enum weft_config_kind kind;
    size_t at; /* of the field */
    const char *def, *unit, *words, *doc;
    double min, max;
};

extern const struct weft_config_row weft_config_rows[];
extern const int weft_config_row_count;

/* Sets the row's field. Errors: CONFIG, and the field is as it was. */
weft_status weft_config_set(struct weft_config *config, const struct weft_config_row *row,
                            const char *text);

#endif
