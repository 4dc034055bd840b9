/*
 * device/cpu/overflow.c - a rank that touches the guard below its stack, or memory that is not
 * there, gets a line with its number.
 *
 * The handler runs on a stack of its own, as the rank may have none left. It formats two numbers
 * and writes one line, then puts the default action back: the instruction runs again, and the
 * process ends by SIGSEGV, with the core that it would have left without this file. A signal that
 * somebody sent has no such instruction, and is sent again.
 */
#include "device/cpu/overflow.h"

#include "base/say.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>

enum { HANDLER_STACK = 65536 };

static _Thread_local weft_overflow_find *find;
static _Thread_local const void *ranks;
static _Thread_local void *handler_stack;

static void on_fault(int number, siginfo_t *info, void *context)
{
    size_t bytes = 0;
    const int rank = find != NULL ? find(ranks, info->si_addr, &bytes) : -1;

    (void)context;
    signal(number, SIG_DFL);
    if (info->si_code <= 0)
        raise(number);
    else if (bytes != 0)
        weft_say(WEFT_SAY_ERROR,
                 "rank %d ran over the end of its stack of %zu bytes: WEFT_CPU_STACK gives more",
                 rank, bytes);
    else if (rank >= 0)
        weft_say(WEFT_SAY_ERROR, "rank %d: segmentation fault, address %p", rank, info->si_addr);
}

static void take_signal(void)
{
    const struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct sigaction before;

    if (sigaction(SIGSEGV, NULL, &before) == 0 && before.sa_handler == SIG_DFL &&
        (before.sa_flags & SA_SIGINFO) == 0)
        sigaction(SIGSEGV, &action, NULL);
}

void weft_overflow_begin(weft_overflow_find *find_rank, const void *of_ranks)
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
