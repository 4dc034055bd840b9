/*
 * common/matrix_market.c - a reader for one line after another: banner, size, entries.
 * Every number is read strictly, and every complaint names its line.
 */
#include "matrix_market.h"

#include "line.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MOST_ROWS (UINT32_MAX - 1) /* an index fits in 32 bits */

struct reader {
    FILE *file;
    struct market_error *error;
    char line[LINE_MOST + 1];
    uint64_t number; /* of the line */
    char *next;      /* what of the line has not been read */
    bool integer, pattern, symmetric;
    uint64_t rows, columns, announced;
    struct entry *entries;
    uint64_t count, entry_room;
};

static bool wrong(struct reader *r, uint64_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool wrong(struct reader *r, uint64_t line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(r->error->text, sizeof(r->error->text), format, args);
    va_end(args);
    r->error->line = line;
    return false;
}

/* Takes the next line. *end: there is none. */
static bool next_line(struct reader *r, bool *end)
{
    const char *problem = line_read(r->file, r->line, end);
    if (!problem && *end)
        return true;
    r->number++;
    if (problem)
        return wrong(r, r->number, "%s", problem);
    r->next = r->line;
    return true;
}

/* The next word of the line, ended by a zero; "" at the line's end. */
static char *next_word(struct reader *r)
{
    char *word = r->next + strspn(r->next, " \t\r\n\v\f");
    char *end = word + strcspn(word, " \t\r\n\v\f");
    r->next = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

/* The next line that is neither blank nor a comment. */
static bool next_content(struct reader *r, bool *end)
{
    for (;;) {
        if (!next_line(r, end))
            return false;
        if (*end)
            return true;
        char first = r->line[strspn(r->line, " \t\r\n\v\f")];
        if (first != '\0' && first != '%')
            return true;
    }
}

static bool line_ends(struct reader *r)
{
    const char *word = next_word(r);
    return !*word || wrong(r, r->number, "unexpected '%.40s' at the end of the line", word);
}

/* A whole number in lowest .. highest. */
static bool read_index(struct reader *r, const char *what, uint64_t lowest, uint64_t highest,
                       uint64_t *value)
{
    const char *word = next_word(r);
    if (!*word)
        return wrong(r, r->number, "the %s is missing", what);
    char *end;
    errno = 0;
    unsigned long long number = strtoull(word, &end, 10);
    if (*end || !isdigit((unsigned char)*word))
        return wrong(r, r->number, "the %s is '%.40s', not a whole number", what, word);
    if (errno || number < lowest || number > highest)
        return wrong(r, r->number, "the %s %.40s is not in %llu..%llu", what, word,
                     (unsigned long long)lowest, (unsigned long long)highest);
    *value = number;
    return true;
}

static bool read_value(struct reader *r, double *value)
{
    const char *word = next_word(r);
    if (!*word)
        return wrong(r, r->number, "the value is missing");
    char *end;
    errno = 0;
    double number = r->integer ? (double)strtoll(word, &end, 10) : strtod(word, &end);
    if (*end)
        return wrong(r, r->number, "the value is '%.40s', not %s number", word,
                     r->integer ? "a whole" : "a");
    if (!isfinite(number) || (r->integer && errno))
        return wrong(r, r->number, "the value %.40s is out of range", word);
    *value = number;
    return true;
}

static bool read_banner(struct reader *r)
{
    bool end;
    if (!next_line(r, &end))
        return false;
    if (end)
        return wrong(r, 1, "the file is empty");
    if (strcasecmp(next_word(r), "%%MatrixMarket") != 0 || strcasecmp(next_word(r), "matrix") != 0)
        return wrong(r, 1, "does not begin with '%%%%MatrixMarket matrix'");
    const char *word = next_word(r);
    if (strcasecmp(word, "coordinate") != 0)
        return wrong(r, 1, "the format is '%.40s'; only coordinate is read", word);
    word = next_word(r);
    r->pattern = strcasecmp(word, "pattern") == 0;
    r->integer = strcasecmp(word, "integer") == 0;
    if (!r->pattern && !r->integer && strcasecmp(word, "real") != 0)
        return wrong(r, 1, "the field is '%.40s'; only pattern, real and integer are read", word);
    word = next_word(r);
    r->symmetric = strcasecmp(word, "symmetric") == 0;
    if (!r->symmetric && strcasecmp(word, "general") != 0)
        return wrong(r, 1, "the symmetry is '%.40s'; only general and symmetric are read", word);
    return line_ends(r);
}

static bool read_size(struct reader *r)
{
    bool end;
    if (!next_content(r, &end))
        return false;
    if (end)
        return wrong(r, r->number, "the file ends before its size line");
    if (!read_index(r, "number of rows", 1, MOST_ROWS, &r->rows) ||
        !read_index(r, "number of columns", 1, MOST_ROWS, &r->columns) ||
        !read_index(r, "number of entries", 0, UINT64_MAX >> 8, &r->announced) || !line_ends(r))
        return false;
    if (r->symmetric && r->rows != r->columns)
        return wrong(r, r->number, "symmetric, but %llu rows and %llu columns",
                     (unsigned long long)r->rows, (unsigned long long)r->columns);
    return true;
}

static bool add_entry(struct reader *r, uint64_t row, uint64_t column, double value)
{
    if (r->count == r->entry_room) {
        uint64_t room = r->entry_room ? 2 * r->entry_room : 1024;
        struct entry *grown = realloc(r->entries, room * sizeof(*grown));
        if (!grown)
            return wrong(r, r->number, "out of memory");
        r->entries = grown;
        r->entry_room = room;
    }
    r->entries[r->count++] = (struct entry){
        .row = (uint32_t)(row - 1), .column = (uint32_t)(column - 1), .value = value};
    return true;
}

static bool read_entry(struct reader *r)
{
    uint64_t row = 0, column = 0;
    double value = 1;
    if (!read_index(r, "row", 1, r->rows, &row) || !read_index(r, "column", 1, r->columns, &column))
        return false;
    if (!r->pattern && !read_value(r, &value))
        return false;
    return line_ends(r) && add_entry(r, row, column, value) &&
           (!r->symmetric || row == column || add_entry(r, column, row, value));
}

static bool read_entries(struct reader *r)
{
    unsigned long long announced = r->announced;
    for (uint64_t got = 0;; got++) {
        bool end;
        if (!next_content(r, &end))
            return false;
        if (end && got < announced)
            return wrong(r, r->number, "the file ends after %llu of %llu entries",
                         (unsigned long long)got, announced);
        if (end)
            return true;
        if (got == announced)
            return wrong(r, r->number, "more than the %llu entries announced", announced);
        if (!read_entry(r))
            return false;
    }
}

bool market_read(FILE *file, struct sparse *matrix, struct market_error *error)
{
    struct reader r = {.file = file, .error = error};
    bool good = read_banner(&r) && read_size(&r) && read_entries(&r);
    if (good) {
        const char *problem = sparse_build(matrix, r.rows, r.columns, r.entries, r.count);
        if (problem)
            good = wrong(&r, 0, "%s", problem);
    }
    free(r.entries);
    return good;
}
