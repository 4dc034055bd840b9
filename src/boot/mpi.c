/*
 * boot/mpi.c - see the header. The opening thread calls it.
 *
 * MPI knows who is who. It carries two things once, from all to all: where each process runs, then
 * where process 0 listens and the secret of the job. All else is the control channel's.
 */
#include "boot/mpi.h"

#include "base/launcher.h"
#include "base/say.h"
#include "boot/interface.h"
#include "boot/local.h"
#include "boot/pmix/pmix.h"
#include "mpi/library.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOST_BYTES = 72 };

/* What process 0 tells. */
struct invitation {
    char root[WEFT_ROOT_BYTES]; /* empty: it could not listen */
    char secret[WEFT_SECRET_BYTES];
};

/* What was found out the first time. */
static struct {
    bool known;
    int root_fd;
    struct invitation invitation;
} place = {.root_fd = -1};

/* Gathers what all processes bring, by process, malloc'ed; NULL: *status says why. */
static void *gather(const struct weft_mpi_library *library, const struct weft_config *config,
                    const void *mine, size_t bytes, weft_status *status)
{
    struct weft_mpi_handle request;
    void *all = malloc((size_t)library->size * bytes);

    if (all == NULL) {
        *status = weft_err(WEFT_ERR_MEMORY, "no memory for %d processes", library->size);
        return NULL;
    }
    const int error = library->ops->allgather(&library->comm, mine, bytes, all, &request);
    *status = error != 0 ? weft_mpi_failed(library->ops, error, "MPI_Iallgather")
                         : weft_mpi_await(library->ops, &request, config->connect_s, "weft_open");
    if (*status == WEFT_OK)
        return all;
    free(all);
    return NULL;
}

static weft_status on_one_host(const struct weft_mpi_library *library,
                               const struct weft_config *config, bool *one)
{
    char mine[HOST_BYTES] = "";
    weft_status status;

    if (gethostname(mine, sizeof(mine) - 1) != 0)
        return weft_err(WEFT_ERR_SYSTEM, "gethostname: %s", strerror(errno));
    char *all = gather(library, config, mine, sizeof(mine), &status);
    *one = true;
    for (int p = 0; status == WEFT_OK && p < library->size; p++)
        *one &= memcmp(all + (size_t)p * HOST_BYTES, mine, HOST_BYTES) == 0;
    free(all);
    return status;
}

/* Makes process 0 listen, also for later jobs, and fills in its invitation. */
static weft_status invite(const struct weft_config *config, bool one_host, struct invitation *mine)
{
    WEFT_TRY(weft_secret_make(mine->secret));
    return weft_interface_listen(&place.root_fd, mine->root, config->interface,
                                 one_host ? WEFT_REACH_HOST : WEFT_REACH_NETWORK);
}

static weft_status find_place(const struct weft_mpi_library *library,
                              const struct weft_config *config)
{
    struct invitation mine = {0};
    bool one_host = false;
    weft_status status;

    WEFT_TRY(on_one_host(library, config, &one_host));
    const weft_status invited = library->rank == 0 ? invite(config, one_host, &mine) : WEFT_OK;
    if (invited != WEFT_OK)
        mine.root[0] = 0; /* which tells the others */
    struct invitation *all = gather(library, config, &mine, sizeof(mine), &status);
    if (invited != WEFT_OK)
        status = invited;
    if (status == WEFT_OK && all[0].root[0] == 0)
        status = weft_err(WEFT_ERR_PEER_LOST, "process 0 could not open the job's control channel");
    if (status == WEFT_OK)
        place.invitation = all[0];
    else if (place.root_fd >= 0)
        close(place.root_fd);
    place.known = status == WEFT_OK;
    place.root_fd = place.known ? place.root_fd : -1;
    free(all);
    return status;
}

weft_status weft_boot_mpi(struct weft_config *config)
{
    const struct weft_mpi_library *library;
    int size;

    if (config->process >= 0 || weft_local_here() || !weft_mpi_launched(&size) || size == 1)
        return WEFT_OK;
    /* "off" means the same under launchers that speak PMIx and under those that do not. */
    if (config->net != WEFT_NET_MPI && config->pmix == WEFT_PMIX_OFF)
        return WEFT_OK;
    /* Where PMIx says as much, no MPI is started for it. */
    if (config->net != WEFT_NET_MPI && WEFT_PMIX_IN && weft_launcher_pmix())
        return WEFT_OK;
    WEFT_TRY(weft_mpi_start(&library, config));
    if (library->size == 1)
        return WEFT_OK;
    weft_say_process(library->rank);
    if (!place.known)
        WEFT_TRY(find_place(library, config));
    config->process = library->rank;
    config->processes = library->size;
    config->root_fd = place.root_fd;
    snprintf(config->root, sizeof(config->root), "%s", place.invitation.root);
    snprintf(config->secret, sizeof(config->secret), "%s", place.invitation.secret);
    return WEFT_OK;
}
