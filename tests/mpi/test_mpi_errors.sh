#!/usr/bin/env bash
# What MPI over weft must refuse, in one line each; its symbols against its list; its wrappers, in the
# build and installed.
# usage: test_mpi_errors.sh BIN-FOLDER
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=${here%/tests/mpi}
# shellcheck source=tests/install/installed.sh
source "$root/tests/install/installed.sh"
weftrun=$bin/weftrun
export ASAN_OPTIONS=allocator_may_return_null=1 # as malloc does; a case below asks for a petabyte
# program NAME BODY: a program whose main has that body, between MPI_Init and MPI_Finalize.
program() {
    {
        printf '#include <mpi.h>\n#include <stdio.h>\n#include <stdlib.h>\n'
        printf 'int main(int argc, char **argv)\n{\n    int rank, size, data[16] = {0};\n'
        printf '    MPI_Init(&argc, &argv);\n    MPI_Comm_rank(MPI_COMM_WORLD, &rank);\n'
        printf '    MPI_Comm_size(MPI_COMM_WORLD, &size);\n    (void)data;\n'
        printf '%s\n    MPI_Finalize();\n    return 0;\n}\n' "$2"
    } >"$1.c"
    WEFTMPI_CC=$compiler "$HOME/opt/weft/bin/weftmpicc" ${sanitizers:+-fsanitize="$sanitizers"} "$1.c" -o "$1" ||
        fail "$1 was not compiled"
}
# refused N TEXT BODY: on N processes it fails within 20 s, and the text is among what it says.
refused() {
    program refused "$3"
    timeout 300 "$weftrun" -n "$1" ./refused >out 2>err
    status=$?
    [ $status -ne 0 ] && [ $status -ne 124 ] || fail "'$3' ended with $status: $(cat err)"
    grep -qE "$2" err || fail "'$3' says $(cat err)"
}

refused 2 "MPI_Bcast 0 on MPI_COMM_WORLD: root 0 in process 0, root 1 in process 1|MPI_Bcast 0 on MPI_COMM_WORLD: root 1 in process 1, root 0 in process 0" \
    'MPI_Bcast(data, 4, MPI_INT, rank, MPI_COMM_WORLD);'
refused 2 "MPI_Allreduce 0 on MPI_COMM_WORLD in process 0, MPI_Bcast in process 1|MPI_Bcast 0 on MPI_COMM_WORLD in process 1, MPI_Allreduce in process 0" \
    'if (rank == 0) MPI_Allreduce(data, data + 8, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
     else MPI_Bcast(data, 4, MPI_INT, 0, MPI_COMM_WORLD);'
refused 2 "MPI_Allreduce 2 on MPI_COMM_WORLD in process 0, MPI_Barrier in process 1|MPI_Barrier 2 on MPI_COMM_WORLD in process 1, MPI_Allreduce in process 0" \
    'MPI_Request r; MPI_Barrier(MPI_COMM_WORLD); MPI_Barrier(MPI_COMM_WORLD);
     if (rank == 0) MPI_Iallreduce(data, data + 8, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r);
     MPI_Barrier(MPI_COMM_WORLD); MPI_Barrier(MPI_COMM_WORLD);'
# The second comes when the first has waited for long.
refused 2 "MPI_Allreduce 0 on MPI_COMM_WORLD in process 0, MPI_Barrier in process 1|MPI_Barrier 0 on MPI_COMM_WORLD in process 1, MPI_Allreduce in process 0" \
    'MPI_Request r; const double begin = MPI_Wtime();
     while (rank == 1 && MPI_Wtime() < begin + 0.5) continue;
     if (rank == 0) MPI_Iallreduce(data, data + 8, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &r);
     MPI_Barrier(MPI_COMM_WORLD); MPI_Barrier(MPI_COMM_WORLD);'
