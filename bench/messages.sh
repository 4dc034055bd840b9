#!/bin/bash
# bench/messages.sh [--rounds N] BIN_DIR OUT_DIR - messages between two host programs of this host, 8 B
# to 4 MiB: weft's calls, the same MPI program on weft's MPI, on Open MPI and, where it is installed, on
# MPICH; latency and bandwidth by shared memory, latency over TCP on the loopback interface. One run, on
# the same two processors, in turns; all check contents. Then how long a message of 16 MiB takes after
# 20 ms of computing. Leaves raw.csv, table.txt, machine.txt and commands.txt in OUT_DIR.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
needs=(weftrun bench_msg weftmpi_latency_send weftmpi_bandwidth_send mpi_latency_send mpi_bandwidth_send)
. "$here/support/begin.sh"

weft=(env WEFT_CPU_BIND=on taskset -c "$cores" "$bin/weftrun" -n 2)
ofi=(env WEFT_NET=ofi "WEFT_OFI_PROVIDER=tcp;ofi_rxm" WEFT_PATH=proxy "${weft[@]:1}")
ompi=("$(command -v mpirun.openmpi || command -v mpirun)" --cpu-list "$cores" --bind-to cpu-list:ordered -n 2)
mpich=(taskset -c "$cores" mpirun.mpich -n 2)
tcp=(--mca pml ob1 --mca btl "self,tcp" --mca btl_tcp_if_include lo)
has_mpich=
[ ! -x "$bin/mpich_latency_send" ] || ! command -v mpirun.mpich >/dev/null || has_mpich=1

# measure KIND SERIES COMMAND...
measure() {
    local kind=$1 series=$2 repeats=20000
    [ "$kind" != bandwidth ] || repeats=500
    shift 2
    [ "$round" -gt 1 ] || echo "$kind, $series: ${*//"$bin"/BIN}" >>"$out/commands.txt"
    if ! timeout 300 "$@" --to 4194304 --repeats "$repeats" >"$out/last.txt" 2>"$out/last.err"; then
        echo "bench: this failed: $*" >&2
        cat "$out/last.txt" "$out/last.err" >&2
        exit 1
    fi
    awk -v prefix="$kind;$series;$round;" -F, 'NR > 1 { print prefix $1 ";" $3 }' "$out/last.txt" >>"$out/raw.csv"
}

{
    date -u +'date: %Y-%m-%d %H:%M UTC'
    echo "commit: $(git -C "$here" describe --always --dirty 2>/dev/null || echo unknown)"
    echo "kernel: $(uname -srm)"
    echo "Open MPI: $("${ompi[0]}" --version | head -n 1)"
    [ -z "$has_mpich" ] || echo "MPICH: $(mpirun.mpich --version | awk '/Version/ { print $2; exit }')"
    echo "cores used: $cores of $allowed"
    echo "rounds: $rounds"
    echo "load average at the start: $(cut -d ' ' -f 1 /proc/loadavg)"
} >"$out/machine.txt"
echo "kind;series;round;bytes;value" >"$out/raw.csv"
: >"$out/commands.txt"
: >"$out/overlap.txt"
for ((round = 1; round <= rounds; round++)); do
    for kind in latency bandwidth; do
        measure $kind "weft" "${weft[@]}" "$bin/bench_msg" --form $kind
        measure $kind "weft MPI" "${weft[@]}" "$bin/weftmpi_${kind}_send"
        measure $kind "Open MPI" "${ompi[@]}" "$bin/mpi_${kind}_send"
        [ -z "$has_mpich" ] || measure $kind "MPICH" "${mpich[@]}" "$bin/mpich_${kind}_send"
    done
    measure tcp "weft" "${ofi[@]}" "$bin/bench_msg" --form latency
    measure tcp "weft MPI" "${ofi[@]}" "$bin/weftmpi_latency_send"
    measure tcp "Open MPI" "${ompi[@]}" "${tcp[@]}" "$bin/mpi_latency_send"
    "${weft[@]}" "$bin/bench_msg" --form overlap >>"$out/overlap.txt"
done
rm "$out/last.txt" "$out/last.err"
echo "load average at the end: $(cut -d ' ' -f 1 /proc/loadavg)" >>"$out/machine.txt"

# Medians over the rounds. The last column: weft over the best MPI of a round, then their median.
awk -F';' -v rounds="$rounds" '
NR > 1 {
    v[$1, $2, $4, $3] = $5 + 0
    has[$1, $2] = 1
    if (!($4 in seen)) { seen[$4] = 1; size[++sizes] = $4 }
}
function median(    i, j, x) {
    for (i = 2; i <= n; i++) {
        x = list[i]
        for (j = i; j > 1 && list[j - 1] > x; j--) list[j] = list[j - 1]
        list[j] = x
    }
    return n == 0 ? -1 : (list[int((n + 1) / 2)] + list[int(n / 2) + 1]) / 2
}
function best(kind, s, r,    a, b) {
    a = v[kind, "Open MPI", s, r]
    if (!((kind, "MPICH", s, r) in v)) return a
    b = v[kind, "MPICH", s, r]
    return (kind == "bandwidth") == (a > b) ? a : b
}
function table(kind, title,    k, i, s, r) {
    print title
    printf "%9s", "bytes"
    for (k = 1; k <= 4; k++) if ((kind, name[k]) in has) printf "  %10s", name[k]
    print "  weft/best"
    for (i = 1; i <= sizes; i++) {
        s = size[i]
        printf "%9d", s
        for (k = 1; k <= 4; k++) {
            if (!((kind, name[k]) in has)) continue
            for (n = 0; n < rounds;) { n++; list[n] = v[kind, name[k], s, n] }
            printf "  %10.2f", median()
        }
        for (n = 0; n < rounds;) { n++; list[n] = v[kind, "weft", s, n] / best(kind, s, n) }
        printf "  %9.2f\n", median()
    }
    print ""
}
END {
    split("weft|weft MPI|Open MPI|MPICH", name, "|")
    table("latency", "us one way, shared memory: medians of " rounds " rounds")
    table("bandwidth", "MB/s, windows of 64, shared memory")
    table("tcp", "us one way, TCP on the loopback interface")
}' "$out/raw.csv" >"$out/table.txt"
sort "$out/overlap.txt" | awk '{ line[NR] = $0 } END { print "16 MiB into 20 ms of computing: " line[int((NR + 1) / 2)] }' >>"$out/table.txt"
rm "$out/overlap.txt"
cat "$out/machine.txt"
echo
cat "$out/table.txt"
