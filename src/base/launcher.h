/*
 * base/launcher.h - what launchers of programs leave in the environment, which is not weft's own
 * configuration.
 */
#ifndef WEFT_BASE_LAUNCHER_H
#define WEFT_BASE_LAUNCHER_H

#include <stdbool.h>

struct weft_launcher {
    const char *name; /* the launcher's name, for messages; NULL: none that is known */
    const char *mpi;  /* MPI of the launcher: "openmpi", "mpich"; NULL: it serves several */
    int processes;    /* processes that it started; 0: it does not say */
};

struct weft_launcher weft_launcher(void);

/* Whether a launcher that speaks PMIx has started this process, whatever else it speaks. */
bool weft_launcher_pmix(void);

/* Which GPUs the program may see, as CUDA's driver reads it (CUDA_VISIBLE_DEVICES); NULL: all. */
const char *weft_launcher_gpus(void);

#endif
