#!/bin/bash
# bench/messages.sh [--page FILE] [--rounds N] BIN_DIR OUT_DIR - messages of host programs beside Open
# MPI and, where it is installed, MPICH; the same MPI programs on weft's MPI, too. All in turns, each
# process bound to one of the same two processors; all check contents.
#
# By shared memory and over TCP (loopback): 8 B to 4 MiB back and forth, and in windows of 64. By shared
# memory: collectives of two processes; a message behind others, posted or unexpected; 16 MiB into 20 ms
# of computing. Then the figures 4 to 11 of Shi et al. (HiPC 2014) in this library's own form: every
# message eager against none, set by WEFT_MSG_EAGER: by shared memory, and between hosts (network
# namespaces, as root) whose packets take 50 us longer, by `tc netem` or, without it, bench_delay.
#
# Leaves raw.csv, summary.csv, tables.md, machine.txt, commands.txt and plots in OUT_DIR. --page puts
# tables and machine into a page, between its lines "<!-- tables -->" and "<!-- end of tables -->".
# Ends after so many rounds (default 7), or before the first that would not fit into ten minutes.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
. "$here/support/page.sh"
[ "${1:-}" = --rounds ] || set -- --rounds 7 "$@"
programs=(latency_send bandwidth_send coll queue)
needs=(weftrun bench_msg bench_delay lbm_msg md_msg "${programs[@]/#/weftmpi_}" "${programs[@]/#/mpi_}")
. "$here/support/begin.sh"

. "$here/support/far.sh"

far_hosts=16 delay=50
weft=(env "$bin/weftrun" -n 2 "$here/support/bound.sh" "$cores")
ofi=(env WEFT_NET=ofi "WEFT_OFI_PROVIDER=tcp;ofi_rxm" WEFT_PATH=proxy "${weft[@]:1}")
ompi=("$(command -v mpirun.openmpi || command -v mpirun)" --cpu-list "$cores" --bind-to cpu-list:ordered -n 2)
mpich=(mpirun.mpich -n 2 "$here/support/bound.sh" "$cores")
tcp=(--mca pml ob1 --mca btl "self,tcp" --mca btl_tcp_if_include lo)
has_mpich=
[ ! -x "$bin/mpich_queue" ] || ! command -v mpirun.mpich >/dev/null || has_mpich=1
declare -A protocol=([eager]="WEFT_MSG_EAGER=32K WEFT_MSG_EAGER_NET=32K"
    [rendezvous]="WEFT_MSG_EAGER=0 WEFT_MSG_EAGER_NET=0")

# far N PROTOCOL: the start of a command on N hosts, in words without spaces.
far() {
    echo env "WEFT_RSH=$work/rsh" WEFT_CONNECT_S=60 WEFT_NET=ofi "WEFT_OFI_PROVIDER=tcp;ofi_rxm" \
        "${protocol[$2]}" taskset -c "$cores" "$bin/weftrun" \
        -H "$(seq -s , -f 'host%g' 0 $(($1 - 1)))" -n "$1"
}

# go COMMAND...: its output in $out/last.txt; what fails ends the script.
go() {
    [ "$round" -gt 1 ] || echo "${*//"$bin"/BIN}" | sed "s#$work#WORK#g; s#$hosts#HOSTS#g; s#$here#bench#g" >>"$out/commands.txt"
    limited 300 "$@"
}

# measure KIND SERIES COMMAND...: lines of size, repetitions, value.
measure() {
    go "${@:3}"
    awk -v start="$1,$2,$round," -F, 'NR > 1 { print start $1 "," $3 }' "$out/last.txt" >>"$out/raw.csv"
}

# everyone KIND PROGRAM ARGS...: an MPI program on weft's MPI, Open MPI and MPICH.
everyone() {
    measure "$1" "weft MPI" "${weft[@]}" "$bin/weftmpi_$2" "${@:3}"
    measure "$1" "Open MPI" "${ompi[@]}" "$bin/mpi_$2" "${@:3}"
    [ -z "$has_mpich" ] || measure "$1" MPICH "${mpich[@]}" "$bin/mpich_$2" "${@:3}"
}

overlap() {
    go "${@:2}" --form overlap
    awk -v start="overlap,$1,$round,16777216," '/complete/ { print start $2 }' "$out/last.txt" >>"$out/raw.csv"
}

# app KIND SERIES X COMMAND...: milliseconds an iteration, and in KIND_messages those in communication.
app() {
    go "${@:4}" --csv
    awk -v kind="$1" -v rest=",$2,$round,$3," -F, 'NR > 1 {
        print kind rest $9 / $7; print kind "_messages" rest $10 / $7 }' "$out/last.txt" >>"$out/raw.csv"
}

