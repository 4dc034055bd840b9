/* replay.c - feeds the files of some folders to a fuzz target. usage: fuzz_NAME FOLDER... */
#include "fuzz.h"

#include <dirent.h>
#include <limits.h>

/* A copy of its own size, so that sanitizers see where it ends. */
static bool feed(const char *path)
{
    FILE *file = fopen(path, "re");
    long size = -1;

    if (file != NULL && fseek(file, 0, SEEK_END) == 0)
        size = ftell(file);
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
    const bool good = size >= 0 && data != NULL && fseek(file, 0, SEEK_SET) == 0 &&
                      fread(data, 1, (size_t)size, file) == (size_t)size;
    if (good)
        LLVMFuzzerTestOneInput(data, (size_t)size);
    else
        perror(path);
    free(data);
    if (file != NULL)
        fclose(file);
    return good;
}

/* How many files a folder has; -1: one of them, or the folder, cannot be read. */
static int feed_folder(const char *folder)
{
    struct dirent **entries;
    char path[PATH_MAX];
    bool good = true;
    int files = 0;
    const int count = scandir(folder, &entries, NULL, alphasort);

    if (count < 0) {
        perror(folder);
        return -1;
    }
    for (int i = 0; i < count; i++) {
        if (entries[i]->d_name[0] != '.') {
            snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name);
            good = feed(path) && good;
            files++;
        }
        free(entries[i]);
    }
    free(entries);
    return good ? files : -1;
}

int main(int argc, char **argv)
{
    int files = 0;

    for (int i = 1; i < argc; i++) {
        const int more = feed_folder(argv[i]);
        if (more < 0)
            return 1;
        files += more;
    }
    printf("%d files\n", files);
    return files > 0 ? 0 : 1;
}
