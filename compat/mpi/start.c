/* compat/mpi/start.c - MPI_Init opens the job, MPI_Finalize closes it. */
#include "win.h"

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <mpi-ext.h>

struct weftmpi_state weftmpi;

#define ABORTED "MPI_Abort with code" /* and the code: what the job then says of its end */

/* Ends the process. The low byte of the code is the status; one of 0 would look like success. */
static void __attribute__((noreturn)) leave(int code)
{
    fflush(NULL);
    _exit((code & 0xff) == 0 ? 1 : code & 0xff);
}

void weftmpi_exit(int code)
{
    const char *why = weftmpi.job != NULL ? weft_error(weftmpi.job) : NULL;
    int aborted;

    why = why != NULL ? strstr(why, ABORTED) : NULL;
    if (why != NULL && sscanf(why, ABORTED " %d", &aborted) == 1)
        code = aborted; /* whoever ends first: MPI_Abort's code is the job's status */
    if (weftmpi.job != NULL)
        weft_close(weftmpi.job);
    leave(code);
}

/* Refuses a launcher's processes that only its own MPI library could join into one job. */
static void refuse_launcher(void)
{
    const char *size = getenv("PMI_SIZE");

    if (size != NULL && atoi(size) > 1 && getenv("PMIX_RANK") == NULL &&
        getenv("WEFT_PROCESSES") == NULL) {
        fprintf(stderr,
                "weft-mpi: %s: this launcher of %s processes speaks PMI without PMIx: start the "
                "program by weftrun, or by an mpirun or srun with PMIx\n",
                weftmpi_call.name, size);
        _exit(1);
    }
}

/* Opens MPI_COMM_WORLD or MPI_COMM_SELF, of so many processes. False: weft has said why not. */
static bool open_comm(int number, int first, int size)
{
    struct weftmpi_comm *comm = &weftmpi_comms[number];

    comm->group = weftmpi_group_make(size, NULL);
    for (int i = 0; i < size; i++)
        comm->group->processes[i] = first + i;
    comm->object.references = 1;
    return weftmpi_comm_open(comm, number) &&
           (number != 0 || weftmpi_channel_open(comm->group) == WEFT_OK);
}

static int init(int *argc, char ***argv, int level)
{
    if (weftmpi.begun) {
        fprintf(stderr, "weft-mpi: %s was called before\n", weftmpi_call.name);
        return MPI_ERR_OTHER;
    }
    refuse_launcher();
    weftmpi.level = level;
    weftmpi.main_thread = pthread_self();
    /* Each process's part of a window of MPI is one of weft's; tables grow with those that exist.
     */
    setenv("WEFT_WINDOWS", "4096", 0);
    const weft_status status = weft_open_threads(
        &weftmpi.job, argv == NULL ? NULL : argc, argv == NULL ? NULL : *argv,
        level >= MPI_THREAD_SERIALIZED ? WEFT_THREAD_MULTIPLE : WEFT_THREAD_SINGLE);
    if (status != WEFT_OK || weft_team_meanwhile(weftmpi.job, weftmpi_meanwhile) != WEFT_OK)
        weftmpi_exit(MPI_ERR_OTHER);
    const weft_numbers *numbers = weft_numbers_of(weftmpi.job);
    if (!open_comm(0, 0, numbers->processes) || !open_comm(1, numbers->process, 1))
        weftmpi_end_job(MPI_ERR_OTHER, "MPI_Init: no MPI_COMM_WORLD, or no MPI_COMM_SELF");
    __atomic_store_n(&weftmpi.begun, true, __ATOMIC_RELEASE);
    return MPI_SUCCESS;
}

CALL(Init, (int *argc, char ***argv), init(argc, argv, MPI_THREAD_SINGLE))
CALL(Init_thread, (int *argc, char ***argv, int required, int *provided),
     INTO(provided, (*provided = required, init(argc, argv, required))))

/* Ends MPI: the attributes of MPI_COMM_SELF go first, so that programs are told; then all that is
 * left. */
