#!/usr/bin/env bash
# shellcheck disable=SC2016,SC2094 # the processes expand what stands in single quotes, and append
# test_mpi.sh BIN - the network mpi, and jobs that mpirun starts, with each MPI that there is:
# conformance, order, bursts and an application over it, with both ways of using threads; programs
# that use MPI themselves, also after a job that failed; a process that is killed; and what is set wrong.
# With WEFT_TESTS_FULL=1 everything with every MPI; else each kind of check once or more.
set -u
full=${WEFT_TESTS_FULL-}
unset WEFT_TESTS_FULL
bin=$(cd "${1:?usage: $0 BIN}" && pwd)
tests=$bin/tests
data=$(cd "$(dirname "$0")/../../data" && pwd)
work=$(mktemp -d)
export TMPDIR=$work # each mpirun has its own: they would share a folder by the name of the host
trap 'rm -rf "$work"' EXIT
failures=0 tested=0

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export OMPI_MCA_hwloc_base_binding_policy=none # beside other tests, on the same processors

fail()
{
    echo "FAILED: $1"
    sed 's/^/    /' "$work/out" | tail -20
    failures=$((failures + 1))
}

# start N COMMAND...: as processes of $mpi; all output is in $work/out. They write there themselves:
# MPICH's launcher can lose what is said by processes that end at once.
start()
{
    : >"$work/out"
    timeout 600 "mpirun.$mpi" ${patient:+"$patient"} -n "$1" \
        sh -c 'exec "$@" >>"$0" 2>&1' "$work/out" "${@:2}" >>"$work/out" 2>&1
}

# passes N COMMAND...: the status is 0.
passes()
{
    start "$@" || fail "$mpi: mpirun -n $* ($?)"
}

# refuses TEXT N COMMAND...: fails, and says why.
refuses()
{
    local text=$1
    shift
    if start "$@"; then
        fail "$mpi: mpirun -n $*: not refused"
    fi
    grep -qF -- "$text" "$work/out" || fail "$mpi: mpirun -n $*: no \"$text\""
}

test_network()
{
    export WEFT_NET=mpi
    for WEFT_MPI_THREADS in multi single; do
        export WEFT_MPI_THREADS
        rm -f "$work/ends"
        passes 3 "$tests/test_conformance" --launched mpi "$work/ends"
        grep -q 'all good' "$work/out" || fail "$mpi: the conformance suite, $WEFT_MPI_THREADS"
        [ -n "$full" ] || [ $WEFT_MPI_THREADS = multi ] || continue
        passes 3 "$tests/test_order" --path proxy --scale 2
        passes 3 "$tests/test_neighbours" --path proxy
        WEFT_PATH=proxy passes 4 "$bin/power_iteration" --matrix "$data/debian-depends.mtx" \
            --pagerank 0.85
        grep -q '^check: passed' "$work/out" || fail "$mpi: power_iteration, $WEFT_MPI_THREADS"
    done
    unset WEFT_MPI_THREADS
    [ -n "$full" ] || [ $tested = 1 ] || { unset WEFT_NET && return; } # weft's part is the same
    passes 3 "$tests/test_mixed" --path auto
    passes 3 "$tests/test_update" --path proxy --ranks 2
    WEFT_PATH=proxy passes 3 "$bin/get"
    grep -q '^get: 3 processes, [0-9]* ranks: all sums right$' "$work/out" || fail "$mpi: get"
    passes 3 "$tests/test_flush" --path proxy
    WEFT_PATH=proxy passes 2 "$bin/host_and_kernel"
    grep -q '^host: 10000 requests served while the kernel ran$' "$work/out" || fail "$mpi: host_and_kernel"
    WEFT_COUNTER_START=4294967200 passes 2 "$tests/test_full" --path proxy
    unset WEFT_NET
}

# mpirun starts a job whose data takes any network; here the direct path and shm.
test_start()
{
    passes 3 "$tests/test_put" --path auto
    passes 1 "$tests/test_put"
    passes 2 "$tests/test_runs" --path proxy
    WEFT_PMIX=off passes 2 "$bin/power_iteration" --matrix "$data/debian-depends.mtx" --iterations 1 --no-check
    [ "$(grep -c 'grid: 1x1 processes' "$work/out")" -eq 2 ] || fail "$mpi: WEFT_PMIX=off makes no jobs of one"
}

test_programs()
{
    local program=$tests/mpi_program_$mpi
    WEFT_NET=mpi WEFT_PATH=proxy passes 3 "$program" none
    for net in mpi shm; do
        WEFT_NET=$net WEFT_PATH=proxy passes 3 "$program" multiple
        grep -q '^good' "$work/out" || fail "$mpi: a program with MPI of its own, $net"
    done
    WEFT_NET=mpi WEFT_PATH=proxy passes 2 "$program" serialized
    WEFT_NET=mpi refuses 'needs MPI_THREAD_MULTIPLE' 2 "$program" single
}

# Jobs that fail while much is under way, in a program that calls MPI after them.
test_failures()
{
    local program=$tests/mpi_failure_$mpi mode
    for mode in together ${full:+late}; do
        WEFT_NET=mpi WEFT_PATH=proxy passes 3 "$program" "$mode"
        grep -q '^good' "$work/out" || fail "$mpi: MPI after a failed job, $mode"
    done
    WEFT_NET=mpi WEFT_PATH=proxy WEFT_MPI_THREADS=single passes 3 "$program" together
}

