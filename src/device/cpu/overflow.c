/*
 * device/cpu/overflow.c - a rank that touches the guard below its stack, or memory that is not
 * there, gets a line with its number, and the lines of the program where it was.
 *
 * The handler runs on a stack of its own, as the rank may have none left. It formats two numbers,
 * writes one line, and puts the default action back; then the instruction runs again, and the
 * process ends by SIGSEGV, with the core that it would have left without this file. A signal that
 * somebody sent has no such instruction, and is sent again. Ranks often err alike: those that
 * follow the first one wait here for the end, which would cut its lines off otherwise.
 *
 * Before that addr2line, in a process of its own, writes where it was. backtrace and dladdr take
 * the loader's lock, which a kernel does not hold, and allocate nothing once they were called; a
 * fault of the handler itself, on a stack that is no stack any more, ends the process at once.
 */
#include "device/cpu/overflow.h"

#include "base/say.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <execinfo.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HANDLER_STACK = 65536, FRAMES = 32, CALLS = 4, MOST_MS = 5000 };

static _Thread_local weft_overflow_find *find;
static _Thread_local const void *ranks;
static _Thread_local const void *code; /* of the kernel */
static _Thread_local void *handler_stack;
static posix_spawn_file_actions_t on_stderr;
static bool faulted; /* a thread is in the handler, or has been */

/*
 * Has addr2line name instructions of a file. It gets some seconds: debug information can be large,
 * and the job waits.
 */
static void name_places(char **words)
{
    static char none[] = "LC_ALL=C", *environment[] = {none, NULL};
    char line[256];
    pid_t child;

    if (posix_spawnp(&child, words[0], &on_stderr, NULL, words, environment) != 0) {
        snprintf(line, sizeof(line), "%s %s %s", words[0], words[1], words[2]);
        for (int i = 3; words[i] != NULL; i++) {
            const size_t used = strlen(line);
            snprintf(line + used, sizeof(line) - used, " %s", words[i]);
        }
        weft_say(WEFT_SAY_ERROR, "where it was, %s would say", line);
        return;
    }
    for (int ms = 0; waitpid(child, NULL, WNOHANG) == 0; ms++) {
        if (ms == MOST_MS)
            kill(child, SIGKILL);
        usleep(1000);
    }
}

/*
 * The innermost calls in the file of the kernel: the instruction at fault, and before those that
 * calls return to the calls. returns_to: where the handler does.
 */
static void say_where(const void *returns_to)
{
    void *frames[FRAMES];
    char path[PATH_MAX], places[CALLS][24];
    char *words[3 + CALLS + 1] = {"addr2line", "-fpie", path};
    const int count = backtrace(frames, FRAMES);
    Dl_info own, file;
    int at = 0, found = 0;

    if (dladdr(code, &own) == 0)
        return;
    snprintf(path, sizeof(path), "%s", own.dli_fname);
    if (path[0] != '/' && strcmp(path, program_invocation_name) == 0) { /* the program */
        const ssize_t length = readlink("/proc/self/exe", path, sizeof(path) - 1);
        path[length > 0 ? length : 0] = 0;
    }
    const bool moves = ((const Elf64_Ehdr *)own.dli_fbase)->e_type == ET_DYN; /* Elf32's, too */
    const uintptr_t base = moves ? (uintptr_t)own.dli_fbase : 0;
    while (at < count && frames[at] != returns_to)
        at++;
    for (int i = at + 1; i < count && found < CALLS; i++) {
        if (dladdr(frames[i], &file) == 0 || file.dli_fbase != own.dli_fbase)
            continue;
        snprintf(places[found], sizeof(places[found]), "0x%lx",
                 (unsigned long)((uintptr_t)frames[i] - base - (i > at + 1)));
        words[3 + found] = places[found];
        found++;
    }
    if (found > 0)
        name_places(words);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    size_t bytes = 0;
    const int rank = find != NULL ? find(ranks, info->si_addr, &bytes) : -1;

    (void)context;
    while (__atomic_exchange_n(&faulted, true, __ATOMIC_RELAXED))
        pause();
    if (info->si_code <= 0)
        raise(number);
    else if (bytes != 0)
        weft_say(WEFT_SAY_ERROR,
                 "rank %d ran over the end of its stack of %zu bytes: WEFT_CPU_STACK gives more",
                 rank, bytes);
    else if (rank >= 0)
        weft_say(WEFT_SAY_ERROR, "rank %d: segmentation fault, address %p", rank, info->si_addr);
    if (info->si_code > 0 && rank >= 0)
        say_where(__builtin_return_address(0));
    signal(number, SIG_DFL);
}

static void take_signal(void)
{
    const struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct sigaction before;
    void *frame[1];

    backtrace(frame, 1); /* the first one loads libgcc */
    posix_spawn_file_actions_init(&on_stderr);
    posix_spawn_file_actions_adddup2(&on_stderr, STDERR_FILENO, STDOUT_FILENO);
    if (sigaction(SIGSEGV, NULL, &before) == 0 && before.sa_handler == SIG_DFL &&
        (before.sa_flags & SA_SIGINFO) == 0)
        sigaction(SIGSEGV, &action, NULL);
}

void weft_overflow_begin(weft_overflow_find *find_rank, const void *of_ranks, const void *kernel)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    stack_t before;

    pthread_once(&once, take_signal);
    find = find_rank;
    ranks = of_ranks;
    code = kernel;
    if (sigaltstack(NULL, &before) != 0 || (before.ss_flags & SS_DISABLE) == 0)
        return; /* a sanitizer's, say */
    void *stack =
        mmap(NULL, HANDLER_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack == MAP_FAILED)
        return;
    const stack_t mine = {.ss_sp = stack, .ss_size = HANDLER_STACK};
    if (sigaltstack(&mine, NULL) == 0)
        handler_stack = stack;
    else
        munmap(stack, HANDLER_STACK);
}

void weft_overflow_end(void)
{
    const stack_t none = {.ss_flags = SS_DISABLE};

    find = NULL;
    if (handler_stack == NULL)
        return;
    sigaltstack(&none, NULL);
    munmap(handler_stack, HANDLER_STACK);
    handler_stack = NULL;
}