refused 2 "MPI_Allreduce 0 on MPI_COMM_WORLD in process 0, MPI_Bcast in process 1|MPI_Bcast 0 on MPI_COMM_WORLD in process 1, MPI_Allreduce in process 0" \
    'const double begin = MPI_Wtime();
     while (rank == 1 && MPI_Wtime() < begin + 0.5) continue;
     if (rank == 0) MPI_Allreduce(data, data + 8, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
     else MPI_Bcast(data, 4, MPI_INT, 0, MPI_COMM_WORLD);'
refused 2 "MPI_Bcast 0 on MPI_COMM_WORLD: 8 bytes from process 0, and process 1 expects 16" \
    'MPI_Bcast(data, rank == 0 ? 2 : 4, MPI_INT, 0, MPI_COMM_WORLD);'
refused 3 "MPI_Bcast 0 on MPI_COMM_WORLD: 12000 bytes from process 0, and process . expects 8000" \
    'MPI_Bcast(calloc(3000, 4), rank == 0 ? 3000 : 2000, MPI_INT, 0, MPI_COMM_WORLD);'
# Long ones, which members copy out of each other's memory.
refused 3 "MPI_Bcast 0 on MPI_COMM_WORLD: 60000 bytes from process 1, and process . expects 59992" \
    'MPI_Bcast(calloc(1, 60000), rank == 1 ? 60000 : 59992, MPI_BYTE, 1, MPI_COMM_WORLD);'
refused 2 "MPI_Gather: process 0 cannot copy 60000 bytes at 0xfff0 of process 1: Bad address" \
    'MPI_Gather(rank == 1 ? MPI_IN_PLACE : calloc(1, 60000), 60000, MPI_BYTE, (void *)0xfff0, 60000,
                MPI_BYTE, 1, MPI_COMM_WORLD);'
refused 2 "MPI_Allreduce 0 on MPI_COMM_WORLD: the types or operations of process . and process . differ" \
    'MPI_Allreduce(data, data + 8, 1, MPI_INT, rank == 0 ? MPI_SUM : MPI_MAX, MPI_COMM_WORLD);'
refused 2 "MPI_Reduce 0 on MPI_COMM_WORLD: the types or operations of process . and process . differ" \
    'MPI_Reduce(data, data + 8, 1, MPI_INT, rank == 0 ? MPI_SUM : MPI_MAX, 0, MPI_COMM_WORLD);'
refused 2 "MPI_Reduce 0 on MPI_COMM_WORLD: root . in process ., root . in process ." \
    'MPI_Reduce(data, data + 8, 1, MPI_INT, MPI_SUM, rank, MPI_COMM_WORLD); MPI_Barrier(MPI_COMM_WORLD);'
refused 3 "MPI_Reduce 0 on MPI_COMM_WORLD: the types or operations of process . and process . differ" \
    'MPI_Request r; MPI_Ireduce(data, data + 8, 1, rank == 1 ? MPI_INT : MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD, &r);
     MPI_Wait(&r, MPI_STATUS_IGNORE); MPI_Barrier(MPI_COMM_WORLD);'
refused 2 "16 bytes from process 0, tag 3, do not fit 8 bytes" \
    'if (rank == 0) MPI_Send(data, 4, MPI_INT, 1, 3, MPI_COMM_WORLD);
     else MPI_Recv(data, 2, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);'
# Where the kernel gives no process the memory of another, each says so once of each.
if [ -x "$bin/tests/test_mpi_rma" ]; then
    WEFT_LOG=info timeout 300 "$weftrun" -n 2 "$bin/tests/test_mpi_rma" refused >out 2>err
    status=$?
    [ $status -eq 77 ] || [ "$(grep -c 'memory of process . cannot be read (process_vm_readv)' err)" -eq 2 ] ||
        fail "refused memory: $status, $(cat err)"
