/*
 * mpi/load.c - which MPI's module a process needs, and loading it. Opening thread only.
 *
 * A module is loaded with its symbols global (RTLD_GLOBAL): it brings its MPI along, and Open MPI
 * loads plugins that expect to find the library's symbols so. For the same reason two MPIs in one
 * process cannot be, and the one that the program brought decides.
 */
#include "mpi/library.h"

#include "base/launcher.h"
#include "base/say.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const families[] = {"openmpi", "mpich"};
enum { FAMILIES = sizeof(families) / sizeof(families[0]), VERSION_BYTES = 8192 };

/* ---- what this process has already ----------------------------------------------------------- */

bool weft_mpi_in_use(void)
{
    int (*initialized)(int *) = (int (*)(int *))dlsym(RTLD_DEFAULT, "MPI_Initialized");
    int flag = 0;

    return initialized != NULL && initialized(&flag) == 0 && flag;
}

/* The family of the loaded MPI, out of its own words; NULL: none is loaded. *version: its words. */
static const char *loaded_family(char version[VERSION_BYTES])
{
    int (*get_version)(char *, int *) =
        (int (*)(char *, int *))dlsym(RTLD_DEFAULT, "MPI_Get_library_version");
    int length = 0;

    version[0] = 0;
    if (get_version == NULL || get_version(version, &length) != 0)
        return NULL;
    version[strcspn(version, ",\n")] = 0;
    return strstr(version, "Open MPI") != NULL ? "openmpi" : "mpich";
}

/* ---- where modules are ----------------------------------------------------------------------- */

/* The folder of the file that holds this code: the shared library, or a program with the static
 * one. */
static bool own_folder(char folder[PATH_MAX])
{
    static const char anchor;
    Dl_info info;
    char link[PATH_MAX];

    /* dladdr names a program as it was called, maybe without its folder. */
    if (dladdr(&anchor, &info) == 0 || info.dli_fname == NULL ||
        realpath(info.dli_fname, link) == NULL || strchr(info.dli_fname, '/') == NULL) {
        const ssize_t bytes = readlink("/proc/self/exe", link, sizeof(link) - 1);
        if (bytes <= 0)
            return false;
        link[bytes] = 0;
    }
    char *slash = strrchr(link, '/');
    if (slash == NULL)
        return false;
    *slash = 0;
    snprintf(folder, PATH_MAX, "%s", link);
    return true;
}

/*
 * Looks for a module beside this code, in the library folder of its installation (or of a build
 * tree, whose tests lie a folder deeper), where weft was to be installed, and where the system
 * looks. NULL: *reason is the last one's.
 */
static void *open_module(const char *family, char *reason, size_t bytes)
{
    static const char *const places[] = {"", "/../" WEFT_LIBDIR, "/../../" WEFT_LIBDIR};
    char folder[PATH_MAX], path[2 * PATH_MAX];
    const bool known = own_folder(folder);
    bool there = false;

    for (size_t i = 0; known && !there && i < sizeof(places) / sizeof(places[0]); i++) {
        snprintf(path, sizeof(path), "%s%s/libweft-mpi-%s.so", folder, places[i], family);
        there = access(path, R_OK) == 0;
    }
    if (!there) {
        snprintf(path, sizeof(path), WEFT_INSTALLED_LIBDIR "/libweft-mpi-%s.so", family);
        there = access(path, R_OK) == 0;
    }
    void *module = dlopen(there ? path : strrchr(path, '/') + 1, RTLD_NOW | RTLD_GLOBAL);
    if (module == NULL)
        snprintf(reason, bytes, "%s", dlerror());
    return module;
}

/* ---- choosing -------------------------------------------------------------------------------- */

static weft_status table_of(void *module, const char *what, const struct weft_mpi_ops **ops)
{
    const struct weft_mpi_ops *found = dlsym(module, WEFT_MPI_SYMBOL);

    if (found == NULL)
        return weft_err(WEFT_ERR_CONFIG, "%s is no MPI module of weft: it has no %s", what,
                        WEFT_MPI_SYMBOL);
    if (found->table != WEFT_MPI_TABLE)
        return weft_err(WEFT_ERR_CONFIG,
                        "the MPI module for %s is of another weft: table %u, %u here", what,
                        found->table, WEFT_MPI_TABLE);
    *ops = found;
    return WEFT_OK;
}

/* One that must be there. why: whose choice it was. */
static weft_status load_named(const char *family, const char *why, const struct weft_mpi_ops **ops)
{
    char reason[512] = "";
    void *module = open_module(family, reason, sizeof(reason));

    if (module == NULL)
        return weft_err(WEFT_ERR_CONFIG, "no module libweft-mpi-%s.so for the MPI that %s: %s",
                        family, why, reason);
    return table_of(module, family, ops);
}

/* Nobody says which: the first that can be loaded, in the order of the list. */
static weft_status load_any(const struct weft_mpi_ops **ops)
{
    char reason[512] = "";

    for (int i = 0; i < FAMILIES; i++) {
        void *module = open_module(families[i], reason, sizeof(reason));
        if (module != NULL)
            return table_of(module, families[i], ops);
    }
    return weft_err(WEFT_ERR_CONFIG, "no MPI module of weft was found: %s", reason);
}

weft_status weft_mpi_load(const struct weft_mpi_ops **ops, const struct weft_config *config)
{
    const char *wanted = config->mpi_library;
    const struct weft_launcher launcher = weft_launcher();
    char version[VERSION_BYTES], why[256];
    const char *loaded = loaded_family(version);

    if (loaded != NULL) {
        if (wanted[0] != 0 && strchr(wanted, '/') == NULL && strcmp(wanted, loaded) != 0)
            return weft_err(WEFT_ERR_CONFIG,
                            "WEFT_MPI_LIBRARY=%s, but the program is linked with %.100s", wanted,
                            version);
        snprintf(why, sizeof(why), "the program is linked with (%.100s)", version);
    } else if (launcher.mpi != NULL) {
        snprintf(why, sizeof(why), "%s belongs to", launcher.name);
    }
    if (strchr(wanted, '/') != NULL) {
        void *module = dlopen(wanted, RTLD_NOW | RTLD_GLOBAL);
        return module != NULL
                   ? table_of(module, wanted, ops)
                   : weft_err(WEFT_ERR_CONFIG, "WEFT_MPI_LIBRARY=%s: %s", wanted, dlerror());
    }
    if (loaded != NULL)
        return load_named(loaded, why, ops);
    if (wanted[0] != 0)
        return load_named(wanted, "WEFT_MPI_LIBRARY names", ops);
    if (launcher.mpi != NULL)
        return load_named(launcher.mpi, why, ops);
    return load_any(ops);
}
