/* weft-info/file.c - see the header. */
#include "file.h"

#include "base/say.h"
#include "base/tune.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The folder `up` levels above the file. It may be there already, and what fails is said later. */
static void make_folder(const char *path, int up)
{
    char folder[WEFT_TUNE_PATH];

    snprintf(folder, sizeof(folder), "%s", path);
    for (int i = 0; i < up; i++) {
        char *slash = strrchr(folder, '/');
        if (slash == NULL || slash == folder)
            return;
        *slash = 0;
    }
    mkdir(folder, 0777);
}

static bool write_lines(FILE *file, const struct tuned *values, int count)
{
    char machine[WEFT_TUNE_MACHINE];

    weft_tune_machine(machine);
    fprintf(file, "weft-tune 1\n# made by weft-info --tune\nversion %s\nmachine %s\n",
            WEFT_TUNE_VERSION, machine);
    for (int i = 0; i < count; i++)
        fprintf(file, "%s=%llu%s%s\n", values[i].name, (unsigned long long)values[i].value,
                values[i].device != NULL ? " " : "",
                values[i].device != NULL ? values[i].device : "");
    return fflush(file) == 0 && !ferror(file);
}

enum { BESIDE = WEFT_TUNE_PATH + 16 };

/* A new file beside the one that it is to replace; NULL, after a line that says why. */
static FILE *open_beside(const char *path, char beside[BESIDE])
{
    make_folder(path, 2);
    make_folder(path, 1);
    snprintf(beside, BESIDE, "%s.%ld", path, (long)getpid());
    FILE *file = fopen(beside, "we");
    if (file == NULL)
        weft_err(WEFT_ERR_SYSTEM, "cannot write %s: %s", beside, strerror(errno));
    return file;
}

weft_status tuned_try(const char *path)
{
    char beside[BESIDE];
    FILE *file = open_beside(path, beside);

    if (file == NULL)
        return WEFT_ERR_SYSTEM;
    fclose(file);
    unlink(beside);
    return WEFT_OK;
}

weft_status tuned_write(const char *path, const struct tuned *values, int count)
{
    char beside[BESIDE];
    FILE *file = open_beside(path, beside);

    if (file == NULL)
        return WEFT_ERR_SYSTEM;
    bool good = write_lines(file, values, count);
    good &= fclose(file) == 0;
    if (good && rename(beside, path) == 0)
        return WEFT_OK;
    const int error = errno;
    unlink(beside);
    return weft_err(WEFT_ERR_SYSTEM, "cannot write %s: %s", path, strerror(error));
}