fi
# Memory of a window that its owner gave back.
refused 2 "MPI_Put: 4 bytes at 0x[0-9a-f]* of rank 1: Bad address|was lost" \
    'extern void *mmap(void *, unsigned long, int, int, int, long); extern int munmap(void *, unsigned long);
     void *at = mmap(NULL, 4096, 3, 34, -1, 0); MPI_Win w;
     MPI_Win_create(at, 4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
     if (rank == 1) munmap(at, 4096);
     MPI_Win_fence(0, w);
     if (rank == 0) MPI_Put(data, 1, MPI_INT, 1, 0, 1, MPI_INT, w);
     MPI_Win_fence(0, w); MPI_Win_free(&w);'
refused 1 "MPI_Send: rank 1 of 1 in MPI_COMM_WORLD" 'MPI_Send(data, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);'
refused 1 "MPI_Send: count -1" 'MPI_Send(data, -1, MPI_INT, 0, 0, MPI_COMM_WORLD);'
refused 1 "MPI_Type_indexed: block 1 has -1 elements" \
    'int lengths[] = {1, -1}; MPI_Datatype t; MPI_Type_indexed(2, lengths, data, MPI_INT, &t);'
refused 1 "MPI_Type_create_subarray: dimension 0: 5 from 0 on, of 4" \
    'int all = 4, part = 5, from = 0; MPI_Datatype t;
     MPI_Type_create_subarray(1, &all, &part, &from, MPI_ORDER_C, MPI_INT, &t);'
refused 1 "MPI_Barrier: no communicator, or it was freed" \
    'MPI_Comm c, d; MPI_Comm_dup(MPI_COMM_WORLD, &c); d = c; MPI_Comm_free(&c); MPI_Barrier(d);'
refused 1 "MPI_Wait: no request, or it was freed" \
    'MPI_Request r, s; MPI_Irecv(data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &r); s = r;
     MPI_Send(data, 1, MPI_INT, 0, 0, MPI_COMM_WORLD); MPI_Wait(&r, MPI_STATUS_IGNORE); MPI_Wait(&s, MPI_STATUS_IGNORE);'
# An error has the name of the call that began the operation, and of the one that calls the program.
refused 1 "MPI_Irecv: .*16 bytes from process 0, tag 3, do not fit 4 bytes" \
    'MPI_Request r; MPI_Irecv(data, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &r);
     MPI_Send(data + 4, 4, MPI_INT, 0, 3, MPI_COMM_WORLD); MPI_Wait(&r, MPI_STATUS_IGNORE);'
refused 1 "MPI_Comm_delete_attr: keyval [0-9]+: delete" \
    'MPI_Comm c; int key; MPI_Comm_dup(MPI_COMM_WORLD, &c);
     MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
     MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, (MPI_Comm_delete_attr_function *)MPI_Comm_get_attr, &key, &size);
     MPI_Comm_set_attr(c, key, NULL); MPI_Comm_delete_attr(c, key);'
refused 1 "MPI_Intercomm_create: rank -[0-9]+ of 1" \
    'MPI_Comm c; MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, MPI_PROC_NULL, 3, &c);'
refused 1 "MPI_Alltoall: one buffer to send and to receive" \
    'MPI_Datatype t; MPI_Type_vector(2, 1, 2, MPI_INT, &t); MPI_Type_commit(&t);
     MPI_Alltoall(data, 1, t, data, 1, t, MPI_COMM_WORLD);'
# Who gets no memory ends the job, whatever handler there is: the others would wait for it.
refused 2 "MPI_Bcast: no memory for 11258999068426[0-9]+ bytes" \
    'MPI_Datatype t; MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
     MPI_Type_vector(1 << 30, 1, 2, MPI_BYTE, &t); MPI_Type_commit(&t);
     MPI_Bcast(data, rank == 0 ? 1 << 20 : 0, t, 0, MPI_COMM_WORLD); MPI_Barrier(MPI_COMM_WORLD);'
refused 1 "MPI_Open_port is not supported by this library" 'char port[MPI_MAX_PORT_NAME]; MPI_Open_port(MPI_INFO_NULL, port);'
refused 1 "MPI_Put: no epoch is open for rank 0" \
    'MPI_Win w; MPI_Win_create(data, 64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
     MPI_Put(data, 1, MPI_INT, 0, 0, 1, MPI_INT, w);'
refused 2 "MPI_Get: bytes 64 to 68 of 64 at rank 1" \
    'MPI_Win w; MPI_Win_create(data, 64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &w); MPI_Win_fence(0, w);
     if (rank == 0) MPI_Get(&size, 1, MPI_INT, 1, 16, 1, MPI_INT, w); MPI_Win_fence(0, w);'
