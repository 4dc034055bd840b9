/*
 * mpi/module/module.c - the table of mpi/library.h from one MPI: the only file that includes mpi.h.
 *
 * Compiled once for each MPI into a shared object of its own (cmake/weft_mpi.cmake). It holds no
 * state and no decisions. Without strict aliasing: a handle of the table is memory in which the
 * MPI's own lies.
 */
#include "mpi/library.h"

#include <mpi.h>

#include <stdio.h>
#include <string.h>

#if defined(OPEN_MPI)
#define NAME "openmpi"
#elif defined(MPICH_VERSION) || defined(I_MPI_VERSION) || defined(MVAPICH2_VERSION)
#define NAME "mpich"
#else
#error "an MPI that is neither Open MPI nor of MPICH's family: give it a name here and in load.c"
#endif

_Static_assert(sizeof(MPI_Comm) <= sizeof(struct weft_mpi_handle), "a communicator fits");
_Static_assert(sizeof(MPI_Request) <= sizeof(struct weft_mpi_handle), "a request fits");
_Static_assert(MPI_SUCCESS == 0, "0 is success");

static MPI_Comm comm_of(const struct weft_mpi_handle *handle)
{
    return *(const MPI_Comm *)(const void *)handle;
}

static MPI_Request *request_in(struct weft_mpi_handle *handle)
{
    return (MPI_Request *)(void *)handle;
}

static void describe(char *text, size_t bytes)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;

    if (MPI_Get_library_version(version, &length) != MPI_SUCCESS)
        version[0] = 0;
    version[strcspn(version, ",\n")] = 0;
    for (char *tab = strchr(version, '\t'); tab != NULL; tab = strchr(tab, '\t'))
        *tab = ' '; /* MPICH writes a table */
    snprintf(text, bytes, "%s", version);
}

static void explain(int error, char *text, size_t bytes)
{
    char words[MPI_MAX_ERROR_STRING];
    int length;

    if (MPI_Error_string(error, words, &length) != MPI_SUCCESS)
        snprintf(words, sizeof(words), "error %d", error);
    words[strcspn(words, "\n")] = 0; /* MPICH adds its call stack */
    snprintf(text, bytes, "%s", words);
}

static bool truncated(int error)
{
    int class;
    return MPI_Error_class(error, &class) == MPI_SUCCESS && class == MPI_ERR_TRUNCATE;
}

static bool initialized(void)
{
    int flag = 0;
    return MPI_Initialized(&flag) == MPI_SUCCESS && flag;
}

static bool finalized(void)
{
    int flag = 0;
    return MPI_Finalized(&flag) == MPI_SUCCESS && flag;
}

static const int levels[] = {[WEFT_MPI_LEVEL_SINGLE] = MPI_THREAD_SINGLE,
                             [WEFT_MPI_LEVEL_FUNNELED] = MPI_THREAD_FUNNELED,
                             [WEFT_MPI_LEVEL_SERIALIZED] = MPI_THREAD_SERIALIZED,
                             [WEFT_MPI_LEVEL_MULTIPLE] = MPI_THREAD_MULTIPLE};

static int init(enum weft_mpi_level wanted)
{
    int given;
    const int error = MPI_Init_thread(NULL, NULL, levels[wanted], &given);

    return error != MPI_SUCCESS ? error
                                : MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}

static int level(enum weft_mpi_level *result)
{
    int given;
    const int error = MPI_Query_thread(&given);

    *result = WEFT_MPI_LEVEL_SINGLE;
    for (int i = WEFT_MPI_LEVEL_SINGLE; error == MPI_SUCCESS && i <= WEFT_MPI_LEVEL_MULTIPLE; i++)
        if (given >= levels[i])
            *result = (enum weft_mpi_level)i;
    return error;
}

static int world(int *rank, int *size)
{
    const int error = MPI_Comm_rank(MPI_COMM_WORLD, rank);
    return error != MPI_SUCCESS ? error : MPI_Comm_size(MPI_COMM_WORLD, size);
}

static int duplicate(const struct weft_mpi_handle *from, struct weft_mpi_handle *comm,
                     struct weft_mpi_handle *request)
{
    return MPI_Comm_idup(from != NULL ? comm_of(from) : MPI_COMM_WORLD, (MPI_Comm *)(void *)comm,
                         request_in(request));
}

static int return_errors(const struct weft_mpi_handle *comm)
{
    return MPI_Comm_set_errhandler(comm_of(comm), MPI_ERRORS_RETURN);
}

static int release(struct weft_mpi_handle *comm)
{
    return MPI_Comm_free((MPI_Comm *)(void *)comm);
}

static int allgather(const struct weft_mpi_handle *comm, const void *mine, size_t bytes, void *all,
                     struct weft_mpi_handle *request)
{
    return MPI_Iallgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, comm_of(comm),
                          request_in(request));
}

static int isend(const struct weft_mpi_handle *comm, const void *buffer, size_t bytes, int to,
                 int tag, struct weft_mpi_handle *request)
{
    return MPI_Isend(buffer, (int)bytes, MPI_BYTE, to, tag, comm_of(comm), request_in(request));
}

static int irecv(const struct weft_mpi_handle *comm, void *buffer, size_t bytes, int from, int tag,
                 struct weft_mpi_handle *request)
{
    return MPI_Irecv(buffer, (int)bytes, MPI_BYTE, from < 0 ? MPI_ANY_SOURCE : from, tag,
                     comm_of(comm), request_in(request));
}

static int test(struct weft_mpi_handle *request, bool *done, size_t *bytes, int *from)
{
    MPI_Status status;
    int flag = 0, count = 0;
    const int error = MPI_Test(request_in(request), &flag, &status);

    *done = error == MPI_SUCCESS && flag;
    if (!*done)
        return error;
    *from = status.MPI_SOURCE;
    *bytes = MPI_Get_count(&status, MPI_BYTE, &count) == MPI_SUCCESS && count != MPI_UNDEFINED
                 ? (size_t)count
                 : 0;
    return error;
}

/* The wait is for nobody: MPI says that what was cancelled completes, whatever others do. */
static int cancel(struct weft_mpi_handle *request)
{
    const int error = MPI_Cancel(request_in(request));

    return error != MPI_SUCCESS ? error : MPI_Wait(request_in(request), MPI_STATUS_IGNORE);
}

__attribute__((visibility("default"))) extern const struct weft_mpi_ops weft_mpi_module;
const struct weft_mpi_ops weft_mpi_module = {
    .table = WEFT_MPI_TABLE,
    .name = NAME,
    .describe = describe,
    .explain = explain,
    .truncated = truncated,
    .initialized = initialized,
    .finalized = finalized,
    .init = init,
    .finalize = MPI_Finalize,
    .level = level,
    .world = world,
    .duplicate = duplicate,
    .return_errors = return_errors,
    .release = release,
    .allgather = allgather,
    .isend = isend,
    .irecv = irecv,
    .test = test,
    .cancel = cancel,
};
