/* run.c - weft-cuda run: the program's environment, then the program. */
#include "weft_cuda.h"

#include <errno.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where libcudart.so.13 of weft lies, from where this program does. False: nowhere. */
static bool find_libraries(char folder[PATH_MAX])
{
    static const char *const places[] = {"../lib/weft-cuda", "../" WEFT_LIBDIR "/weft-cuda"};
    char own[PATH_MAX], path[PATH_MAX + 64], file[2 * PATH_MAX];
    const ssize_t bytes = readlink("/proc/self/exe", own, sizeof(own) - 1);

    if (bytes < 0)
        return false;
    own[bytes] = 0;
    const char *here = dirname(own);
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", here, places[i]);
        if (realpath(path, folder) == NULL)
            continue;
        snprintf(file, sizeof(file), "%s/libcudart.so.13", folder);
        if (access(file, R_OK) == 0)
            return true;
    }
    return false;
}

static const char *from_environment(const char *name)
{
    const size_t length = strlen(name);

    for (char **v = environ; *v != NULL; v++)
        if (strncmp(*v, name, length) == 0 && (*v)[length] == '=')
            return *v + length + 1;
    return NULL;
}

/* Puts `first` before what the variable has. */
static bool prepend(const char *name, const char *first, char between)
{
    const char *before = from_environment(name);
    char *text = NULL;

    if (before == NULL || before[0] == 0)
        return setenv(name, first, 1) == 0;
    if (asprintf(&text, "%s%c%s", first, between, before) < 0)
        return false;
    const bool done = setenv(name, text, 1) == 0;
    free(text);
    return done;
}

int run_program(char **argv)
{
    char folder[PATH_MAX], redirect[PATH_MAX + 64];

    if (!find_libraries(folder)) {
        fprintf(stderr, "weft-cuda: libcudart.so.13 of weft is not beside this program\n");
        return EXIT_FAILURE;
    }
    snprintf(redirect, sizeof(redirect), "%s/libweft_redirect.so", folder);
    if (!prepend("LD_LIBRARY_PATH", folder, ':') || !prepend("LD_PRELOAD", redirect, ':')) {
        fprintf(stderr, "weft-cuda: the environment: %s\n", strerror(errno));
        return EXIT_FAILURE;
    }
    execvp(argv[0], argv);
    fprintf(stderr, "weft-cuda: %s: %s\n", argv[0], strerror(errno));
    return errno == ENOENT ? 127 : 126;
}
