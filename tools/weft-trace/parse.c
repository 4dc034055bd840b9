/*
 * weft-trace/parse.c - one line of a timeline: an object of strings and numbers, and in it another
 * one, "args". JSON that weft does not write is refused: nested lists, signs, exponents, escapes
 * other than of a quote and a backslash.
 */
#include "read.h"

#include <string.h>

struct cursor {
    const char *at, *end;
    const char *wrong;
};

static void refuse(struct cursor *c, const char *why)
{
    if (c->wrong == NULL)
        c->wrong = why;
    c->at = c->end;
}

static bool next_is(struct cursor *c, char want)
{
    if (c->at == c->end || *c->at != want)
        return false;
    c->at++;
    return true;
}

static void expect(struct cursor *c, char want, const char *why)
{
    if (!next_is(c, want))
        refuse(c, why);
}

/* A string; out (of TRACE_TEXT bytes) is always terminated. */
static void string(struct cursor *c, char *out)
{
    size_t n = 0;

    expect(c, '"', "a string is missing");
    while (c->at != c->end && *c->at != '"') {
        if (*c->at == '\\' && (++c->at == c->end || (*c->at != '"' && *c->at != '\\')))
            refuse(c, "a string has an escape that weft does not write");
        if (c->at == c->end)
            break;
        if ((unsigned char)*c->at < 0x20 || (unsigned char)*c->at > 0x7e)
            refuse(c, "a string has a character that weft does not write");
        else if (n + 1 == TRACE_TEXT)
            refuse(c, "a string is too long");
        else
            out[n++] = *c->at++;
    }
    out[n] = 0;
    expect(c, '"', "a string does not end");
}

/* A number, in thousandths: at most three decimals, at most 15 digits before them. */
static uint64_t number(struct cursor *c)
{
    uint64_t value = 0;
    int digits = 0, decimals = 0;

    for (; c->at != c->end && *c->at >= '0' && *c->at <= '9'; c->at++, digits++)
        if (digits < 15)
            value = 10 * value + (uint64_t)(*c->at - '0');
    if (digits == 0 || digits > 15)
        refuse(c, digits == 0 ? "a number is missing" : "a number is too large");
    if (next_is(c, '.'))
        for (; c->at != c->end && *c->at >= '0' && *c->at <= '9' && decimals < 3;
             c->at++, decimals++)
            value = 10 * value + (uint64_t)(*c->at - '0');
    for (; decimals < 3; decimals++)
        value *= 10;
    return value;
}

static int64_t whole(struct cursor *c, int64_t most)
{
    const uint64_t thousandths = number(c);

    if (thousandths % 1000 != 0 || thousandths / 1000 > (uint64_t)most) {
        refuse(c, "a number is out of range");
        return 0;
    }
    return (int64_t)(thousandths / 1000);
}

const char *trace_category_name(enum trace_category category)
{
    static const char *const names[TRACE_CATEGORIES] = {
        [TRACE_RUN] = "run",         [TRACE_COMPUTE] = "compute",       [TRACE_PUT] = "put",
        [TRACE_WAIT] = "wait",       [TRACE_BARRIER] = "barrier",       [TRACE_FLUSH] = "flush",
        [TRACE_STUCK] = "stuck",     [TRACE_COLLECTIVE] = "collective", [TRACE_LOST] = "lost",
        [TRACE_SERVICE] = "service", [TRACE_NETWORK] = "network",       [TRACE_REGION] = "region",
    };
    return names[category];
}

static enum trace_category category(struct cursor *c)
{
    char text[TRACE_TEXT];

    string(c, text);
    for (int i = 0; i < TRACE_CATEGORIES; i++)
        if (strcmp(text, trace_category_name((enum trace_category)i)) == 0)
            return (enum trace_category)i;
    refuse(c, "the category is none of weft's");
    return TRACE_RUN;
}

/* Values of args that nobody asks for: a number, a string, true or false. */
static void skip(struct cursor *c)
{
    char text[TRACE_TEXT];

    if (c->at != c->end && *c->at == '"')
        string(c, text);
    else
        number(c);
}

static void word(struct cursor *c, const char *want)
{
    const size_t n = strlen(want);

    if ((size_t)(c->end - c->at) < n || memcmp(c->at, want, n) != 0)
        refuse(c, "a word is none of weft's");
    else
        c->at += n;
}

static void argument(struct cursor *c, const char *key, struct trace_line *line)
{
    if (strcmp(key, "tag") == 0)
        line->tag = whole(c, 255);
    else if (strcmp(key, "to") == 0)
        line->to = whole(c, INT32_MAX);
    else if (strcmp(key, "count") == 0)
        line->count = whole(c, INT64_MAX / 1000);
    else if (strcmp(key, "bytes") == 0)
        line->bytes = whole(c, INT64_MAX / 1000);
    else if (strcmp(key, "events") == 0)
        line->events = whole(c, INT64_MAX / 1000);
    else if (strcmp(key, "name") == 0 || strcmp(key, "labels") == 0)
        string(c, line->text);
    else if (strcmp(key, "unfinished") == 0) {
        word(c, "true");
        line->unfinished = true;
    } else
        skip(c);
}

static void member(struct cursor *c, const char *key, struct trace_line *line);

/* Members of an object, up to its end. */
static void object(struct cursor *c, struct trace_line *line, bool args)
{
    char key[TRACE_TEXT];

    expect(c, '{', "an object is missing");
    if (next_is(c, '}'))
        return;
    do {
        string(c, key);
        expect(c, ':', "a colon is missing");
        if (c->wrong != NULL)
            return;
        if (args)
            argument(c, key, line);
        else
            member(c, key, line);
    } while (next_is(c, ','));
    expect(c, '}', "an object does not end");
}

static void member(struct cursor *c, const char *key, struct trace_line *line)
{
    char text[TRACE_TEXT];

    if (strcmp(key, "name") == 0) {
        string(c, line->name);
    } else if (strcmp(key, "cat") == 0) {
        line->category = category(c);
    } else if (strcmp(key, "ph") == 0) {
        string(c, text);
        if (strlen(text) != 1 || strchr("XiM", text[0]) == NULL)
            refuse(c, "the phase is none of X, i and M");
        line->phase = text[0];
    } else if (strcmp(key, "s") == 0) {
        string(c, text);
    } else if (strcmp(key, "ts") == 0) {
        line->begin = number(c);
    } else if (strcmp(key, "dur") == 0) {
        line->lasted = number(c);
    } else if (strcmp(key, "pid") == 0) {
        line->pid = whole(c, INT32_MAX);
    } else if (strcmp(key, "tid") == 0) {
        line->tid = whole(c, INT32_MAX);
    } else if (strcmp(key, "args") == 0) {
        object(c, line, true);
    } else {
        refuse(c, "it has a member that weft does not write");
    }
}

const char *trace_parse(const char *text, size_t bytes, struct trace_line *line)
{
    struct cursor c = {.at = text, .end = text + bytes};

    memset(line, 0, sizeof(*line));
    line->pid = line->tid = line->tag = line->to = line->count = line->events = line->bytes = -1;
    line->category = TRACE_CATEGORIES;
    object(&c, line, false);
    if (c.wrong == NULL && c.at != c.end)
        refuse(&c, "something follows the object");
    if (c.wrong == NULL && (line->phase == 0 || line->pid < 0 || line->tid < 0))
        refuse(&c, "ph, pid or tid is missing");
    if (c.wrong == NULL && line->phase != 'M' && line->category == TRACE_CATEGORIES)
        refuse(&c, "the category is missing");
    return c.wrong;
}
