/*
 * hosts.c - which process runs on which host.
 *
 * Processes are numbered over the hosts in their order. Where hosts say how many slots they have,
 * they get that many, and one that does not say has one. Where none says, they share evenly.
 */
#include "weftrun.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SLOTS = 65536, LINE_BYTES = 4096 };

/* 1 to MOST_SLOTS; 0: it is no such number. */
static int slots_of(const char *text)
{
    char *end;

    errno = 0;
    const long value = text[0] >= '0' && text[0] <= '9' ? strtol(text, &end, 10) : 0;
    return value < 1 || value > MOST_SLOTS || errno != 0 || *end != 0 ? 0 : (int)value;
}

/* Letters of names, addresses and users; none that a shell or ssh's options would take for theirs.
 */
static bool good_name(const char *name, size_t bytes)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "._-@:%";

    for (size_t i = 0; i < bytes; i++) {
        if (memchr(letters, name[i], sizeof(letters) - 1) == NULL)
            return false;
    }
    return bytes > 0 && name[0] != '-';
}

static const char *append(struct options *options, const char *name, size_t bytes, int slots)
{
    if (!good_name(name, bytes))
        return "that is no host's name";
    struct host *more = realloc(options->hosts, (size_t)(options->host_count + 1) * sizeof(*more));
    char *copy = strndup(name, bytes);
    if (more != NULL)
        options->hosts = more;
    if (more == NULL || copy == NULL) {
        free(copy);
        return "no memory";
    }
    more[options->host_count++] =
        (struct host){.name = copy, .slots = slots, .link = {.in = -1, .out = -1}, .errors = -1};
    return NULL;
}

/* NAME, NAME:SLOTS, ADDRESS (IPv6), [ADDRESS] or [ADDRESS]:SLOTS. */
static const char *add_one(struct options *options, const char *text)
{
    const char *name = text, *colon = strchr(text, ':'), *rest;
    size_t bytes = strlen(text);

    if (text[0] == '[') {
        const char *bracket = strchr(text, ']');
        if (bracket == NULL)
            return "a bracket is missing";
        name++;
        bytes = (size_t)(bracket - name);
        rest = bracket + 1;
    } else if (colon != NULL && strchr(colon + 1, ':') == NULL) {
        bytes = (size_t)(colon - text);
        rest = colon;
    } else {
        rest = text + bytes;
    }
    if (*rest == 0)
        return append(options, name, bytes, 0);
    const int slots = *rest == ':' ? slots_of(rest + 1) : 0;
    return slots == 0 ? "the slots are no number from 1 to 65536"
                      : append(options, name, bytes, slots);
}

const char *hosts_add(struct options *options, const char *text)
{
    const char *wrong = NULL;
    char *copy = strdup(text);

    if (copy == NULL)
        return "no memory";
    for (char *at = copy, *entry; wrong == NULL && (entry = strsep(&at, ",")) != NULL;)
        wrong = add_one(options, entry);
    free(copy);
    return wrong;
}

/* ---- host files ------------------------------------------------------------------------------ */

/* "NAME", "NAME:SLOTS" or "NAME slots=SLOTS"; '#' begins a remark. */
static const char *add_line(struct options *options, char *line)
{
    static const char blank[] = " \t\r\n";
    char *at;

    line[strcspn(line, "#")] = 0;
    const char *entry = strtok_r(line, blank, &at);
    if (entry == NULL)
        return NULL;
    const char *word = strtok_r(NULL, blank, &at);
    const char *wrong = add_one(options, entry);
    if (wrong != NULL || word == NULL)
        return wrong;
    const int slots = strncmp(word, "slots=", 6) == 0 ? slots_of(word + 6) : 0;
    if (slots == 0 || strtok_r(NULL, blank, &at) != NULL)
        return "a line is NAME or NAME slots=NUMBER";
    options->hosts[options->host_count - 1].slots = slots;
    return NULL;
}

/* The next line, without its end. False: there is none, or *wrong says why not. */
static bool next_line(FILE *file, char line[LINE_BYTES], const char **wrong)
{
    size_t length = 0;
    int c;

    while ((c = getc(file)) != EOF && c != '\n') {
        if (length == LINE_BYTES - 1) {
            *wrong = "the line has 4096 bytes or more";
            return false;
        }
        line[length++] = (char)c;
    }
    line[length] = 0;
    return c == '\n' || (length > 0 && !ferror(file));
}

int hosts_read(struct options *options, const char *path)
{
    FILE *file = fopen(path, "re");
    const char *wrong = NULL;
    char line[LINE_BYTES];
    int number = 1;

    if (file == NULL) {
        complain("cannot read %s: %s", path, strerror(errno));
        return EXIT_OWN_ERROR;
    }
    for (; wrong == NULL && next_line(file, line, &wrong); number += wrong == NULL)
        wrong = add_line(options, line);
    if (wrong == NULL && ferror(file))
        wrong = strerror(errno);
    fclose(file);
    if (wrong == NULL && options->host_count == 0)
        wrong = "no host in it";
    if (wrong == NULL)
        return 0;
    complain("%s:%d: %s", path, number, wrong);
    return EXIT_OWN_ERROR;
}

/* ---- placing --------------------------------------------------------------------------------- */

/* What a host gets where nobody names slots: equal parts, the first ones one more. */
static void share_evenly(struct options *options)
{
    const int n = options->processes, hosts = options->host_count;

    for (int i = 0; i < hosts; i++)
        options->hosts[i].slots = n / hosts + (i < n % hosts);
}

int hosts_place(struct options *options)
{
    bool said = false;
    long slots = 0;
    int next = 0;

    if (options->units != NULL && units_place(options) != 0)
        return EXIT_OWN_ERROR;
    if (options->host_count == 0) {
        if (options->processes == 0)
            options->processes = 1;
        return 0;
    }
    for (int i = 0; i < options->host_count; i++) {
        said |= options->hosts[i].slots > 0;
        slots += options->hosts[i].slots > 0 ? options->hosts[i].slots : 1;
    }
    if (options->processes == 0)
        options->processes = slots > MOST_SLOTS ? MOST_SLOTS : (int)slots;
    if (!said)
        share_evenly(options);
    else if (options->processes > slots) {
        complain("%d processes, but the hosts have %ld slots", options->processes, slots);
        return EXIT_OWN_ERROR;
    }
    for (int i = 0; i < options->host_count; i++) {
        struct host *host = &options->hosts[i];
        const int room = said && host->slots == 0 ? 1 : host->slots;
        const int left = options->processes - next;
        host->first = next;
        host->count = room < left ? room : left;
        next += host->count;
    }
    return 0;
}

void hosts_free(struct options *options)
{
    for (int i = 0; i < options->host_count; i++)
        free(options->hosts[i].name);
    free(options->hosts);
}
