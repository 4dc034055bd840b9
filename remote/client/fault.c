/*
 * remote/client/fault.c - who hears when a thread of the program touches memory that is closed to
 * it: a task, on its own stack and without the thread's locks. The signal handler runs in that
 * thread and makes system calls alone: it sends a pointer through a pipe, and sleeps. Callbacks
 * have a task of their own, since the other one may wait for a device that waits for them.
 */
#include "base/fork.h"
#include "remote/client/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

enum { PAGERS = 2 }; /* the second one for callbacks */

static struct {
    int open; /* how many pagers there are */
    struct pager {
        int ask[2]; /* pipe of pointers to faults */
        struct weft_task task;
    } pager[PAGERS];
    struct weft_bell bell; /* rings for each answer */
    enum client_fault_answer (*answer)(const struct client_fault *fault);
} faults;

static void serve(void *argument)
{
    const struct pager *pager = argument;
    struct client_fault *fault;
    ssize_t got;

    while ((got = read(pager->ask[0], &fault, sizeof(fault))) != 0) {
        if (got < 0)
            continue; /* a profiler's signal */
        if (fault == NULL)
            return;
        __atomic_store_n(&fault->answer, faults.answer(fault), __ATOMIC_RELEASE);
        weft_bell_ring(&faults.bell); /* the fault is gone */
    }
}

/* Handles a signal. before: the handler that was there before this one. */
static void on_fault(const struct sigaction *before, int number, siginfo_t *info, void *context)
{
    enum { WRITES = 2, EXECUTES = 16 }; /* of a page fault's error code */
    const ucontext_t *at = context;
    const long long code = at->uc_mcontext.gregs[REG_ERR];
    const bool sent = info->si_code <= 0; /* by a process: there is no access */
    struct client_fault fault = {.address = (uint64_t)(uintptr_t)info->si_addr,
                                 .writes = (code & WRITES) != 0,
                                 .in_callback =
                                     pthread_equal(pthread_self(), client.caller.thread)},
                        *asked = &fault;
    const int error = errno;

    if (!sent && (code & EXECUTES) == 0 && faults.open == PAGERS &&
        client_device_around(fault.address) != NULL && weft_forks == client.forks &&
        write(faults.pager[fault.in_callback].ask[1], &asked, sizeof(asked)) ==
            (ssize_t)sizeof(asked))
        weft_bell_await(&faults.bell, &fault.answer, CLIENT_FAULT_OPENED, UINT64_MAX);
    errno = error;
    if (fault.answer == CLIENT_FAULT_OPENED)
        return;
    if (fault.answer == CLIENT_FAULT_LOST)
        raise(SIGBUS);
    else if ((before->sa_flags & SA_SIGINFO) != 0)
        before->sa_sigaction(number, info, context);
    else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN)
        before->sa_handler(number);
    else if (!sent || before->sa_handler == SIG_DFL) {
        signal(number, SIG_DFL); /* the access is made again, and ends the process */
        if (sent)
            raise(number);
    }
}

/*
 * A handler that the program sets later may call the one that it has found. So there are two, and
 * each knows another one that was there before.
 */
static struct sigaction before[2];

static void on_fault_first(int number, siginfo_t *info, void *context)
{
    on_fault(&before[0], number, info, context);
}

static void on_fault_again(int number, siginfo_t *info, void *context)
{
    on_fault(&before[1], number, info, context);
}

void client_faults_watch(void)
{
    static void (*const handlers[])(int, siginfo_t *, void *) = {on_fault_first, on_fault_again};
    static int set;
    struct sigaction now, ours = {.sa_flags = SA_SIGINFO | SA_ONSTACK};

    sigaction(SIGSEGV, NULL, &now);
    if (set == 2 || (set == 1 && now.sa_sigaction == handlers[0]))
        return;
    before[set] = now;
    ours.sa_sigaction = handlers[set++];
    sigaction(SIGSEGV, &ours, NULL);
}

bool client_faults_open(enum client_fault_answer (*answer)(const struct client_fault *fault))
{
    faults.answer = answer;
    for (; faults.open < PAGERS; faults.open++) {
        struct pager *pager = &faults.pager[faults.open];
        if (pipe2(pager->ask, O_CLOEXEC) != 0 ||
            weft_task_start(&pager->task, "weft-pager", serve, pager) != WEFT_OK)
            return false;
    }
    return true;
}

void client_faults_close(void)
{
    const struct client_fault *none = NULL;

    for (; faults.open > 0; faults.open--) {
        struct pager *pager = &faults.pager[faults.open - 1];
        if (write(pager->ask[1], &none, sizeof(none)) != (ssize_t)sizeof(none))
            return;
        weft_task_join(&pager->task);
        close(pager->ask[0]);
        close(pager->ask[1]);
    }
}