refused 2 "MPI_Abort with code 7 in process 1" 'if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 7); MPI_Barrier(MPI_COMM_WORLD);'
[ $status -eq 7 ] || fail "MPI_Abort's code became $status"
for code in 0 256 -256 65536; do # whose low byte, all that a status has, is 0
    refused 1 "MPI_Abort with code $code in process 0" "MPI_Abort(MPI_COMM_WORLD, $code);"
    timeout 300 ./refused >out 2>err && fail "MPI_Abort with code $code ends alone with status 0"
    refused 2 "MPI_Abort with code $code in process 1" \
        "if (rank == 1) MPI_Abort(MPI_COMM_WORLD, $code); MPI_Barrier(MPI_COMM_WORLD);"
done
refused 1 "MPI_Comm_size was called after MPI_Finalize" 'MPI_Finalize(); MPI_Comm_size(MPI_COMM_WORLD, &size);'
program lost 'if (rank == 1) abort(); MPI_Barrier(MPI_COMM_WORLD);'
timeout 300 "$weftrun" -n 3 ./lost >out 2>err
[ $? -ne 124 ] || fail "a lost process leaves others waiting"
grep -q "process 1" err || fail "a lost process is not named: $(cat err)"
# Whose window others put into by the kernel: they do not take it for a mistake of theirs.
program dead 'MPI_Win w; MPI_Win_create(data, 64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &w); MPI_Win_lock_all(0, w);
    MPI_Barrier(MPI_COMM_WORLD); if (rank == 1) abort(); for (;;) MPI_Put(&size, 1, MPI_INT, 1, 0, 1, MPI_INT, w);'
for _ in 1 2 3 4 5; do
    timeout 300 "$weftrun" -n 3 ./dead >out 2>err
    [ $? -ne 124 ] || fail "a lost target leaves others waiting"
    grep -q "No such process" err && fail "a lost target is not named: $(cat err)"
