/*
 * tests/mpi/local.c - runs a program of MPI as processes of this one, which ThreadSanitizer and
 * random mode see whole: each process is a copy of the program's shared object with the library in
 * it, so that each has variables of its own. They share libweft, which is in this program.
 *
 * usage: mpi_local PROGRAM PROCESSES [FIRST:LAST], the seeds of random schedules. PROGRAM.so is
 * looked for where this program is.
 */
#include "weft/weft.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST = 16 };

static int (*mains[MOST])(int argc, char **argv);
static atomic_int next;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "mpi_local: %s: %s\n", what, why);
    exit(1);
}

/*
 * The main of a copy: a file of its own without a name, so that the loader takes it for another
 * object. It stays loaded, and its file open: what its variables hold is then no leak, and the
 * next copy has another name.
 */
static void load(const char *path, int (**function)(int argc, char **argv))
{
    char name[64];
    struct stat info;
    off_t at = 0;
    const int from = open(path, O_RDONLY | O_CLOEXEC), to = memfd_create("mpi", MFD_CLOEXEC);

    if (from < 0 || to < 0 || fstat(from, &info) != 0)
        fail(path, "cannot be opened");
    while (at < info.st_size)
        if (sendfile(to, from, &at, (size_t)(info.st_size - at)) <= 0)
            fail(path, "cannot be copied");
    snprintf(name, sizeof(name), "/proc/self/fd/%d", to);
    void *object = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (object == NULL)
        fail(path, dlerror());
    *(void **)function = dlsym(object, "main");
    if (*function == NULL)
        fail(path, "it has no main");
    close(from);
}

static int process(void *unused)
{
    char name[] = "mpi";
    char *arguments[] = {name, NULL};

    (void)unused;
    return mains[atomic_fetch_add(&next, 1)](1, arguments);
}

static int run(const char *path, int processes)
{
    atomic_store(&next, 0);
    for (int i = 0; i < processes; i++)
        load(path, &mains[i]);
    return weft_local_job(processes, process, NULL);
}

int main(int argc, char **argv)
{
    char path[4096], self[2048] = "";
    const int processes = argc > 2 ? atoi(argv[2]) : 0;
    unsigned first = 0, last = 0;

    if (processes < 1 || processes > MOST || readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
        fail("usage", "mpi_local PROGRAM PROCESSES [FIRST:LAST]");
    *strrchr(self, '/') = '\0';
    snprintf(path, sizeof(path), "%s/%s.so", self, argv[1]);
    setenv("WEFT_WINDOWS", "4096", 0); /* as MPI_Init would, while others read the environment */
    if (argc < 4)
        return run(path, processes);
    if (sscanf(argv[3], "%u:%u", &first, &last) != 2)
        fail(argv[3], "no seeds");
    for (unsigned seed = first; seed <= last; seed++) {
        char schedule[32];
        snprintf(schedule, sizeof(schedule), "random:%u", seed);
        setenv("WEFT_CPU_SCHEDULE", schedule, 1);
        const int wrong = run(path, processes);
        if (wrong != 0) {
            fprintf(stderr, "mpi_local: %s with WEFT_CPU_SCHEDULE=%s: %d\n", argv[1], schedule,
                    wrong);
            return wrong;
        }
    }
    return 0;
}
