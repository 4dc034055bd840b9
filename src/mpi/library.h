/*
 * mpi/library.h - what weft needs of an MPI, as a table of plain C functions.
 *
 * weft is compiled without mpi.h and runs without an MPI. Each MPI that was there when weft was
 * built has a module (module/module.c), a shared object that fills this table from that MPI's own
 * mpi.h. load.c finds the right one at run time and loads it when a job wants MPI, and only then.
 */
#ifndef WEFT_MPI_LIBRARY_H
#define WEFT_MPI_LIBRARY_H

#include "base/config.h"
#include "weft/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Changes with the table: a module of another version of weft is refused. */
#define WEFT_MPI_TABLE 3u

/* A communicator or request of the MPI: an int or a pointer, nobody else's to read. It stays in
 * place while a request that fills it is under way. */
struct weft_mpi_handle {
    _Alignas(8) unsigned char bits[8];
};

enum weft_mpi_level {
    WEFT_MPI_LEVEL_SINGLE,
    WEFT_MPI_LEVEL_FUNNELED,
    WEFT_MPI_LEVEL_SERIALIZED,
    WEFT_MPI_LEVEL_MULTIPLE
};

/*
 * Functions that return int return 0, or the MPI's error code, for `explain`. None blocks, except
 * init and finalize. Threads: as the level allows.
 */
struct weft_mpi_ops {
    uint32_t table; /* WEFT_MPI_TABLE, as the module was compiled */
    const char *name;

    /* Gives MPI's own text about its version; before init, too. */
    void (*describe)(char *text, size_t bytes);
    void (*explain)(int error, char *text, size_t bytes);
    bool (*truncated)(int error); /* whether a message was longer than its buffer */
    /* Whether anybody in this process has initialised, or finalised, MPI. */
    bool (*initialized)(void);
    bool (*finalized)(void);
    /* Blocking, all processes of the launch. Errors of the world's communicator are returned. */
    int (*init)(enum weft_mpi_level wanted);
    int (*finalize)(void);
    int (*level)(enum weft_mpi_level *level);
    int (*world)(int *rank, int *size);

    /* Begins to duplicate a communicator. Collective. from NULL: the world. */
    int (*duplicate)(const struct weft_mpi_handle *from, struct weft_mpi_handle *comm,
                     struct weft_mpi_handle *request);
    int (*return_errors)(const struct weft_mpi_handle *comm); /* does not end the program */
    int (*release)(struct weft_mpi_handle *comm);
    int (*allgather)(const struct weft_mpi_handle *comm, const void *mine, size_t bytes, void *all,
                     struct weft_mpi_handle *request);

    /* Begins to send at most INT_MAX bytes; the buffer is in use until the request is done. */
    int (*isend)(const struct weft_mpi_handle *comm, const void *buffer, size_t bytes, int to,
                 int tag, struct weft_mpi_handle *request);
    /* Begins to receive. from -1: from anybody. Receives of one tag match in order of posting. */
    int (*irecv)(const struct weft_mpi_handle *comm, void *buffer, size_t bytes, int from, int tag,
                 struct weft_mpi_handle *request);
    /* Tests a request. *done: it is gone. Of an irecv: how many bytes came, and *from whom. */
    int (*test)(struct weft_mpi_handle *request, bool *done, size_t *bytes, int *from);
    int (*cancel)(struct weft_mpi_handle *request); /* cancels an irecv: the request is gone */
};

/* What a module exports, under this name. */
#define WEFT_MPI_SYMBOL "weft_mpi_module"

/* The MPI of this process, once it runs. */
struct weft_mpi_library {
    const struct weft_mpi_ops *ops;
    struct weft_mpi_handle comm; /* duplicate of the world, for the library alone */
    enum weft_mpi_level level;
    int rank, size; /* this process in the world; processes of the world */
};

/*
 * Whether MPI can say who this process is: a launcher that speaks to an MPI has started it, or the
 * program has initialised an MPI itself. Loads nothing. *size: processes, as the launcher says; 0
 * if it does not.
 */
bool weft_mpi_launched(int *size);

/*
 * Gives the MPI of this process: loads the module and initialises it, once, unless the program has
 * done so. What weft has initialised it finalises at exit. Blocking, collective; each step of it,
 * also MPI_Init_thread, takes config->connect_s at most. Errors: CONFIG, NETWORK, TIMEOUT.
 */
weft_status weft_mpi_start(const struct weft_mpi_library **library,
                           const struct weft_config *config);

/* Duplicates a communicator, with errors returned. Collective. from NULL: the world. Errors:
 * NETWORK, TIMEOUT. */
weft_status weft_mpi_duplicate(const struct weft_mpi_ops *ops, const struct weft_mpi_handle *from,
                               struct weft_mpi_handle *comm, double seconds);

/* Waits for a request. what: for the error. Errors: NETWORK, TIMEOUT. */
weft_status weft_mpi_await(const struct weft_mpi_ops *ops, struct weft_mpi_handle *request,
                           double seconds, const char *what);

/* Says the MPI's error and passes NETWORK on. */
weft_status weft_mpi_failed(const struct weft_mpi_ops *ops, int error, const char *what);

/*
 * Communication was left unfinished: weft calls MPI no more, not even MPI_Finalize, which would
 * wait for it.
 */
void weft_mpi_abandon(void);

/* ---- load.c: which MPI's module a process needs, and loading it ---- */

/* Whether an MPI is loaded in this process already (the program is linked with it) and has been
 * initialised. */
bool weft_mpi_in_use(void);

/*
 * Finds the table of the MPI that this process has or should have, in this order: the one that is
 * loaded already, the one that WEFT_MPI_LIBRARY names, the launcher's, the only one there is.
 * Errors: CONFIG: none, the wrong one, or not weft's.
 */
weft_status weft_mpi_load(const struct weft_mpi_ops **ops, const struct weft_config *config);

#endif
