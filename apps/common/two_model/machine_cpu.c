/*
 * two_model/machine_cpu.c - the processor: a launch runs at once.
 */
#include "machine.h"

#include <string.h>

const char machine_name[] = "cpu";

bool machine_open(int process)
{
    (void)process;
    return true;
}

void machine_close(void)
{
}

bool machine_copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return true;
}

bool machine_wait(void)
{
    return true;
}

void *machine_stream(void)
{
    return NULL;
}

uint32_t machine_threads(uint32_t wanted)
{
    (void)wanted;
    return 1;
}

bool machine_capture(bool enqueues, machine_step step, void *problem)
{
    (void)enqueues, (void)step, (void)problem;
    return true;
}

bool machine_repeat(machine_step step, void *problem, uint64_t count)
{
    for (uint64_t k = 0; k < count; k++)
        if (!step(problem, k))
            return false;
    return true;
}
