#!/bin/bash
# bench/overlap.sh [--page FILE] [--gpu] [--quick] [--processes N,...] [--seconds N] [--rounds N] BIN_DIR OUT_DIR -
# how much of a network's time ranks hide: the case studies on hosts (network namespaces, as root) whose
# packets take 0, 50 and 500 us longer, over TCP, by weft's networks ofi and mpi: weft's variant and the
# two-model one on the same network, and over mpi also the two-model one over Open MPI itself. In turns, one
# worker a process; 2, 4 and 9 processes, a host each. N hosts want 2 N + 2 processors.
#
# Hidden share = 1 - (T - C) / (M - C): T is weft's time, M the two-model's, C what the two-model computes,
# its time without communication, as it measures it itself. Wanted: 0.7 at 50 us for stencil and particles,
# and never T > M. The stencil runs with 26 messages an exchange, too (--message-a-plane 1).
#
# --gpu: on a GPU that two processes share under MPS, or one each where there are two; they reach each other
# through the host over shm, then over ofi (TCP); the sizes are those of the thesis.
# --quick: one round, on hosts of a tenth of the iterations; it shows that all runs.
#
# Leaves raw.csv, summary.csv, tables.md, machine.txt, commands.txt and plots in OUT_DIR. --page puts tables and machine
# into a page, between its lines "<!-- tables -->" and "<!-- end of tables -->". Ends after so many rounds
# (default 7), or in the midst of one when so many seconds are over (default 570). What fails is noted in
# machine.txt and leaves no figure; the script's status is 1 then.
#
# bench/overlap.sh [--page FILE] --draw OUT_DIR - tables, plots and page of raw.csv and machine.txt there.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
. "$here/support/page.sh"
draw() {
    awk -v summary="$1/summary.csv" -f "$here/median.awk" -f "$here/overlap.awk" "$1/raw.csv" >"$1/tables.md"
    for format in png svg; do
        ! command -v gnuplot >/dev/null || gnuplot -c "$here/overlap.gp" "$1" $format
    done
    cat "$1/machine.txt" "$1/tables.md"
    into_page "$1"
}
[ "${1:-}" != --draw ] || { draw "$2" && exit; }

apps=(stencil particles spmv power_iteration)
gpu= quick= suffix=_net processes=2,4,9 seconds=570
while :; do
    case ${1:-} in
    --gpu) gpu=1 suffix=_net_cuda processes=2 ;;
    --quick) quick=1 ;;
    --processes) processes=$2 && shift ;;
    --seconds) seconds=$2 && shift ;;
    *) break ;;
    esac
    shift
done
[[ $processes,$seconds =~ ^[1-9][0-9]?(,[1-9][0-9]?)*,[0-9]+$ ]] || { echo "bench/overlap.sh: bad numbers" >&2 && exit 2; }
IFS=, read -ra processes <<<"$processes"
needs=(weftrun bench_delay "${apps[@]}" "${apps[@]/%/$suffix}")
. "$here/support/begin.sh"
[ ! $quick ] || rounds=1
. "$here/support/far.sh"
. "$here/support/gpu.sh"

iterations=$([ $quick ] && echo 10 || echo 100)
# So that an iteration computes for some tenths of a millisecond.
declare -A sizes=([stencil]="--nx 128 --nz 26 --rows 64 --iterations $iterations" [planes]="--nx 128 --nz 26 --rows 64 --iterations $iterations --message-a-plane 1"
    [particles]="--width 40 --height 40 --particles 3800 --iterations $iterations" [spmv]="--rows 10816 --nonzeros 3000 --iterations $iterations"
    [power_iteration]="--preset thesis --iterations $((iterations / 2))")
# Of weft's ranks: with fewer rows a rank of the stencil computes some twice, and more ranks send more messages.
ranks=4
delays=(0 50 500) nets=(ofi)
has_mpi=
ompi=mpirun.openmpi # by its name: to a path it adds what rsh cannot do
command -v $ompi >/dev/null || ompi=mpirun
if [ $gpu ]; then
    delays=("") nets=(shm ofi)
    for study in "${!sizes[@]}"; do
        sizes[$study]="--preset thesis"
    done
    sizes[planes]+=" --message-a-plane 1"
elif [ -x "$bin/stencil_mpi" ] && has_mpi=$($ompi --version 2>/dev/null | grep Open); then
    nets+=(mpi)
fi