done
PMI_SIZE=2 timeout 300 ./lost >out 2>err && fail "a launcher without PMIx is taken"
grep -q "start the program by weftrun" err || fail "a launcher without PMIx: $(cat err)"
# Opening the job is a wait, too, and long on a busy machine.
limit=$(awk -v processors="$(nproc)" '{ s = $1 / processors; print 3 * (s < 1 ? 1 : s > 8 ? 8 : s) }' /proc/loadavg)
WEFT_STALL_S=1 WEFT_TIMEOUT_S=$limit refused 2 \
    "process 0 has waited 1.* s in MPI_Allreduce 1 on MPI_COMM_WORLD for a message from process 1: there from it, unmatched: nothing" \
    'MPI_Barrier(MPI_COMM_WORLD);
     if (rank == 0) MPI_Allreduce(data, data + 8, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
     else MPI_Recv(data, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);'
# Memory that a CUDA driver, here a stand-in, calls a GPU's.
printf 'void *gpu;\nint cuPointerGetAttribute(void *value, int attribute, void *at)\n{\n    if (at != gpu) return 1;\n' >cuda.c
printf '    *(unsigned *)value = attribute == 2 ? 2 : 0;\n    return 0;\n}\n' >>cuda.c
"$compiler" -shared -fPIC -Wl,-soname,libcuda.so.1 cuda.c -o libcuda.so.1 || fail "the stand-in was not compiled"
WEFT_DEVICE=cpu refused 1 "MPI_Send: .*16384 bytes at 0x.* are memory of a GPU, and this job is on the CPU device" \
    'extern void *dlopen(const char *, int), *dlsym(void *, const char *); static char memory[16384];
     *(void **)dlsym(dlopen("./libcuda.so.1", 2), "gpu") = memory;
     MPI_Send(memory, sizeof(memory), MPI_CHAR, 0, 0, MPI_COMM_WORLD);'
for call in 'Allgather(memory, N, MPI_CHAR, other, N, MPI_CHAR, MPI_COMM_WORLD)' \
    'Alltoall(other, N, MPI_CHAR, memory, N, MPI_CHAR, MPI_COMM_WORLD)' \
    'Allreduce(MPI_IN_PLACE, memory, N, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD)'; do
    WEFT_DEVICE=cpu refused 1 "MPI_${call%%(*}: 16384 bytes at 0x.* are memory of a GPU, and this job is on the CPU device" \
        "enum { N = 16384 }; extern void *dlopen(const char *, int), *dlsym(void *, const char *);
         static char memory[N], other[N]; *(void **)dlsym(dlopen(\"./libcuda.so.1\", 2), \"gpu\") = memory; MPI_$call;"
done
program early 'return 0;'
sed -i 's/    MPI_Init(&argc, &argv);/    MPI_Barrier(MPI_COMM_WORLD);\n&/' early.c
WEFTMPI_CC=$compiler "$HOME/opt/weft/bin/weftmpicc" ${sanitizers:+-fsanitize="$sanitizers"} early.c -o early
timeout 300 ./early >out 2>err && fail "a call before MPI_Init is taken"
grep -q "MPI_Barrier was called before MPI_Init" err || fail "a call before MPI_Init: $(cat err)"
printf '#include <mpi.h>\nint main(void) { return MPI_Init_thread(0, 0, MPI_THREAD_SINGLE, 0); }\n' >level.c
WEFTMPI_CC=$compiler "$HOME/opt/weft/bin/weftmpicc" ${sanitizers:+-fsanitize="$sanitizers"} level.c -o level
timeout 300 ./level >out 2>err && fail "MPI_Init_thread without a result is taken"
grep -q "MPI_Init_thread: a result at NULL" err || fail "MPI_Init_thread without a result: $(cat err)"
refused 1 "MPI_Send: tag -5" 'MPI_Send(data, 1, MPI_INT, 0, -5, MPI_COMM_WORLD);'
program open 'MPI_Request r; MPI_Irecv(data, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &r);'
timeout 300 ./open >out 2>err
grep -q "1 operation was never completed: .*tag 4" err || fail "a request that was never completed: $(cat err)"
# One that was let go is waited for, if it is matched.
program let_go 'static char in[1 << 20], out[1 << 20]; MPI_Request r; int other = size - 1 - rank;
     MPI_Irecv(data, 1, MPI_INT, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &r); MPI_Request_free(&r);
     MPI_Irecv(in, sizeof(in), MPI_CHAR, other, 8, MPI_COMM_WORLD, &r); MPI_Request_free(&r);
     MPI_Send(data, 1, MPI_INT, other, 9, MPI_COMM_WORLD);
     MPI_Isend(out, sizeof(out), MPI_CHAR, other, 8, MPI_COMM_WORLD, &r); MPI_Request_free(&r);'
for processes in 1 2; do
    timeout 300 "$weftrun" -n $processes ./let_go >out 2>err || fail "receives that were let go: $(cat err)"
    [ ! -s err ] || fail "receives that were let go: $(cat err)"
done
program left 'MPI_Request r; MPI_Irecv(data, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, &r); MPI_Request_free(&r);'
timeout 300 ./left >out 2>err
grep -q "1 operation was never completed: .*tag 4" err || fail "a receive let go that nobody sent to: $(cat err)"
printf '#include <mpi.h>\nint MPI_File_open(void);\nint main(void) { return MPI_File_open(); }\n' >file.c
WEFTMPI_CC=$compiler "$HOME/opt/weft/bin/weftmpicc" file.c -o file 2>err && fail "MPI_File_open links"
grep -q "undefined reference to .MPI_File_open" err || fail "MPI_File_open: $(cat err)"
program left 'if (rank == 0) MPI_Send(data, 2, MPI_INT, 1, 9, MPI_COMM_WORLD);'
timeout 300 "$weftrun" -n 2 ./left >out 2>err
grep -q "never received" err || fail "a message that nobody received: $(cat err)"

# The wrappers.
program whole 'printf("%d of %d\n", rank, size);'
timeout 300 "$HOME/opt/weft/bin/weftrun" -n 2 ./whole >out 2>err || fail "installed: $(cat err)"
[ "$(sort out | tr '\n' ,)" = "0 of 2,1 of 2," ] || fail "installed: $(cat out)"
"$HOME/opt/weft/bin/weftmpicc" -show -c x.c | grep -q "weft-mpi" || fail "-show"
"$HOME/opt/weft/bin/weftmpicc" -show -c x.c | grep -q "lweft" && fail "-show -c links"
"$HOME/opt/weft/bin/weftmpicc" -show x.c -o prog.F | grep -q " -o prog.F " || fail "a program whose name ends like Fortran"
WEFTMPI_BUILD=$build "$root/tools/weftmpicxx" -show x.cc | grep -q "c++ .*-lweft-mpi" || fail "weftmpicxx -show"
"$HOME/opt/weft/bin/weftmpicc" -c solver.F90 2>err && fail "weftmpicc takes Fortran"
grep -q "solver.F90: weft has no MPI for Fortran" err || fail "Fortran: $(cat err)"

# The library's symbols are those of the list, each with its PMPI_ name.
nm --defined-only "$HOME/opt/weft/$libdir/libweft-mpi.a" 2>/dev/null |
    awk '$2 ~ /[TW]/ && $3 ~ /^P?MPIX?_/ { print $3 }' | sort >symbols
list=$root/include/weft-mpi/mpi_functions.def
functions=$(grep -oP '^WEFT_MPI_FUNCTION\(\K\w+' "$list")
refusals=$(grep -oP '^WEFT_MPI_REFUSED\(\K\w+' "$list")
documented=$(sed -n '/^\*\*At the call/p' "$root/docs/mpi.md" | sed 's/`WEFT_MPI_REFUSED.*//' | grep -oP '`MPI_\K\w+' | sort)
[ "$documented" = "$(sort <<<"$refusals")" ] || fail "docs/mpi.md lists as refused: $documented"
handles=$(grep -oP '^WEFT_MPI_HANDLE\(\K\w+' "$list" | sed 's/.*/&_c2f &_f2c/')
for name in $functions $refusals $handles Wtime Wtick; do
    printf 'MPI_%s\nPMPI_%s\n' "$name" "$name"
done | cat - <(echo MPIX_Query_cuda_support) | sort >listed
missing=$(comm -23 listed symbols | wc -l)
echo "$(($(wc -w <<<"$functions") + 3)) functions and $(wc -w <<<"$refusals") refusals, $missing missing"
[ "$missing" -eq 0 ] || fail "missing: $(comm -23 listed symbols)"
[ -z "$(comm -13 listed symbols)" ] || fail "not in the list: $(comm -13 listed symbols)"
nm --defined-only "$HOME/opt/weft/$libdir/libweft-mpi.a" 2>/dev/null |
    awk '$2 ~ /[TWDB]/ && $3 !~ /^(P?MPIX?_|weftmpi|__odr_asan\.)/ { print $3 }' | grep . && fail "other symbols"

# The header's numbers are the ABI's.
{
    printf '#include <mpi.h>\n#include <stdio.h>\nint main(void)\n{\n    int differ = sizeof(MPI_Status) != 32;\n'
    sed '/^#/d' "$root/tests/mpi/abi.txt" | tr -s ' \n' '\n' | paste - - | while read -r name number; do
        printf '    if ((long)%s != %s) { puts("%s"); differ++; }\n' "$name" "$number" "$name"
    done
    printf '    printf("%%d differ\\n", differ);\n    return differ;\n}\n'
} >numbers.c
WEFTMPI_CC=$compiler "$HOME/opt/weft/bin/weftmpicc" ${sanitizers:+-fsanitize="$sanitizers"} numbers.c -o numbers &&
    ./numbers || fail "numbers of the ABI"
{
    grep -oE '\bMPI_[A-Z0-9_]+\b *(=|\(\(MPI_|\(\(void)' "$root/include/weft-mpi/mpi.h" | grep -oE '^MPI_[A-Z0-9_]+'
    grep -oP '^WEFT_MPI_ERROR\(\K\w+' "$root/include/weft-mpi/mpi_errors.def" | sed 's/^/MPI_/'
} |
    while read -r name; do
        grep -qw "$name" "$root/tests/mpi/abi.txt" || echo "$name"
    done >unlisted
[ ! -s unlisted ] || fail "not compared with the ABI: $(cat unlisted)"

[ $failures -eq 0 ]
