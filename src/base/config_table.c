/* base/config_table.c - tunables: their values from text, and their words. Any thread. */
#include "base/config.h"

#include "base/plain.h"
#include "base/say.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(struct weft_config, field)
const struct weft_config_row weft_config_rows[WEFT_CONFIG_ROWS] = {
#define WEFT_CONFIG_INT(name, field, def, min, max, unit, doc)                                     \
    {#name, WEFT_INT, AT(field), #def, unit, NULL, doc, (double)(min), (double)(max)},
#define WEFT_CONFIG_SIZE(name, field, def, min, max, doc)                                          \
    {#name, WEFT_SIZE, AT(field), #def, "bytes", NULL, doc, (double)(min), (double)(max)},
#define WEFT_CONFIG_REAL(name, field, def, min, max, unit, doc)                                    \
    {#name, WEFT_REAL, AT(field), #def, unit, NULL, doc, (double)(min), (double)(max)},
#define WEFT_CONFIG_CHOICE(name, field, def, words, doc)                                           \
    {#name, WEFT_CHOICE, AT(field), def, "", words, doc, 0, 0},
#define WEFT_CONFIG_TEXT(name, field, def, doc)                                                    \
    {#name, WEFT_TEXT, AT(field),                                                                  \
     def,   "",        NULL,                                                                       \
     doc,   0,         sizeof(((struct weft_config *)0)->field) - 1},
#include "base/config.def"
};

const struct weft_config_group weft_config_groups[] = {
#define WEFT_CONFIG_INT(name, field, def, min, max, unit, doc)
#define WEFT_CONFIG_SIZE(name, field, def, min, max, doc)
#define WEFT_CONFIG_REAL(name, field, def, min, max, unit, doc)
#define WEFT_CONFIG_CHOICE(name, field, def, words, doc)
#define WEFT_CONFIG_TEXT(name, field, def, doc)
#define WEFT_CONFIG_GROUP(name, title) {title, WEFT_CONFIG_GROUP_##name},
#include "base/config.def"
    {NULL, WEFT_CONFIG_ROWS}};

bool weft_config_offers(const struct weft_config_row *row)
{
#ifdef WEFT_TEST_SETTINGS
    (void)row;
    return true;
#else
    return strncmp(row->doc, "test: ", 6) != 0;
#endif
}

/* ---- from text ------------------------------------------------------------------------------- */

static weft_status bad(const struct weft_config_row *row, const char *text, const char *wanted)
{
    return weft_err(WEFT_ERR_CONFIG, "WEFT_%s=%s: %s", row->name, text, wanted);
}

/* Stores what was read, unless it is out of range; errno is as strtoll and its like left it. */
static weft_status store(void *field, const void *value, size_t bytes, double number,
                         const struct weft_config_row *row, const char *text)
{
    if (errno != 0 || number < row->min || number > row->max)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_%s=%s: not in %.15g..%.15g%s%s", row->name, text,
                        row->min, row->max, row->unit[0] != 0 ? " " : "", row->unit);
    if (strstr(row->doc, "a power of two") != NULL &&
        ((uint64_t)number & ((uint64_t)number - 1)) != 0)
        return bad(row, text, "not a power of two");
    memcpy(field, value, bytes);
    return WEFT_OK;
}

static weft_status set_int(void *field, const struct weft_config_row *row, const char *text)
{
    char *end;

    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (end == text || *end != 0 || isspace((unsigned char)*text))
        return bad(row, text, "not a whole number");
    return store(field, &(int64_t){value}, sizeof(int64_t), (double)value, row, text);
}

bool weft_config_bytes(const char *text, uint64_t *bytes)
{
    static const char suffixes[] = "KMG";
    char *end;

    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    const char *suffix = *end != 0 ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;
    const int shift = suffix != NULL ? 10 * (int)(suffix - suffixes + 1) : 0;
    if (!isdigit((unsigned char)*text) || (*end != 0 && (suffix == NULL || end[1] != 0)))
        return false;
    if (value > UINT64_MAX >> shift)
        errno = ERANGE;
    *bytes = errno == 0 ? (uint64_t)value << shift : UINT64_MAX;
    return true;
}

static weft_status set_size(void *field, const struct weft_config_row *row, const char *text)
{
    uint64_t bytes;

    if (!weft_config_bytes(text, &bytes))
        return bad(row, text, "not a number of bytes, or one with K, M or G");
    return store(field, &bytes, sizeof(bytes), (double)bytes, row, text);
}

static weft_status set_real(void *field, const struct weft_config_row *row, const char *text)
{
    char *end;

    const locale_t before = weft_plain_begin();
    errno = 0;
    const double value = strtod(text, &end);
    weft_plain_end(before);
    if (errno != 0 || end == text || *end != 0 || isspace((unsigned char)*text) || !isfinite(value))
        return bad(row, text, "not a number");
    return store(field, &value, sizeof(value), value, row, text);
}

static weft_status set_choice(void *field, const struct weft_config_row *row, const char *text)
{
    for (int value = 0;; value++) {
        const struct weft_config_word word =
            weft_config_word((enum weft_config_index)(row - weft_config_rows), value);
        if (strcmp(word.text, "?") == 0)
            return weft_err(WEFT_ERR_CONFIG, "WEFT_%s=%s: not one of %s", row->name, text,
                            row->words);
        if (strcmp(word.text, text) == 0) {
            memcpy(field, &value, sizeof(value));
            return WEFT_OK;
        }
    }
}

static weft_status set_text(void *field, const struct weft_config_row *row, const char *text)
{
    if ((double)strlen(text) > row->max)
        return weft_err(WEFT_ERR_CONFIG, "WEFT_%s: %zu bytes, at most %g", row->name, strlen(text),
                        row->max);
    memcpy(field, text, strlen(text) + 1);
    return WEFT_OK;
}

weft_status weft_config_set(struct weft_config *config, const struct weft_config_row *row,
                            const char *text)
{
    static weft_status (*const by_kind[])(void *, const struct weft_config_row *,
                                          const char *) = {[WEFT_INT] = set_int,
                                                           [WEFT_SIZE] = set_size,
                                                           [WEFT_REAL] = set_real,
                                                           [WEFT_CHOICE] = set_choice,
                                                           [WEFT_TEXT] = set_text};
    return by_kind[row->kind]((char *)config + row->at, row, text);
}

int64_t weft_config_number(const struct weft_config *config, enum weft_config_index row)
{
    const void *const field = (const char *)config + weft_config_rows[row].at;

    return weft_config_rows[row].kind == WEFT_CHOICE ? *(const int *)field
                                                     : *(const int64_t *)field;
}

struct weft_config_word weft_config_word(enum weft_config_index row, int64_t value)
{
    struct weft_config_word word;
    const char *from = weft_config_rows[row].words;

    if (from == NULL) {
        snprintf(word.text, sizeof(word.text), "%lld", (long long)value);
        return word;
    }
    for (; value > 0 && from != NULL; value--) {
        const char *bar = strchr(from, '|');
        from = bar != NULL ? bar + 1 : NULL;
    }
    if (from == NULL)
        from = "?";
    snprintf(word.text, sizeof(word.text), "%.*s", (int)strcspn(from, "|"), from);
    return word;
}
