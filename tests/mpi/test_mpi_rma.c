/*
 * tests/mpi/test_mpi_rma.c - one-sided communication, as the standard has it: windows of all kinds,
 * what is put, got and updated under every synchronisation, what is refused; and attacks on the
 * order of puts, updates, flushes and epochs.
 *
 * usage: test_mpi_rma [refused|unwritten [PROCESS]]: the kernel gives all processes, or that one,
 * no other's memory, or lets them only read it.
 */
#include "mpi_rma.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* As a kernel does that has been told to: process_vm_writev is EPERM, and process_vm_readv (reads).
 */
static void refuse_memory(bool reads)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, reads ? 1 : 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        exit(77);
}

int main(int argc, char **argv)
{
    const char *process = getenv("LOCAL_RANK");

    if (argc > 1 && (strcmp(argv[1], "refused") == 0 || strcmp(argv[1], "unwritten") == 0) &&
        (argc == 2 || (process != NULL && strcmp(argv[2], process) == 0)))
        refuse_memory(argv[1][0] == 'r');
    begin(&argc, &argv);
    attributes();
    fences();
    updates();
    single_elements();
    many_counters();
    private_memory();
    locks();
    some_targets();
    requests();
    dynamic();
    shared();
    errors();
    flag_behind_data();
    rewrites();
    updates_in_order();
    epochs_in_order();
    MPI_Finalize();
    return 0;
}
