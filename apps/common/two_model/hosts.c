/*
 * two_model/hosts.c - see hosts.h.
 */
#include "hosts.h"

#include "exchange.h"

#include <stdlib.h>
#include <string.h>

weft_job *hosts_job;

bool exchange_open(int *argc, char ***argv, int *process, int *processes)
{
    if (weft_open(&hosts_job, argc, *argv) != WEFT_OK)
        return false;
    *process = weft_numbers_of(hosts_job)->process;
    *processes = weft_numbers_of(hosts_job)->processes;
    return true;
}

void exchange_close(bool good)
{
    if (!good)
        weft_abort(hosts_job, "a two-model program has failed");
    exchange_free();
    weft_close(hosts_job);
}

bool exchange_barrier(void)
{
    return weft_host_barrier(hosts_job) == WEFT_OK;
}

bool hosts_broadcast(void *data, size_t bytes)
{
    const size_t processes = (size_t)weft_numbers_of(hosts_job)->processes;
    char *copies = malloc(processes * bytes);
    if (!copies)
        return false;
    for (size_t i = 0; i < processes; i++)
        memcpy(copies + i * bytes, data, bytes);
    const bool good = weft_host_scatter(hosts_job, 0, copies, data, bytes) == WEFT_OK;
    free(copies);
    return good;
}

bool exchange_largest(double *value)
{
    const int processes = weft_numbers_of(hosts_job)->processes;
    double *all = calloc((size_t)processes, sizeof(*all));
    bool good = all && weft_host_gather(hosts_job, 0, value, sizeof(*value), all) == WEFT_OK;
    if (good && weft_numbers_of(hosts_job)->process == 0)
        for (int i = 0; i < processes; i++)
            *value = all[i] > *value ? all[i] : *value;
    free(all);
    return good && hosts_broadcast(value, sizeof(*value));
}

bool exchange_gather(const void *mine, size_t bytes, void *all)
{
    return weft_host_gather(hosts_job, 0, mine, bytes, all) == WEFT_OK;
}
