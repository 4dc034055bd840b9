/*
 * device/cpu/where.c - see the header. addr2line, in a process of its own, turns addresses into
 * lines; a program without line tables (-g) has none, and nothing is said.
 */
#include "device/cpu/where.h"

#include "base/say.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FRAMES = 32, CALLS = 4, MOST_MS = 5000 };

static _Thread_local const void *code; /* of the kernel */

void weft_where_begin(const void *kernel)
{
    void *frame[1];

    code = kernel;
    backtrace(frame, 1); /* the first one loads libgcc */
}

/* Writes the first lines that name no function of weft's, without those that have no place. */
static void write_calls(char *line)
{
    static const char inlined[] = " (inlined by) ";
    bool inside = true; /* of weft */
    int calls = 0;

    for (char *next; calls < CALLS && (next = strchr(line, '\n')) != NULL; line = next + 1) {
        const char *const name =
            strncmp(line, inlined, strlen(inlined)) == 0 ? line + strlen(inlined) : line;
        *next = 0;
        const bool own = strncmp(name, "weft_", 5) == 0;
        if (own && !inside)
            break;
        inside = own;
        if (own || strstr(line, " ??:") != NULL || strstr(line, ":?") != NULL)
            continue;
        char *const more = strstr(line, " (discriminator "); /* of several blocks of a line */
        char *const end = more != NULL ? more : next;
        *end = '\n';
        calls++;
        if (write(STDERR_FILENO, line, (size_t)(end + 1 - line)) < 0)
            break;
    }
}

/* Reads what addr2line writes. Debug information can be large: it gets some seconds. */
static void read_calls(int from, char *text, size_t bytes)
{
    struct pollfd look = {.fd = from, .events = POLLIN};
    size_t used = 0;
    ssize_t got = 1;

    while (got > 0 && used + 1 < bytes && poll(&look, 1, MOST_MS) > 0) {
        got = read(from, text + used, bytes - used - 1);
        used += got > 0 ? (size_t)got : 0;
    }
    text[used] = 0;
    write_calls(text);
}

static void run(char **words)
{
    static char text[16384], none[] = "LC_ALL=C", *environment[] = {none, NULL};
    posix_spawn_file_actions_t actions;
    int ends[2];
    pid_t child;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    const int error = posix_spawnp(&child, words[0], &actions, NULL, words, environment);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    if (error != 0)
        weft_say(WEFT_SAY_ERROR, "where it was, %s would say: %s", words[0], strerror(error));
    else
        read_calls(ends[0], text, sizeof(text));
    close(ends[0]);
    if (error == 0) {
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
    }
}

/* Says the lines of return addresses: each stands for the instruction before it, the call. */
static void say(const void *after, bool fault)
{
    static char path[PATH_MAX], places[FRAMES][24], name[] = "addr2line", how[] = "-fpiCe";
    char *words[3 + FRAMES + 1] = {name, how, path};
    void *frames[FRAMES];
    const int count = backtrace(frames, FRAMES);
    Dl_info own, file;
    int at = 0, found = 0;

    if (code == NULL || dladdr(code, &own) == 0)
        return;
    snprintf(path, sizeof(path), "%s", own.dli_fname);
    if (path[0] != '/' && strcmp(path, program_invocation_name) == 0) { /* the program */
        const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
        path[length > 0 ? length : 0] = 0;
    }
    const bool moves = ((const Elf64_Ehdr *)own.dli_fbase)->e_type == ET_DYN; /* Elf32's, too */
    const uintptr_t base = moves ? (uintptr_t)own.dli_fbase : 0;
    while (at < count && frames[at] != after)
        at++;
    for (int i = at + 1; i < count; i++) {
        const bool faulted = fault && i == at + 1;
        if (dladdr(frames[i], &file) == 0 || file.dli_fbase != own.dli_fbase)
            continue;
        snprintf(places[found], sizeof(places[found]), "0x%lx",
                 (unsigned long)((uintptr_t)frames[i] - base - !faulted));
        words[3 + found] = places[found];
        found++;
    }
    if (found > 0)
        run(words);
}

void weft_where_say(const void *fault)
{
    static pthread_mutex_t memory = PTHREAD_MUTEX_INITIALIZER; /* the static one above */

    if (pthread_mutex_trylock(&memory) != 0)
        return;
    say(fault != NULL ? fault : __builtin_return_address(0), fault != NULL);
    pthread_mutex_unlock(&memory);
}
