/*
 * device/cpu/faults.c - a rank that touches the guard below its stack, or memory that is not there,
 * gets a line with its number, and the lines of the program where it was.
 *
 * The handler runs on a stack of its own, as the rank may have none left. It formats two numbers,
 * writes one line, and puts the default action back; then the instruction runs again, and the
 * process ends by SIGSEGV, with the core that it would have left without this file. A signal that
 * somebody sent has no such instruction, and is sent again. Ranks often err alike: those that
 * follow the first one wait here for the end, which would cut its lines off otherwise.
 *
 * Before that where.c writes where it was. It takes the loader's lock, which a kernel does not
 * hold; a fault of the handler itself, on a stack that is no stack any more, ends the process at
 * once.
 *
 * By a rank, exit would end its process in the middle of the job: the other processes wait for it,
 * and so would an MPI that a later handler finalizes.
 */
#include "device/cpu/faults.h"

#include "base/say.h"
#include "device/cpu/team.h"
#include "device/cpu/where.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HANDLER_STACK = 65536 };

static _Thread_local weft_fault_find *find;
static _Thread_local const void *ranks;
static _Thread_local void *handler_stack;
static bool faulted; /* a thread is in the handler, or has been */

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
    else if (rank >= 0 && info->si_code == SI_KERNEL)
        weft_say(WEFT_SAY_ERROR, "rank %d: segmentation fault, no address of user memory", rank);
    else if (rank >= 0)
        weft_say(WEFT_SAY_ERROR, "rank %d: segmentation fault, address %p", rank, info->si_addr);
    if (info->si_code > 0 && rank >= 0)
        weft_where_say(__builtin_return_address(0));
    signal(number, SIG_DFL);
}

static void take_signal(void)
{
    const struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct sigaction before;

    if (sigaction(SIGSEGV, NULL, &before) == 0 && before.sa_handler == SIG_DFL &&
        (before.sa_flags & SA_SIGINFO) == 0)
        sigaction(SIGSEGV, &action, NULL);
}

static void at_exit(void)
{
    const int rank = weft_strand_get().rank;

    if (rank < 0)
        return;
    weft_say(WEFT_SAY_ERROR, "rank %d called exit: its process ends, and so does the job", rank);
    fflush(NULL);
    _exit(EXIT_FAILURE);
}

void weft_faults_watch(void)
{
    atexit(at_exit);
}

void weft_faults_begin(weft_fault_find *find_rank, const void *of_ranks)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    stack_t before;

    pthread_once(&once, take_signal);
    find = find_rank;
    ranks = of_ranks;
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

void weft_faults_end(void)
{
    const stack_t none = {.ss_flags = SS_DISABLE};

    find = NULL;
    if (handler_stack == NULL)
        return;
    sigaltstack(&none, NULL);
    munmap(handler_stack, HANDLER_STACK);
    handler_stack = NULL;
}
