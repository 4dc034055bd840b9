#!/bin/bash
# bench/startup.sh [--page FILE] [--rounds N] BIN_DIR OUT_DIR - start, windows, splits and memory of jobs of 2, 4,
# 8, 16, 32 and 64 processes of this host, on the CPU device (bench_startup); over shm, and with WEFT_NET=ofi over
# TCP. Leaves raw.csv, machine.txt and tables.md in OUT_DIR: medians of the rounds (default 7), and how each grows
# from 2 processes on. To be run on a machine that does nothing else.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
. "$here/support/page.sh"
needs=(weftrun bench_startup)
. "$here/support/begin.sh"

echo "network,round,processes,what,unit,value" >"$out/raw.csv"
for ((round = 1; round <= rounds; round++)); do
    for net in shm ofi; do
        for n in 2 4 8 16 32 64; do
            path=$([ $net = shm ] && echo auto || echo proxy)
            timeout 300 env WEFT_DEVICE=cpu WEFT_NET=$net WEFT_PATH="$path" "WEFT_OFI_PROVIDER=tcp;ofi_rxm" \
                "$bin/weftrun" -n "$n" "$bin/bench_startup" --repeats 20 |
                awk -v head="$net,$round," 'NR > 1 { print head $0 }' >>"$out/raw.csv"
        done
    done
done
{
    machine_lines
    echo "processors: $(nproc)"
    echo "rounds: $rounds; load at the end: $(cut -d' ' -f1 /proc/loadavg)"
} >"$out/machine.txt"
sort -t, -k1,1r -k4,4 -k3,3n -k6,6g "$out/raw.csv" | awk -F, '
    $1 == "network" { next }
    { key = $1 "," $4 "," $5; if (!(key in seen)) { seen[key] = 1; order[++keys] = key }
      value[key, $3, ++count[key, $3]] = $6 }
    function median(key, n,    c) {
        c = count[key, n]
        return c == 0 ? -1 : (value[key, n, int((c + 1) / 2)] + value[key, n, int(c / 2) + 1]) / 2
    }
    END {
        print "| network | what | 2 | 4 | 8 | 16 | 32 | 64 | 64 / 2 |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
        for (k = 1; k <= keys; k++) {
            split(order[k], part, ",")
            printf "| %s | %s, %s |", part[1], part[2], part[3]
            for (n = 2; n <= 64; n *= 2) printf " %.5g |", median(order[k], n)
            printf " %.3g |\n", median(order[k], 64) / median(order[k], 2)
        }
        print ""
    }' >"$out/tables.md"
cat "$out/tables.md"
into_page "$out"