peers() {
    local kind form
    for kind in latency bandwidth; do
        local sizes=(--to 4194304 --repeats $([ $kind = latency ] && echo 10000 || echo 200))
        measure $kind weft "${weft[@]}" "$bin/bench_msg" --form $kind "${sizes[@]}"
        everyone $kind ${kind}_send "${sizes[@]}"
        sizes[3]=$([ $kind = latency ] && echo 2000 || echo 50)
        measure tcp_$kind weft "${ofi[@]}" "$bin/bench_msg" --form $kind "${sizes[@]}"
        measure tcp_$kind "weft MPI" "${ofi[@]}" "$bin/weftmpi_${kind}_send" "${sizes[@]}"
        measure tcp_$kind "Open MPI" "${ompi[@]}" "${tcp[@]}" "$bin/mpi_${kind}_send" "${sizes[@]}"
    done
    for form in bcast gather allgather alltoall allreduce; do
        everyone $form coll --form $form --repeats 500
    done
    for form in posted unexpected; do
        everyone $form queue --form $form --from 8 --to 4096 --repeats 1000
    done
    overlap weft "${weft[@]}" "$bin/bench_msg"
    overlap "weft MPI" "${weft[@]}" "$bin/weftmpi_queue"
    overlap "Open MPI" "${ompi[@]}" "$bin/mpi_queue"
    [ -z "$has_mpich" ] || overlap MPICH "${mpich[@]}" "$bin/mpich_queue"
}

# The figures of the paper, one protocol.
figures() {
    local p=$1 kind n two
    # shellcheck disable=SC2046,SC2206 # words that have no spaces in them
    two=($(far 2 "$p"))
    for kind in latency bandwidth; do
        # shellcheck disable=SC2086
        measure near_$kind "$p" env ${protocol[$p]} "${weft[@]:1}" "$bin/bench_msg" --form $kind --to 32768 \
            --repeats $([ $kind = latency ] && echo 5000 || echo 100)
        [ -z "$has_far" ] || measure far_$kind "$p" "${two[@]}" "$bin/bench_msg" --form $kind --to 32768 \
            --repeats $([ $kind = latency ] && echo 200 || echo 20)
    done
    [ -n "$has_far" ] || return 0
    for n in 4 8 16 32 64; do
        app lbm "$p" $n "${two[@]}" "$bin/lbm_msg" --nx 32 --ny 32 --nz $n --radius 8 --iterations 100
    done
    for n in 4096 8192 16384 65536; do
        app md "$p" $n "${two[@]}" "$bin/md_msg" --nve 0 --particles $n --iterations 40
    done
    for kind in gather allgather alltoall; do
        # shellcheck disable=SC2046
        measure far_$kind "$p" $(far $far_hosts "$p") "$bin/weftmpi_coll" --form $kind --from 32 --to 2048 --repeats 30
    done
    [ "$round" -eq 1 ] || return 0 # long, and two processors say little of it
    for n in 1 2 4 8 16; do
        # shellcheck disable=SC2046
        app md_strong "$p" $n $(far $n "$p") "$bin/md_msg" --nve 0 --particles 65536 --iterations 20
        # shellcheck disable=SC2046
        app md_weak "$p" $n $(far $n "$p") "$bin/md_msg" --nve 0 --particles $((2048 * n)) --iterations 50
    done
}

far_up $far_hosts $delay
{
    machine_lines
    echo "Open MPI: $("${ompi[0]}" --version | head -n 1)"
    [ -z "$has_mpich" ] || echo "MPICH: $(mpirun.mpich --version | awk '/Version/ { print $2; exit }')"
    echo "cores used: $cores of $allowed"
    echo "hosts $delay us away: $how"
    echo "load average at the start: $(cut -d ' ' -f 1 /proc/loadavg)"
} >"$out/machine.txt"
echo "kind,series,round,x,value" >"$out/raw.csv"
: >"$out/commands.txt"
longest=0
for ((round = 1; round <= rounds && SECONDS + longest < 570; round++)); do
    began=$SECONDS
    peers
    figures eager
    figures rendezvous
    [ $((SECONDS - began)) -le $longest ] || longest=$((SECONDS - began))
done
rm "$out/last.txt" "$out/last.err"
echo "rounds: $((round - 1)), of at most $longest s" >>"$out/machine.txt"
echo "load average at the end: $(cut -d ' ' -f 1 /proc/loadavg)" >>"$out/machine.txt"

awk -v summary="$out/summary.csv" -f "$here/median.awk" -f "$here/rows.awk" -f "$here/messages.awk" "$out/raw.csv" >"$out/tables.md"
for format in png svg; do
    ! command -v gnuplot >/dev/null || gnuplot -c "$here/messages.gp" "$out" $format
done
cat "$out/machine.txt" "$out/tables.md"
into_page "$out"
