/*
 * common/usage.c - see usage.h.
 */
#include "usage.h"

#include "settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int usage(weft_job *job, const char *argument, const char *about)
{
    const bool help = strcmp(argument, "--help") == 0, speak = weft_numbers_of(job)->process == 0;

    if (speak && help)
        printf("usage: [weftrun -n N] %s [--weft-NAME=VALUE]...\n%s\n"
               "NAME: a setting of weft's, of which weft-info --config prints the list.\n",
               program_invocation_short_name, about);
    else if (speak)
        complain("%s is not an option of this program", argument);
    return help ? 0 : 2;
}
