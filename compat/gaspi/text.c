/* compat/gaspi/text.c - texts of return codes, lines of output, and the machine. */
#include "internal.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* ---- return codes ---------------------------------------------------------------------------- */

API_OF(gaspi_string_t, error_str, (const gaspi_return_t code))
{
    switch (code) {
#define TEXT(name, number, text)                                                                   \
    case name:                                                                                     \
        return (gaspi_string_t)(uintptr_t)text;
        GASPI_RETURN_MAP(TEXT)
#undef TEXT
    }
    return (gaspi_string_t)(uintptr_t) "no code of GASPI";
}

API(print_error, (const gaspi_return_t code, gaspi_string_t *const text))
{
    TRY_PLACES(text);
    char *const copy = strdup(pgaspi_error_str(code));
    if (copy == NULL)
        return GASPI_ERR_MEMALLOC;
    *text = copy;
    return GASPI_SUCCESS;
}

/* ---- output ---------------------------------------------------------------------------------- */

/* Prints by one write, where the buffer has room, so that lines of several processes stay whole. */
static void print(const char *format, va_list list)
{
    flockfile(stdout);
    printf("[ Rank %4d]: ", weftgaspi.rank);
    vprintf(format, list);
    fflush(stdout);
    funlockfile(stdout);
}

API_OF(void, printf, (const char *format, ...))
{
    va_list list;

    va_start(list, format);
    print(format, list);
    va_end(list);
}

/* Prints for a rank: weftrun collects the output of all hosts in one place. */
API_OF(void, printf_to, (gaspi_rank_t rank, const char *format, ...))
{
    va_list list;

    if (weftgaspi.job == NULL || rank >= weftgaspi.ranks)
        return;
    va_start(list, format);
    print(format, list);
    va_end(list);
}

API_OF(void, print_affinity_mask, (void))
{
    char cores[512] = "";
    size_t used = 0;
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof(set), &set) != 0)
        return;
    for (int i = 0; i < CPU_SETSIZE && used + 8 < sizeof(cores); i++)
        if (CPU_ISSET(i, &set))
            used += (size_t)snprintf(cores + used, sizeof(cores) - used, " %d", i);
    pgaspi_printf("processors:%s\n", cores);
}

/* Lets others run, for loops that poll. */
API_OF(void, delay, (void))
{
    sched_yield();
}

/* ---- the machine ----------------------------------------------------------------------------- */

/* Reads the first line of a file of the system that the format fits; 0: there is none. */
static int read_value(const char *path, const char *format, void *value)
{
    FILE *const file = fopen(path, "r");
    char line[256];
    int found = 0;

    while (file != NULL && found != 1 && fgets(line, sizeof(line), file) != NULL)
        found = sscanf(line, format, value);
    if (file != NULL)
        fclose(file);
    return found == 1;
}

/* Tells the processor's frequency. GASPI_ERROR: the system does not say. */
API(cpu_frequency, (gaspi_float *const mhz))
{
    int value; /* whole numbers: what stands for the point is the locale's */

    TRY_PLACES(mhz);
    if (read_value("/proc/cpuinfo", "cpu MHz : %d", &value))
        *mhz = (gaspi_float)value;
    else if (read_value("/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", "%d", &value))
        *mhz = (gaspi_float)value / 1000;
    else
        return GASPI_ERROR;
    return GASPI_SUCCESS;
}

bool weftgaspi_bound_to_socket(void)
{
    const char *const wanted = getenv("GASPI_SET_NUMA_SOCKET");

    return wanted != NULL && strcmp(wanted, "1") == 0;
}

/* Tells the process's number on its host, whose node of memory it is bound to. ENV: without -N. */
SAY(numa_socket, gaspi_uchar, weft_numbers_of(weftgaspi.job)->node_process, TRY_OPEN();
    NEED(weftgaspi_bound_to_socket(), GASPI_ERR_ENV, "needs gaspi_run -N"))

/* Keeps the calling thread on the processors of a node. GASPI_ERROR: there is no such node. */
API(set_socket_affinity, (const gaspi_uchar socket))
{
    char path[64], list[256], *at = list;
    cpu_set_t set;

    snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/cpulist", socket);
    if (!read_value(path, "%255s", list))
        return GASPI_ERROR;
    CPU_ZERO(&set);
    while (*at >= '0' && *at <= '9') { /* 0-3,8,10-11 */
        const unsigned long first = strtoul(at, &at, 10);
        const unsigned long last = *at == '-' ? strtoul(at + 1, &at, 10) : first;
        for (unsigned long i = first; i <= last && i < CPU_SETSIZE; i++)
            CPU_SET(i, &set);
        at += *at == ',';
    }
    return sched_setaffinity(0, sizeof(set), &set) == 0 ? GASPI_SUCCESS : GASPI_ERROR;
}
