#!/bin/bash
# bench/ofi.sh [--rounds N] BIN_DIR OUT_DIR - a notified put between two processes over TCP on the
# loopback interface, 8 B to 4 MiB: between ranks, with weft over ofi; weft's network ofi alone; a
# bare ping-pong of fi_writedata over the same provider (the floor); Open MPI with its TCP transport
# only. One run, on the same two processors, in turns. Leaves raw.csv, table.txt, machine.txt and commands.txt in OUT_DIR.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
needs=(weftrun bench_latency bench_network ofi_floor mpi_latency_send mpi_latency_put)
. "$here/support/begin.sh"

weft=(env WEFT_NET=ofi "WEFT_OFI_PROVIDER=tcp;ofi_rxm" WEFT_PATH=proxy WEFT_CPU_BIND=on
    taskset -c "$cores" "$bin/weftrun" -n 2)
mpi=(mpirun --cpu-list "$cores" --bind-to cpu-list:ordered -n 2 --mca pml ob1 --mca btl "self,tcp"
    --mca btl_tcp_if_include lo --mca osc pt2pt) # ucx and sm would take shared memory
sizes=(--to 4194304 --repeats 20000)

measure() {
    local series=$1
    shift
    [ "$round" -gt 1 ] || echo "$series: ${*//"$bin"/BIN}" >>"$out/commands.txt"
    limited 300 "$@" "${sizes[@]}"
    awk -v prefix="latency,$series,$round," 'NR > 1 { print prefix $0 }' "$out/last.txt" >>"$out/raw.csv"
}

tcp_machine_lines >"$out/machine.txt"
echo "measure,series,round,size,repeats,value" >"$out/raw.csv"
: >"$out/commands.txt"
for ((round = 1; round <= rounds; round++)); do
    measure floor taskset -c "$cores" "$bin/ofi_floor"
    measure "network" "${weft[@]}" "$bin/bench_network"
    measure "weft" "${weft[@]}" "$bin/bench_latency"
    measure "MPI send" "${mpi[@]}" "$bin/mpi_latency_send"
    measure "MPI put" "${mpi[@]}" "$bin/mpi_latency_put"
done
rm "$out/last.txt" "$out/last.err"
echo "load average at the end: $(cut -d ' ' -f 1 /proc/loadavg)" >>"$out/machine.txt"

# Medians; ratios within a round, then their median.
awk -F, '
NR > 1 {
    v[$2, $4, $3] = $6 + 0
    if (!($4 in seen)) { seen[$4] = 1; size[++sizes] = $4 }
    if ($3 + 0 > rounds) rounds = $3 + 0
}
function collect(series, s, below,    r, i, x) {
    n = 0
    for (r = 1; r <= rounds; r++) {
        if (!((series, s, r) in v)) continue
        x = v[series, s, r]
        if (below != "") x /= v[below, s, r]
        for (i = ++n; i > 1 && list[i - 1] > x; i--) list[i] = list[i - 1]
        list[i] = x
    }
    return (list[int((n + 1) / 2)] + list[int(n / 2) + 1]) / 2
}
END {
    print "Notified put over TCP loopback, one way, us: medians of " rounds " rounds; ratios within a round."
    print "network: weft'"'"'s ofi without ranks and their host threads. Targets: network to the floor at"
    print "most 1.15 at 8 B, weft to MPI put at most 0.6."
    printf "%9s %9s %9s %9s %9s %9s   %9s %9s %9s %9s\n", "bytes", "floor", "network", "weft", "MPI send",
        "MPI put", "net/floor", "weft/flr", "weft/send", "weft/put"
    for (i = 1; i <= sizes; i++) {
        s = size[i]
        printf "%9d %9.1f %9.1f %9.1f %9.1f %9.1f   %9.2f %9.2f %9.2f %9.2f\n", s, collect("floor", s, ""),
            collect("network", s, ""), collect("weft", s, ""), collect("MPI send", s, ""),
            collect("MPI put", s, ""), collect("network", s, "floor"), collect("weft", s, "floor"),
            collect("weft", s, "MPI send"), collect("weft", s, "MPI put")
    }
}' "$out/raw.csv" >"$out/table.txt"
cat "$out/machine.txt"
echo
cat "$out/table.txt"
