/* base/launcher.c - see the header. Any thread. */
#include "base/launcher.h"

#include <stddef.h>
#include <stdlib.h>

/* Reads a count of processes; 0 if it is none. */
static int count_in(const char *text)
{
    char *end;
    const long value = strtol(text, &end, 10);

    return end != text && *end == 0 && value > 0 && value <= 1 << 20 ? (int)value : 0;
}

bool weft_launcher_pmix(void)
{
    return getenv("PMIX_NAMESPACE") != NULL && getenv("PMIX_RANK") != NULL;
}

const char *weft_launcher_gpus(void)
{
    return getenv("CUDA_VISIBLE_DEVICES");
}

struct weft_launcher weft_launcher(void)
{
    static const struct {
        const char *variable, *name, *mpi;
    } known[] = {
        {"OMPI_COMM_WORLD_SIZE", "Open MPI's mpirun", "openmpi"},
        {"PMI_SIZE", "a launcher that speaks PMI", "mpich"},
    };

    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const char *value = getenv(known[i].variable);
        if (value != NULL && count_in(value) > 0)
            return (struct weft_launcher){
                .name = known[i].name, .mpi = known[i].mpi, .processes = count_in(value)};
    }
    if (weft_launcher_pmix())
        return (struct weft_launcher){.name = "a launcher that speaks PMIx"};
    return (struct weft_launcher){0};
}
