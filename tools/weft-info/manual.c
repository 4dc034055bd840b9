/* weft-info/manual.c - see the header. */
#include "manual.h"

#include "base/config.h"

#include <string.h>

static void print_value(FILE *out, const struct weft_config *config,
                        const struct weft_config_row *row)
{
    const void *field = (const char *)config + row->at;

    switch (row->kind) {
    case WEFT_INT:
        fprintf(out, "%lld", (long long)*(const int64_t *)field);
        break;
    case WEFT_SIZE:
        fprintf(out, "%llu", (unsigned long long)*(const uint64_t *)field);
        break;
    case WEFT_REAL:
        fprintf(out, "%g", *(const double *)field);
        break;
    case WEFT_CHOICE:
        fputs(weft_config_word(row - weft_config_rows, *(const int *)field).text, out);
        break;
    case WEFT_TEXT:
        /* The secret is nobody's business. */
        fprintf(out, "'%s'",
                strcmp(row->name, "SECRET") == 0 && *(const char *)field != 0
                    ? "..."
                    : (const char *)field);
        break;
    }
}

void print_manual(FILE *out, const struct weft_config *config)
{
    static const char *const sources[] = {"", "the environment", "the command line"};
    const struct weft_config_group *group = weft_config_groups;

    for (int i = 0; i < WEFT_CONFIG_ROWS; i++) {
        const struct weft_config_row *row = &weft_config_rows[i];
        if (group->first == i)
            fprintf(out, "%s---- %s ----\n", i > 0 ? "\n" : "", group++->title);
        if (!weft_config_offers(row))
            continue;
        fprintf(out, "WEFT_%s = ", row->name);
        print_value(out, config, row);
        fprintf(out, "\n    %s\n    default %s", row->doc, row->def[0] != 0 ? row->def : "''");
        if (row->kind == WEFT_CHOICE)
            fprintf(out, ", one of %s", row->words);
        else if (row->kind != WEFT_TEXT)
            fprintf(out, ", range %.15g..%.15g%s%s", row->min, row->max,
                    row->unit[0] != 0 ? " " : "", row->unit);
        fprintf(out, "\n");
        if (config->source[i] != WEFT_CONFIG_DEFAULT)
            fprintf(out, "    set by %s\n", sources[config->source[i]]);
    }
}
