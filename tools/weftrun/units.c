/*
 * units.c - what the processes of each host drive: "cuda:1,cpu:2" is one on a GPU, then two on
 * CPUs. Every host runs all of it, so a process's place in it follows from its number.
 */
#include "weftrun.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_UNITS = 65536 };

/* Takes the first entry off the text: how many processes; 0: it is no entry. */
static int take(const char **text, bool *cuda)
{
    const char *const digits = strchr(*text, ':');
    char *end;

    *cuda = strncmp(*text, "cuda:", 5) == 0;
    if ((!*cuda && strncmp(*text, "cpu:", 4) != 0) || digits[1] < '0' || digits[1] > '9')
        return 0;
    errno = 0;
    const long count = strtol(digits + 1, &end, 10);
    const bool more = end[0] == ',' && end[1] != 0;
    if (count < 1 || count > MOST_UNITS || errno != 0 || (*end != 0 && !more))
        return 0;
    *text = more ? end + 1 : end;
    return (int)count;
}

int units_count(const char *text)
{
    int all = 0;

    if (strlen(text) >= UNITS_BYTES)
        return 0;
    do {
        bool cuda;
        const int count = take(&text, &cuda);
        if (count == 0 || count > MOST_UNITS - all)
            return 0;
        all += count;
    } while (*text != 0);
    return all;
}

const char *units_device(const char *text, int process)
{
    int place = process % units_count(text);
    bool cuda = false;

    for (int count; *text != 0 && place >= (count = take(&text, &cuda)); place -= count)
        continue;
    return cuda ? "cuda" : "cpu";
}

int units_place(struct options *options)
{
    const int hosts = options->host_count > 0 ? options->host_count : 1;
    const int count = units_count(options->units);

    if (count > MOST_UNITS / hosts) {
        complain("--units %s: %d processes on each of %d hosts, and %d in all are the most",
                 options->units, count, hosts, MOST_UNITS);
        return EXIT_OWN_ERROR;
    }
    if (options->processes != 0 && options->processes != count * hosts) {
        complain("--units %s: %d processes on each of %d host(s), which is not --processes %d",
                 options->units, count, hosts, options->processes);
        return EXIT_OWN_ERROR;
    }
    options->processes = count * hosts;
    for (int i = 0; i < options->host_count; i++) {
        struct host *host = &options->hosts[i];
        if (host->slots != 0 && host->slots != count) {
            complain("--units %s: %d processes on each host, and host %s has %d slots",
                     options->units, count, host->name, host->slots);
            return EXIT_OWN_ERROR;
        }
        host->slots = count;
    }
    return 0;
}
