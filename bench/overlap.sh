#!/bin/bash
# bench/overlap.sh [--page FILE] [--gpu] [--rounds N] BIN_DIR OUT_DIR - how much of a network's time ranks hide:
# the case studies on hosts (network namespaces, as root) whose packets take 0, 50 and 500 us longer, over
# TCP, weft's variant and the two-model one on the same network, in turns, one worker a process. Two hosts,
# and what makes their packets late, want six processors; four hosts, which run from ten on, want those.
#
# Hidden share = 1 - (T - C) / (M - C): T is weft's time, M the two-model's, C what the two-model computes,
# its time without communication, as it measures it itself. Wanted: 0.7 at 50 us for stencil and particles,
# and never T > M. The stencil runs with 26 messages an exchange, too (--message-a-plane 1).
#
# --gpu: on a GPU that two processes share under MPS, or one each where there are two; they reach each other
# through the host over shm, then over ofi (TCP); the sizes are those of the thesis.
#
# Leaves raw.csv, summary.csv, tables.md, machine.txt, commands.txt and plots in OUT_DIR. --page puts tables and machine
# into a page, between its lines "<!-- tables -->" and "<!-- end of tables -->". Ends after so many rounds
# (default 7), or before the first that would not fit into ten minutes.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
. "$here/support/page.sh"
apps=(stencil particles spmv power_iteration)
gpu=
suffix=_net
[ "${1:-}" != --gpu ] || { shift && gpu=1 suffix=_net_cuda; }
needs=(weftrun bench_delay "${apps[@]}" "${apps[@]/%/$suffix}")
. "$here/support/begin.sh"
. "$here/support/far.sh"
. "$here/support/mps.sh"

# So that an iteration computes for some tenths of a millisecond.
declare -A sizes=([stencil]="--nx 128 --nz 26 --rows 64 --iterations 100" [planes]="--nx 128 --nz 26 --rows 64 --iterations 100 --message-a-plane 1"
    [particles]="--width 40 --height 40 --particles 3800 --iterations 100" [spmv]="--rows 10816 --nonzeros 3000 --iterations 100"
    [power_iteration]="--preset thesis --iterations 50")
# Of weft's ranks: with fewer rows a rank of the stencil computes some twice, and more ranks send more messages.
ranks=4
processes=(2)
places=(0 50 500)
[ "$(nproc)" -lt 10 ] || processes+=(4)
if [ $gpu ]; then
    processes=(2) places=(shm ofi)
    for study in "${!sizes[@]}"; do
        sizes[$study]="--preset thesis"
    done
    sizes[planes]+=" --message-a-plane 1"
fi

# measure STUDY PROCESSES PLACE VARIANT PROGRAM
measure() {
    local command net=ofi
    [ ! $gpu ] || net=$3
    command=(env "WEFT_NET=$net" "WEFT_OFI_PROVIDER=tcp;ofi_rxm" WEFT_PATH=proxy)
    [ $gpu ] || command+=("WEFT_RSH=$work/rsh" WEFT_CONNECT_S=60 WEFT_CPU_WORKERS=1)
    command+=("$bin/weftrun")
    [ $gpu ] || command+=(-H "$(seq -s , -f 'host%g' 0 $(($2 - 1)))")
    # shellcheck disable=SC2206 # words that have no spaces in them
    command+=(-n "$2" "$bin/$5" ${sizes[$1]} --csv)
    [ $gpu ] || [ "$4" != weft ] || command+=(--ranks $ranks)
    [ "$round" -gt 1 ] || echo "${command[*]//"$bin"/BIN}" | sed "s#$work#WORK#g" >>"$out/commands.txt"
    if ! timeout 120 "${command[@]}" >"$work/last.txt" 2>"$work/last.err"; then
        echo "bench: this failed: ${command[*]}" >&2
        cat "$work/last.txt" "$work/last.err" >&2
        exit 1
    fi
    awk -F, -v start="$1,$2,$3,$4,$round" 'NR == 2 { print start "," $9 "," ($10 == "" ? 0 : $10) }' "$work/last.txt" >>"$out/raw.csv"
}

{
    machine_lines
    [ ! $gpu ] || echo "GPU: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | sort | uniq -c | xargs)"
    echo "processors: $(nproc)$([ "$(nproc)" -ge 6 ] || echo ": TOO FEW, hosts and network share them")"
    echo "load average at the start: $(cut -d ' ' -f 1 /proc/loadavg)"
} >"$out/machine.txt"
echo "study,processes,delay_us,variant,round,total_ms,communication_ms" >"$out/raw.csv"
: >"$out/commands.txt"
if [ $gpu ]; then
    export WEFT_DEVICE=cuda how="processes of this machine, each on its GPU"
    [ "$(nvidia-smi -L | grep -c '^GPU')" -gt 1 ] || { trap 'mps_down; rm -rf "$work"' EXIT && mps_up; }
    [ -z "${CUDA_MPS_LOG_DIRECTORY:-}" ] || how="processes that share a GPU under MPS"
fi
longest=0
for ((round = 1; round <= rounds && SECONDS + longest < 570; round++)); do
    began=$SECONDS
    for place in "${places[@]}"; do
        [ $gpu ] || far_up 4 "$place"
        [ $gpu ] || [ -n "$has_far" ] || { echo "bench: hosts: $how" >&2 && exit 1; }
        for n in "${processes[@]}"; do
            for study in stencil planes particles spmv power_iteration; do
                program=${study/planes/stencil}
                measure $study $n "$place" weft "$program"
                measure $study $n "$place" two-model "$program$suffix"
            done
        done
    done
    [ $((SECONDS - began)) -le $longest ] || longest=$((SECONDS - began))
done
{
    echo "hosts: by $how"
    echo "rounds: $((round - 1)), of at most $longest s"
    echo "load average at the end: $(cut -d ' ' -f 1 /proc/loadavg)"
} >>"$out/machine.txt"

awk -v summary="$out/summary.csv" -f "$here/median.awk" -f "$here/overlap.awk" "$out/raw.csv" >"$out/tables.md"
for format in png svg; do
    ! command -v gnuplot >/dev/null || gnuplot -c "$here/overlap.gp" "$out" $format
done
cat "$out/machine.txt" "$out/tables.md"
into_page "$out"
