#!/bin/bash
# bench/run.sh [--rounds N] [--output DIR] BIN_DIR OUT_DIR - weft and Open MPI on the same two cores,
# in turns. --output overrides OUT_DIR.
#
# Every round runs every system once, so that what disturbs the machine disturbs all of them, and
# ratios are taken within a round. Leaves in OUT_DIR: raw.csv (every number), summary.csv (median,
# lowest, highest), table.txt (what the terminal shows), machine.txt, commands.txt, and the plots.
set -euo pipefail

usage() {
    echo "usage: bench/run.sh [--rounds N] [--output DIR] BIN_DIR OUT_DIR"
    exit "$1"
}

rounds=5
output=
while [[ ${1:-} == -* ]]; do
    case $1 in
    --rounds)
        [[ ${2:-} =~ ^[1-9][0-9]{0,3}$ ]] || usage 2 >&2
        rounds=$2
        ;;
    --output)
        [ -n "${2:-}" ] || usage 2 >&2
        output=$2
        ;;
    -h | --help) usage 0 ;;
    *) usage 2 >&2 ;;
    esac
    shift 2
done
[ $# -eq 2 ] || usage 2 >&2
here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "$1" && pwd)
output=${output:-$2}
mkdir -p "$output"
out=$(cd "$output" && pwd)

for tool in mpirun gnuplot taskset lscpu; do
    command -v $tool >/dev/null || { echo "bench: $tool is not installed" >&2; exit 1; }
done
needs=(weftrun bench_{latency,bandwidth,barrier} peer_line mpi_{latency,bandwidth}_{send,put} mpi_barrier)
. "$here/support/two.sh"

weft=(env WEFT_CPU_BIND=on taskset -c "$cores" "$bin/weftrun" -n 2) # bound, as mpirun binds
mpi=(mpirun --cpu-list "$cores" --bind-to cpu-list:ordered -n 2)
mpi_many=(taskset -c "$cores" mpirun --bind-to none --oversubscribe --mca mpi_yield_when_idle 1)
# Open MPI's two-sided messages at their best here: eager up to 32 KiB, and copied twice through
# shared memory; its default, one copy by process_vm_readv, is slower for all above 2 KiB.
two_sided=(--mca pml ob1 --mca btl "self,vader" --mca btl_vader_eager_limit 32768
    --mca btl_vader_single_copy_mechanism none --mca btl_vader_max_send_size 131072)
one_sided=(--mca osc sm) # the default is osc/rdma

# measure NAME SERIES COMMAND... - one run; its lines go to raw.csv as
# measure,series,round,size,repeats,value.
measure() {
    local name=$1 series=$2
    shift 2
    if [ "$round" -eq 1 ]; then
        echo "$name, $series: ${*//"$bin"/BIN}" >>"$out/commands.txt"
    fi
    if [ -t 2 ]; then
        printf '\r\033[Kround %d of %d: %s, %s' "$round" "$rounds" "$name" "$series" >&2
    fi
    limited 600 "$@"
    awk -v prefix="$name,$series,$round," 'NR > 1 { print prefix $0 }' "$out/last.txt" \
        >>"$out/raw.csv"
}

latency() {
    measure latency "cache line" taskset -c "$cores" "$bin/peer_line"
    measure latency "weft direct" env WEFT_PATH=direct "${weft[@]}" "$bin/bench_latency"
    measure latency "MPI two-sided" "${mpi[@]}" "${two_sided[@]}" "$bin/mpi_latency_send"
    measure latency "MPI one-sided" "${mpi[@]}" "${one_sided[@]}" "$bin/mpi_latency_put"
    measure latency "weft proxy" env WEFT_PATH=proxy "${weft[@]}" "$bin/bench_latency" \
        --repeats 2000
    measure latency "MPI two-sided default" "${mpi[@]}" "$bin/mpi_latency_send"
    measure latency "MPI one-sided default" "${mpi[@]}" "$bin/mpi_latency_put"
}

bandwidth() {
    measure bandwidth "weft direct" env WEFT_PATH=direct "${weft[@]}" "$bin/bench_bandwidth" \
        --repeats 4000
    measure bandwidth "MPI two-sided" "${mpi[@]}" "${two_sided[@]}" "$bin/mpi_bandwidth_send" \
        --repeats 4000
    measure bandwidth "MPI one-sided" "${mpi[@]}" "${one_sided[@]}" "$bin/mpi_bandwidth_put" \
        --repeats 4000
    measure bandwidth "weft proxy" env WEFT_PATH=proxy "${weft[@]}" "$bin/bench_bandwidth" \
        --repeats 400
    measure bandwidth "MPI two-sided default" "${mpi[@]}" "$bin/mpi_bandwidth_send" --repeats 4000
    measure bandwidth "MPI one-sided default" "${mpi[@]}" "$bin/mpi_bandwidth_put" --repeats 4000
}

barriers() {
    measure barrier "weft 2 processes" "${weft[@]}" "$bin/bench_barrier" --ranks 2
    measure barrier "MPI" "${mpi[@]}" "$bin/mpi_barrier"
    measure barrier "weft 2 processes" "${weft[@]}" "$bin/bench_barrier" --repeats 500
    measure barrier "weft 1 process" taskset -c "$cores" "$bin/bench_barrier" --repeats 500
    # Starting 208 processes takes longer than all the rest of a round.
    if [ "$round" -le 3 ]; then
        measure barrier "MPI" "${mpi_many[@]}" -n 208 "$bin/mpi_barrier" --repeats 20
    fi
}

{
    machine_lines
    echo "libc: $(getconf GNU_LIBC_VERSION)"
    echo "mpi: $(mpirun --version | head -n 1)"
    echo "cores used: $cores of $allowed"
    echo "rounds: $rounds"
    echo "load average at the start: $(cut -d ' ' -f 1 /proc/loadavg)"
    lscpu | grep -E '^(CPU\(s\)|Thread|Core|Socket|L[123]|Hypervisor)'
} >"$out/machine.txt"
echo "measure,series,round,size,repeats,value" >"$out/raw.csv"
: >"$out/commands.txt"

for ((round = 1; round <= rounds; round++)); do
    latency
    bandwidth
    barriers
done
[ ! -t 2 ] || printf '\r\033[K' >&2
rm "$out/last.txt" "$out/last.err"

awk -v summary="$out/summary.csv" -f "$here/median.awk" -f "$here/rows.awk" -f "$here/report.awk" "$out/raw.csv" >"$out/table.txt"
for format in png svg; do
    gnuplot -c "$here/plot.gp" "$out" $format
done
cat "$out/machine.txt"
echo
cat "$out/table.txt"
echo
echo "all of it in $out: raw.csv, summary.csv, table.txt, commands.txt, *.png, *.svg"
