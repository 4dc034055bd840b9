/*
 * remote/redirect/redirect.c - preloaded by weft-cuda: before a program's own constructors run, the
 * functions of the CUDA runtime that it holds become jumps to those of weft's libcudart.so.13. All
 * of it runs in the loading thread.
 *
 * nvcc links its runtime into programs by default; its functions' addresses stand in the program's
 * .symtab. Text is not writable, so the jumps are written through /proc/self/mem. A program that
 * holds the runtime and has no symbols is ended with the remedy. No other program is touched; of
 * libraries that hold the runtime it is said that they do.
 */
#include "remote/redirect/elf.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { JUMP = 14 };

struct work {
    void *runtime; /* handle of the runtime, from dlopen */
    uint64_t base; /* where the program is loaded */
    int memory;    /* /proc/self/mem */
    char failed[64];
};

/* Says why, and ends the program. */
#define REFUSE(format, ...)                                                                        \
    (fprintf(stderr, "weft: " format "\n", __VA_ARGS__), _exit(EXIT_FAILURE))

/* Writes `jmp *0(%rip)` and the address behind it. False: it could not be written. */
static bool put_jump(int memory, uint64_t at, const void *target)
{
    unsigned char code[JUMP] = {0xff, 0x25};

    memcpy(code + 6, &target, sizeof(target));
    return pwrite(memory, code, sizeof(code), (off_t)at) == (ssize_t)sizeof(code);
}

static void redirect(void *context, const char *name, uint64_t value, uint64_t room)
{
    struct work *work = context;
    const void *target = dlsym(work->runtime, name);

    if (target == NULL || work->failed[0] != 0)
        return; /* a function of the program's own */
    if (room < JUMP || !put_jump(work->memory, work->base + value, target))
        snprintf(work->failed, sizeof(work->failed), "%s", name);
}

/* Opens the runtime, which lies beside this library. */
static void *open_runtime(void)
{
    char path[PATH_MAX + 32], folder[PATH_MAX];
    Dl_info info;

    if (dladdr((void *)(uintptr_t)open_runtime, &info) == 0)
        return NULL;
    snprintf(folder, sizeof(folder), "%s", info.dli_fname);
    snprintf(path, sizeof(path), "%s/libcudart.so.13", dirname(folder));
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void redirect_all(const struct weft_elf *elf, const char *name, uint64_t base)
{
    struct work work = {.runtime = open_runtime(), .base = base};

    if (work.runtime == NULL)
        REFUSE("%s: weft's CUDA runtime: %s", name, dlerror());
    work.memory = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    if (work.memory < 0)
        REFUSE("%s: /proc/self/mem: %s; link it with -cudart shared", name, strerror(errno));
    weft_elf_each(elf, redirect, &work);
    close(work.memory);
    if (work.failed[0] != 0)
        REFUSE("%s: %s cannot be redirected; link it with -cudart shared", name, work.failed);
}

/* Looks at a file, and redirects or refuses. library: its name; NULL: the program. */
static void look_at(const char *file, const char *library, uint64_t base)
{
    struct weft_elf elf;
    struct stat info;
    void *bytes = MAP_FAILED;
    const int fd = open(file, O_RDONLY | O_CLOEXEC);

    if (fd >= 0 && fstat(fd, &info) == 0 && info.st_size != 0)
        bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (fd >= 0)
        close(fd);
    if (bytes == MAP_FAILED)
        return;
    weft_elf_read(&elf, bytes, (size_t)info.st_size);
    const bool holds = elf.kind == WEFT_ELF_STATIC || elf.kind == WEFT_ELF_STRIPPED;
    if (holds && library != NULL) /* its kernels are registered with NVIDIA's runtime by now */
        fprintf(stderr,
                "weft: %s, a library, holds NVIDIA's runtime: it finds no GPU; link it with "
                "-cudart shared\n",
                library);
    else if (elf.kind == WEFT_ELF_STRIPPED)
        REFUSE("%s holds NVIDIA's runtime without symbols; link it with -cudart shared",
               program_invocation_name);
    else if (elf.kind == WEFT_ELF_STATIC)
        redirect_all(&elf, program_invocation_name, base);
    munmap(bytes, (size_t)info.st_size);
}

/* Looks at an object that the dynamic linker has loaded. */
static int look_at_object(struct dl_phdr_info *info, size_t bytes, void *context)
{
    uint64_t *program = context;

    (void)bytes;
    if (info->dlpi_name[0] == 0)
        *program = info->dlpi_addr;
    else if (strstr(info->dlpi_name, "libcudart.so") == NULL) /* the runtime itself */
        look_at(info->dlpi_name, info->dlpi_name, 0);
    return 0;
}

__attribute__((constructor)) static void begin(void)
{
    uint64_t program = 0;

    dl_iterate_phdr(look_at_object, &program);
    look_at("/proc/self/exe", NULL, program);
}