# measure STUDY PROCESSES NETWORK DELAY VARIANT PROGRAM
measure() {
    local command all
    all=$(seq -s , -f 'host%g' 0 $(($2 - 1)))
    command=(env "WEFT_NET=$3" "WEFT_OFI_PROVIDER=tcp;ofi_rxm" WEFT_PATH=proxy)
    [ $gpu ] || command+=("WEFT_RSH=$work/rsh" WEFT_CONNECT_S=60 WEFT_DEVICE=cpu WEFT_CPU_WORKERS=1)
    if [ "$3" = mpi ]; then
        # Its files lie in a folder by the name of the host.
        command+=("TMPDIR=$work" "$hosts" on "$work/net" host0 $ompi --mca plm_rsh_agent "$work/rsh" -H "$all"
            --bind-to none --mca pml ob1 --mca btl "self,tcp")
    else
        command+=("$bin/weftrun")
        [ $gpu ] || command+=(-H "$all")
    fi
    # shellcheck disable=SC2206 # words that have no spaces in them
    command+=(-n "$2" "$bin/$6" ${sizes[$1]} --csv)
    [ $gpu ] || [ "$5" != weft ] || command+=(--ranks $ranks)
    [ "$round" -gt 1 ] || echo "${command[*]//"$bin"/BIN}" | sed "s#$work#WORK#g; s#$hosts#HOSTS#g" >>"$out/commands.txt"
    if ! timeout -k 2 100 "${command[@]}" >"$work/last.txt" 2>"$work/last.err" </dev/null; then
        status=1
        echo "this failed, in round $round: ${command[*]}" | tee -a "$out/machine.txt" >&2
        tail -n 20 "$work/last.txt" "$work/last.err" >&2
        return
    fi
    awk -F, -v start="$1,$2,$3,$4,$5,$round" 'NR == 2 { print start "," $9 "," ($10 == "" ? 0 : $10) }' "$work/last.txt" >>"$out/raw.csv"
}

{
    machine_lines
    [ ! $gpu ] || echo "GPU: $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | sort | uniq -c | xargs)"
    echo "processors: $(nproc)"
    [ $gpu ] || for n in "${processes[@]}"; do
        [ "$(nproc)" -ge $((2 * n + 2)) ] || echo "TOO FEW for $n hosts, which share them with the network"
    done
    [ ! $quick ] || echo "quick: a tenth of the iterations; the times say LITTLE"
    [ $gpu ] || echo "MPI: ${has_mpi:-left out: not built, or no mpirun of Open MPI}"
    echo "load average at the start: $(cut -d ' ' -f 1 /proc/loadavg)"
} >"$out/machine.txt"
echo "study,processes,network,delay_us,variant,round,total_ms,communication_ms" >"$out/raw.csv"
: >"$out/commands.txt"
if [ $gpu ]; then
    export WEFT_DEVICE=cuda how="processes of this machine, each on its GPU"
    [ "$(gpu_count)" -gt 1 ] || { trap 'mps_down; rm -rf "$work"' EXIT && mps_up; }
    [ -z "${CUDA_MPS_LOG_DIRECTORY:-}" ] || how="processes that share a GPU under MPS"
fi
status=0 was=
# break 5: within a round, when the time is over.
for ((round = 1; round <= rounds; round++)); do
    for n in "${processes[@]}"; do
        for delay in "${delays[@]}"; do
            [ $gpu ] || far_up "$n" "$delay"
            [ $gpu ] || [ -n "$has_far" ] || { echo "bench: packets cannot be made $delay us late: $how" >&2 && exit 1; }
            [ $gpu ] || { [ "$round,$n" != "1,${processes[0]}" ] && [ "$how" = "$was" ]; } ||
                echo "hosts $delay us away: by $how; a round trip of TCP takes $trip us" >>"$out/machine.txt"
            was=$how
            for net in "${nets[@]}"; do
                for study in stencil planes particles spmv power_iteration; do
                    [ $SECONDS -lt "$seconds" ] || break 5
                    program=${study/planes/stencil}
                    measure $study "$n" "$net" "$delay" weft "$program"
                    measure $study "$n" "$net" "$delay" two-model "$program$suffix"
                    [ "$net" != mpi ] || measure $study "$n" "$net" "$delay" mpi "${program}_mpi"
                done
            done
        done
    done
done
{
    [ ! $gpu ] || echo "hosts: by $how"
    echo "rounds: $((round - 1))$([ "$round" -gt "$rounds" ] || echo " and a part, until the time was over"), in $SECONDS s"
    echo "load average at the end: $(cut -d ' ' -f 1 /proc/loadavg)"
} >>"$out/machine.txt"
draw "$out"
exit $status
