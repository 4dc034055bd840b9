/*
 * base/launcher.h - what launchers of MPI programs leave in the environment, which is not weft's
 * own configuration. (PMIx's is read in config.c.)
 */
#ifndef WEFT_BASE_LAUNCHER_H
#define WEFT_BASE_LAUNCHER_H

struct weft_launcher {
    const char *name; /* for messages; NULL: none of those known has started this process */
    const char *mpi;  /* whose it is: "openmpi", "mpich"; NULL: one that serves several */
    int processes;    /* 0: it does not say */
};

struct weft_launcher weft_launcher(void);

#endif