test_mistakes()
{
    local other=openmpi
    [ "$mpi" = openmpi ] && other=mpich
    WEFT_NET=mpi passes 2 "$tests/test_fork" # whose child ends by exit
    WEFT_NET=mpi WEFT_MPI_LIBRARY=none refuses 'no module libweft-mpi-none.so' 2 "$tests/test_put"
    WEFT_NET=mpi WEFT_MPI_LIBRARY=$other refuses "the program is linked with" 2 \
        "$tests/mpi_program_$mpi" multiple
    if [ -n "$(module $other)" ]; then
        WEFT_NET=mpi WEFT_MPI_LIBRARY=$other refuses 'it is not the MPI of this launcher' 2 "$tests/test_put"
    fi
    WEFT_NET=mpi timeout 300 "$bin/weftrun" -n 2 "$tests/test_put" >"$work/out" 2>&1 &&
        fail "WEFT_NET=mpi under weftrun: not refused"
    grep -q 'use mpirun -n 2 instead of weftrun' "$work/out" || fail "WEFT_NET=mpi under weftrun"
}

# One cannot even load its MPI: the others do not wait for it for ever in MPI_Init_thread. Open MPI's
# launcher ends them before.
test_missing()
{
    local began=$SECONDS
    start 3 sh -c 'test "${PMI_RANK-$OMPI_COMM_WORLD_RANK}" != 1 || export WEFT_MPI_LIBRARY=none
        WEFT_NET=mpi WEFT_CONNECT_S=3 exec "$@"' sh "$tests/test_put" &&
        fail "$mpi: started without a process"
    [ $((SECONDS - began)) -le 60 ] || fail "$mpi: $((SECONDS - began)) s without a process"
    grep -q 'no module libweft-mpi-none.so' "$work/out" || fail "$mpi: why a process is missing"
    [ "$mpi" != mpich ] || grep -q 'MPI_Init_thread has not returned within 3 s' "$work/out" ||
        fail "$mpi: nobody says that a process is missing"
}

# pids [PROCESS]: of those who have said who they are, in lines that may not be complete.
pids()
{
    grep -Eo "process ${1-[0-9]+} \(pid [0-9]+ on " "$work/out" | grep -Eo '[0-9]+ on' | grep -Eo '[0-9]+' |
        sort -u
}

# alive PID...: which of them there are.
alive()
{
    local one
    for one; do
        ! grep -qs '^State:.[RSD]' "/proc/$one/status" || echo "$one"
    done
}

# The time in hundredths of a second.
now()
{
    local up rest
    read -r up rest </proc/uptime
    echo "${up/./}"
}

# kill_one - one of three is killed: all end soon, and nobody is left. Returns whether it was named.
# The launchers are told not to kill the others at once: they may be quicker than any message.
# shellcheck disable=SC2086 # $all is several
kill_one()
{
    # Open MPI may not come back from a call, to which weft gives 5 s more (docs/networks-mpi.md).
    local patient=--enable-recovery most=2000 pid all began took
    [ "$mpi" = mpich ] && patient=-disable-auto-cleanup most=1000
    # Where several processes want each processor all takes longer.
    most=$(awk -v most=$most -v n="$(nproc)" '{ print most * ($1 > n ? int($1 / n) + 1 : 1) }' /proc/loadavg)
    : >"$work/out" # now: the shell in the background may be slow to
    WEFT_NET=mpi WEFT_LOG=info start 3 "$tests/test_order" --path proxy --scale 100000 &
    local launcher=$!
    for _ in $(seq 1200); do
        [ "$(pids | wc -l)" -lt 3 ] || break
        sleep 0.05
    done
    sleep 0.5
    all=$(pids) pid=$(pids 1)
    if [ "$(wc -w <<<"$all")" -ne 3 ]; then
        fail "$mpi: not three processes:" $all
        kill -9 $all
    else
        kill -9 "$pid"
    fi
    began=$(now)
    while took=$(($(now) - began)) && [ -n "$(alive $all)" ] && [ $took -lt 20000 ]; do
        sleep 0.05
    done
    echo "$mpi: all ended $((took * 10)) ms after a kill"
    [ $took -le $most ] || fail "$mpi: $((took * 10)) ms after a kill, not ended or only now:" $all
    wait $launcher # Open MPI's then says 0
    [ $? -ne 124 ] || fail "$mpi: the launcher stays after a kill"
    grep -q "WEFT_ERR_PEER_LOST: process 1 (pid $pid " "$work/out"
}

# MPICH's launcher kills the others all the same when the lost one's connection to it ends, and on a
# busy machine it may be quicker than they are, and it need not say so.
test_killed()
{
    local tries=1
    [ "$mpi" = mpich ] && tries=4
    while ! kill_one; do
        tries=$((tries - 1))
        if [ $tries = 0 ]; then
            fail "$mpi: nobody named who was killed"
            return
        fi
    done
}

# module NAME: its file, if it was built.
module()
{
    find "$bin/.." -maxdepth 3 -name "libweft-mpi-$1.so" -print -quit
}

for mpi in openmpi mpich; do
    if [ -z "$(module $mpi)" ] || ! command -v "mpirun.$mpi" >/dev/null; then
        echo "$mpi: not here, not tested"
        continue
    fi
    tested=$((tested + 1))
    test_network
    test_start
    test_programs
    test_failures
    test_mistakes
    test_missing
    test_killed
done
[ $tested -gt 0 ] || exit 77
[ $failures -eq 0 ] && echo "all good with $tested MPI(s)"
exit $((failures > 0))
