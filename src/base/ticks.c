/* base/ticks.c - see the header. */
#include "base/ticks.h"

#include <stdio.h>
#include <string.h>

bool weft_ticks_are_good(void)
{
    static const char file[] = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    char name[32] = "";
    FILE *f = fopen(file, "re");

    if (f == NULL)
        return false;
    if (fgets(name, sizeof(name), f) == NULL)
        name[0] = 0;
    fclose(f);
#if defined(__x86_64__)
    return strcmp(name, "tsc\n") == 0;
#elif defined(__aarch64__)
    return strcmp(name, "arch_sys_counter\n") == 0;
#else
    return false;
#endif
}
