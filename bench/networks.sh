#!/bin/bash
# bench/networks.sh [--rounds N] BIN_DIR OUT_DIR - weft's networks alone, between two processes of
# this host, as dCUDA measured its network managers: 4 B to 1 MiB back and forth, data and notice in
# one message, and in two. shm; ofi and mpi over TCP on the loopback interface; mpi as Open MPI
# chooses here; MPI_Send and MPI_Recv beside them. One run, on the same two processors, in turns.
# Leaves raw.csv, table.txt, machine.txt and commands.txt in OUT_DIR.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
needs=(weftrun bench_network mpi_latency_send)
. "$here/support/begin.sh"

weft=(taskset -c "$cores" "$bin/weftrun" -n 2 "$bin/bench_network")
mpirun=(mpirun --cpu-list "$cores" --bind-to cpu-list:ordered -n 2)
tcp=(--mca pml ob1 --mca btl "self,tcp" --mca btl_tcp_if_include lo)
names=("shm" "ofi, tcp" "mpi, tcp" "mpi" "MPI_Send, tcp" "MPI_Send")

# measure NAME FORM COMMAND...
measure() {
    local name=$1 form=$2 from=4
    shift 2
    local command=("$@" --to 1048576 --repeats 2000)
    [ "$form" = - ] && from=8 || command+=(--form "$form")
    command+=(--from $from)
    [ "$round" -gt 1 ] || echo "$name: ${command[*]//"$bin"/BIN}" >>"$out/commands.txt"
    limited 300 "${command[@]}"
    awk -v prefix="$name;$form;$round;" -F, 'NR > 1 { print prefix $1 ";" $3 }' "$out/last.txt" >>"$out/raw.csv"
}

tcp_machine_lines >"$out/machine.txt"
echo "network;messages;round;bytes;us" >"$out/raw.csv"
: >"$out/commands.txt"
for ((round = 1; round <= rounds; round++)); do
    for form in one two; do
        measure "shm" $form env WEFT_NET=shm "${weft[@]}"
        measure "ofi, tcp" $form env WEFT_NET=ofi "WEFT_OFI_PROVIDER=tcp;ofi_rxm" "${weft[@]}"
        measure "mpi, tcp" $form env WEFT_NET=mpi "${mpirun[@]}" "${tcp[@]}" "$bin/bench_network"
        measure "mpi" $form env WEFT_NET=mpi "${mpirun[@]}" "$bin/bench_network"
    done
    measure "MPI_Send, tcp" - "${mpirun[@]}" "${tcp[@]}" "$bin/mpi_latency_send"
    measure "MPI_Send" - "${mpirun[@]}" "$bin/mpi_latency_send"
done
rm "$out/last.txt" "$out/last.err"
echo "load average at the end: $(cut -d ' ' -f 1 /proc/loadavg)" >>"$out/machine.txt"

# Medians over the rounds; two / one: of a round, then their median.
awk -F';' -v names="$(IFS='|' && echo "${names[*]}")" -v rounds="$rounds" '
NR > 1 {
    v[$1, $2, $4, $3] = $5 + 0
    if (!($4 in seen)) { seen[$4] = 1; size[++sizes] = $4 }
}
function middle(name, form, s, below,    r, i, x, n, list) {
    for (r = 1; r <= rounds; r++) {
        if (!((name, form, s, r) in v)) continue
        x = v[name, form, s, r] / (below == "" ? 1 : v[name, below, s, r])
        for (i = ++n; i > 1 && list[i - 1] > x; i--) list[i] = list[i - 1]
        list[i] = x
    }
    return n == 0 ? -1 : (list[int((n + 1) / 2)] + list[int(n / 2) + 1]) / 2
}
END {
    print "us one way, data and notice in one message / in two: medians of " rounds " rounds"
    count = split(names, name, "|")
    printf "%9s", "bytes"
    for (k = 1; k <= count; k++) printf "  %18s", name[k]
    print ""
    for (i = 1; i <= sizes; i++) {
        s = size[i]
        printf "%9d", s
        for (k = 1; k <= count; k++) {
            plain = middle(name[k], "-", s, "")
            if (name[k] ~ /^MPI_/) printf "  %18s", plain < 0 ? "-" : sprintf("%.2f", plain)
            else printf "  %18s", sprintf("%.2f / %.2f", middle(name[k], "one", s, ""), middle(name[k], "two", s, ""))
        }
        print ""
    }
}' "$out/raw.csv" >"$out/table.txt"
cat "$out/machine.txt"
echo
cat "$out/table.txt"
