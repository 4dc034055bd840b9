/* check.c - weft-cuda check: what a program will be refused, before it runs; and functions: all
 * that is served or refused. */
#include "weft_cuda.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
    const char *name, *why;
} absent[] = {
#define X(name, why) {#name, why},
#include "lists/absent.def"
    {"__cudaRegisterManagedVar", "unified-memory"}, /* __managed__ */
};
#undef X

/* Functions of libraries that are served. */
static const char *const served[] = {
#define ROW(...)        ROW_(__VA_ARGS__)
#define ROW_(name, ...) #name,
#define BY_HAND(name)   #name,
#include "remote/rows/all.def"
    NULL};

struct count {
    int used, refused;
};

/* Under which heading it is refused, if it is not served; NULL: it is none of CUDA's. */
static const char *heading_of(const char *name)
{
    static const char *const prefixes[] = {"cu",     "cublas",   "cusolver", "cufft",
                                           "curand", "cusparse", "cudnn",    "nccl",
                                           "npp",    "nvjpeg",   "nvrtc"};

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        const size_t length = strlen(prefixes[i]);
        if (strncmp(name, prefixes[i], length) == 0 && name[length] >= 'A' && name[length] <= 'Z')
            return i == 0 ? "the-driver" : "libraries";
    }
    return NULL;
}

static void tell_one(struct count *count, const char *name, const char *why)
{
    count->used++;
    count->refused += why != NULL;
    printf("%-52s %s%s\n", name, why != NULL ? "refused: docs/remote.md#" : "supported",
           why != NULL ? why : "");
}

static void tell_library(void *context, const char *name, uint64_t value, uint64_t room)
{
    const char *const *at = served, *heading = heading_of(name);

    (void)value;
    (void)room;
    if (heading == NULL)
        return;
    while (*at != NULL && strcmp(*at, name) != 0)
        at++;
    tell_one(context, name, *at == NULL ? heading : NULL);
}

static void tell(void *context, const char *name, uint64_t value, uint64_t room)
{
    const char *why = NULL;

    (void)value;
    (void)room;
    if (strncmp(name, "__cudaRegisterLinkedBinary", 26) == 0 ||
        strcmp(name, "__cudaUnregisterBinaryUtil") == 0)
        return; /* which nvcc puts into a program of several files */
    for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]) && why == NULL; i++)
        if (strcmp(absent[i].name, name) == 0)
            why = absent[i].why;
    tell_one(context, name, why);
}

/* By what kind of program it is. */
static int tell_all(const struct weft_elf *elf, const char *file)
{
    struct count count = {0, 0};

    weft_elf_wants(elf, tell_library, &count);
    const bool refused = count.refused != 0;
    switch (elf->kind) {
    case WEFT_ELF_SHARED:
    case WEFT_ELF_STATIC:
        (elf->kind == WEFT_ELF_SHARED ? weft_elf_each : tell_calls)(elf, tell, &count);
        printf("%d functions of the CUDA runtime and its libraries, %d of them refused\n",
               count.used, count.refused);
        return count.refused != 0;
    case WEFT_ELF_STRIPPED:
        printf("%s holds NVIDIA's runtime without symbols; link it with -cudart shared\n", file);
        return EXIT_FAILURE;
    case WEFT_ELF_PLAIN:
        printf("%s does not use the CUDA runtime itself\n", file);
        return refused;
    default:
        fprintf(stderr, "weft-cuda: %s is no program for x86-64\n", file);
        return EXIT_FAILURE;
    }
}

int list_functions(char **argv)
{
    static const char *const offered[] = {
#define X(name) #name,
#include "lists/served.def"
    };
#undef X
    struct count count = {0, 0};

    (void)argv;
    for (size_t i = 0; i < sizeof(offered) / sizeof(offered[0]); i++)
        tell_one(&count, offered[i], NULL);
    for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
        tell_one(&count, absent[i].name, absent[i].why);
    for (const char *const *at = served; *at != NULL; at++)
        tell_one(&count, *at, NULL);
    return EXIT_SUCCESS;
}

int check_program(char **argv)
{
    const char *file = argv[0];
    struct weft_elf elf;
    struct stat info;
    if (argv[1] != NULL) {
        fprintf(stderr, "weft-cuda: check: one program at a time; %s is another\n", argv[1]);
        return EXIT_FAILURE;
    }
    const int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &info) != 0) {
        fprintf(stderr, "weft-cuda: %s: %s\n", file, strerror(errno));
        return EXIT_FAILURE;
    }
    void *bytes = NULL;
    if (S_ISREG(info.st_mode) && info.st_size > 0)
        bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (bytes == MAP_FAILED) {
        fprintf(stderr, "weft-cuda: %s: %s\n", file, strerror(errno));
        return EXIT_FAILURE;
    }
    weft_elf_read(&elf, bytes, bytes != NULL ? (size_t)info.st_size : 0);
    const int status = tell_all(&elf, file);
    munmap(bytes, (size_t)info.st_size);
    return status;
}