API(Finalize, (void))
{
    struct weftmpi_comm *const world = &weftmpi_comms[0], *const self = &weftmpi_comms[1];

    OPEN_IN;
    weftmpi_call.on = self;
    TRY(weftmpi_attributes_delete(&self->object));
    weftmpi_call.on = world;
    TRY(weftmpi_attributes_delete(&world->object));
    weftmpi_orphans_end(false);
    TRY(weftmpi_barrier(world));
    TRY(weftmpi_failed(weft_team_close(&world->team)));
    weftmpi_orphans_end(true);
    for (int i = 0; i < 2; i++) {
        weftmpi_comm_end(&weftmpi_comms[i]);
        weftmpi_leave(weftmpi_comms[i].object.errhandler);
        weftmpi_leave(weftmpi_comms[i].object.info);
    }
    __atomic_store_n(&weftmpi.ended, true, __ATOMIC_RELAXED);
    weft_close(weftmpi.job);
    weftmpi.job = NULL;
    return MPI_SUCCESS;
}

TELL(Initialized, (int *flag), MPI_SUCCESS, flag, __atomic_load_n(&weftmpi.begun, __ATOMIC_ACQUIRE))
TELL(Finalized, (int *flag), MPI_SUCCESS, flag, __atomic_load_n(&weftmpi.ended, __ATOMIC_RELAXED))
TELL(Query_thread, (int *provided), weftmpi_is_open(), provided, weftmpi.level)
TELL(Is_thread_main, (int *flag), weftmpi_is_open(), flag,
     pthread_equal(pthread_self(), weftmpi.main_thread))

API(Abort, (MPI_Comm comm, int code))
{
    char text[80];

    (void)comm;
    OPEN_IN;
    snprintf(text, sizeof(text), ABORTED " %d in process %d", code,
             weft_numbers_of(weftmpi.job)->process);
    fprintf(stderr, "weft-mpi: %s\n", text);
    weft_abort(weftmpi.job, text);
    leave(code);
}

/* ---- what programs ask ----------------------------------------------------------------------- */

extern double PMPI_Wtime(void) __attribute__((alias("MPI_Wtime")));
__attribute__((weak)) double MPI_Wtime(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

extern double PMPI_Wtick(void) __attribute__((alias("MPI_Wtick")));
__attribute__((weak)) double MPI_Wtick(void)
{
    return 1e-9;
}

API(Get_processor_name, (char *name, int *length))
{
    OPEN_IN;
    OUT(name, length);
    TRY(HOLDS(gethostname(name, MPI_MAX_PROCESSOR_NAME) == 0, MPI_ERR_OTHER, "no host name"));
    name[MPI_MAX_PROCESSOR_NAME - 1] = '\0';
    *length = (int)strlen(name);
    return MPI_SUCCESS;
}

API(Get_version, (int *version, int *subversion))
{
    OUT(version, subversion);
    *version = MPI_VERSION;
    *subversion = MPI_SUBVERSION;
    return MPI_SUCCESS;
}

API(Get_library_version, (char *version, int *length))
{
    OUT(version, length);
    *length = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "weft %d.%d.%d, MPI %d.%d",
                       WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, WEFT_VERSION_PATCH, MPI_VERSION,
                       MPI_SUBVERSION);
    return MPI_SUCCESS;
}

int MPIX_Query_cuda_support(void)
{
    return weftmpi.job != NULL &&
           weft_process_kind(weftmpi.job, weft_numbers_of(weftmpi.job)->process) == WEFT_KIND_CUDA;
}

/* Allocates memory that others map, for windows over it; of a process with a GPU the host's. */
API(Alloc_mem, (MPI_Aint bytes, MPI_Info info, void *base))
{
    (void)info;
    OPEN_IN;
    OUT(base);
    LOCKED;
    void *memory = NULL;
    if (bytes >= 0)
        memory = MPIX_Query_cuda_support() ? malloc((size_t)bytes + 1)
                                           : weft_malloc(weftmpi.job, (size_t)bytes + 1);
    TRY(HOLDS(memory != NULL, MPI_ERR_NO_MEM, "%td bytes", (ptrdiff_t)bytes));
    *(void **)base = memory;
    return MPI_SUCCESS;
}

API(Free_mem, (void *base))
{
    OPEN_IN;
    LOCKED;
    if (MPIX_Query_cuda_support())
        free(base);
    else
        weft_free(weftmpi.job, base);
    return MPI_SUCCESS;
}

API(Pcontrol, (const int level, ...))
{
    (void)level; /* for tools that put their own before it */
    return MPI_SUCCESS;
}

TELL(Get_address, (const void *location, MPI_Aint *address), MPI_SUCCESS, address,
     (MPI_Aint)location)
SAME(Address, Get_address)
