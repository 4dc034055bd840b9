#!/usr/bin/env bash
# bench/pgas.sh [--page FILE] [--rounds N] BIN_DIR OUT_DIR - the figures 4 to 13 of Zhou and Fürlinger
# (DART-CUDA, ISPDC 2015) on the CPU device, in this library's own form: blocks and segments, gets and
# puts beside memcpy and MPI, the plate of apps/stencil2d beside OpenMP and, where it was built, StarPU;
# tasks that do nothing; two places of which one is slow, or has all tasks; an unbalanced tree.
#
# Leaves raw.csv, tables.md, machine.txt and commands.txt in OUT_DIR. --page puts tables and machine into
# a page, between its lines "<!-- tables -->" and "<!-- end of tables -->". Ends after so many rounds
# (default 5), or before the first that would not fit into ten minutes.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
. "$here/support/page.sh"
[ "${1:-}" = --rounds ] || set -- --rounds 5 "$@"
needs=(weftrun bench_alloc bench_get bench_tasks stencil2d uts)
. "$here/support/begin.sh"

weftrun=(taskset -c "$cores" "$bin/weftrun" -n)
one=(taskset -c "${cores%%,*}")
ompi=("$(command -v mpirun.openmpi || command -v mpirun || echo none)" --cpu-list "$cores" --bind-to cpu-list:ordered -n 2)

# go COMMAND...: its output in $out/last.txt; what fails ends the script.
go() {
    [ "$round" -gt 1 ] || echo "${*//"$bin"/BIN}" >>"$out/commands.txt"
    if ! timeout 120 "$@" >"$out/last.txt" 2>"$out/last.err"; then
        echo "bench: this failed: $*" >&2
        cat "$out/last.txt" "$out/last.err" >&2
        exit 1
    fi
}
# measure KIND SERIES COMMAND...: lines of size, repetitions, value.
measure() {
    go "${@:3}"
    awk -v start="$1,$2,$round," -F, 'NR > 1 { print start $1 "," $3 }' "$out/last.txt" >>"$out/raw.csv"
}
# iteration KIND SERIES X COMMAND...: milliseconds of an iteration of the plate.
iteration() {
    go "${@:4}"
    echo "$1,$2,$round,$3,$(sed -n 's/.*: \([0-9.]*\) ms an iteration/\1/p' "$out/last.txt")" >>"$out/raw.csv"
}

memory() {
    local n form
    for n in 1 2 4 8 16; do
        measure local $n env WEFT_HEAP=64M "${weftrun[@]}" $n "$bin/bench_alloc" --form local --from 64 --to 16777216 --repeats 20000
        measure team $n env WEFT_HEAP=64M "${weftrun[@]}" $n "$bin/bench_alloc" --form team --from 64 --to 16777216 --repeats 200
    done
    measure local kernel env WEFT_RANKS=16 "${weftrun[@]}" 1 "$bin/bench_alloc" --form kernel --from 64 --to 4194304 --repeats 2000
    measure local malloc "$bin/bench_alloc" --form malloc --from 64 --to 16777216 --repeats 2000
    for form in local malloc weft_malloc; do
        measure native $form "$bin/bench_alloc" --form $form --from 64 --to 16777216 --repeats 500
    done
}

access() {
    local form sizes=(--from 8 --to 16777216 --repeats 2000)
    for form in rank_get rank_put host_get host_put handle_get handle_put memcpy; do
        measure direct $form env WEFT_PATH=direct "${weftrun[@]}" 2 "$bin/bench_get" --form $form "${sizes[@]}"
    done
    for form in host_get host_put; do
        measure direct "$form own" "${one[@]}" "$bin/bench_get" --form $form "${sizes[@]}"
    done
    for form in rank_get rank_put host_get host_put; do
        measure proxy $form env WEFT_PATH=proxy "${weftrun[@]}" 2 "$bin/bench_get" --form $form "${sizes[@]}"
    done
    [ ! -x "$bin/mpi_rma" ] || for form in get put; do
        measure direct "mpi $form" "${ompi[@]}" "$bin/mpi_rma" --form $form "${sizes[@]}"
    done
    # Figure 12: the same puts, of rows of N doubles.
    awk -F, -v OFS=, -v r="$round" '$3 == r && $4 >= 4096 && $4 <= 262144 && $2 ~ /^host_put/ {
        if ($1 == "direct") print "row", $2, r, $4 / 8, $5
        if ($1 == "proxy") print "row", "proxy", r, $4 / 8, $5 }' "$out/raw.csv" >"$out/last.txt"
    cat "$out/last.txt" >>"$out/raw.csv"
}

tasks() {
    local form n way times variant
    for form in indexed host spawn; do
        go "$bin/bench_tasks" --form $form --repeats 200000
        echo "task,weft,$round,$form,$(sed -n 2p "$out/last.txt" | cut -d, -f3)" >>"$out/raw.csv"
    done
    if [ -x "$bin/stencil2d_starpu" ]; then
        go env STARPU_SILENT=1 "$bin/stencil2d_starpu" --empty 100000
        echo "task,starpu,$round,host,$(sed -n 's/^empty starpu: \([0-9.]*\).*/\1/p' "$out/last.txt")" >>"$out/raw.csv"
    fi
    for n in 500 1000 2000 4000; do
        iteration plate omp $n "$bin/stencil2d" --variant omp -N $n --iterations 40
        iteration plate ranks $n "$bin/stencil2d" --variant ranks -N $n --iterations 40
        iteration plate tasks $n "$bin/stencil2d" --variant tasks -N $n --iterations 40
        iteration plate rows $n "$bin/stencil2d" --variant tasks -N $n --way 40 --iterations 40
        [ ! -x "$bin/stencil2d_starpu" ] ||
            iteration plate starpu $n env STARPU_SILENT=1 "$bin/stencil2d_starpu" -N $n --way 40 --iterations 40
    done
    n=4000
    for times in 4 9; do
        iteration slow even $times env WEFT_CPU_WORKERS=1 "${weftrun[@]}" 2 "$bin/stencil2d" --variant static -N $n --way 40 --iterations 40
        for variant in static dynamic; do
            iteration slow $variant $times env WEFT_CPU_WORKERS=1 "${weftrun[@]}" 2 "$bin/stencil2d" --variant $variant -N $n --way 40 --slow 1:$times --iterations 40
        done
    done
    for n in 1000 4000; do
        for way in 5 10 20; do
            iteration imbalance alone "$n-$way" env WEFT_STEAL=off WEFT_CPU_WORKERS=1 "${weftrun[@]}" 2 "$bin/stencil2d" --variant imbalance -N $n --way $way --iterations 40
            iteration imbalance imbalance "$n-$way" env WEFT_CPU_WORKERS=1 "${weftrun[@]}" 2 "$bin/stencil2d" --variant imbalance -N $n --way $way --iterations 40
        done
    done
}

{
    machine_lines
    echo "Open MPI: $([ ! -x "$bin/mpi_rma" ] && echo 'not built' || "${ompi[0]}" --version | head -n 1)"
    echo "StarPU: $([ ! -x "$bin/stencil2d_starpu" ] && echo 'not built' || pkg-config --modversion starpu-1.3)"
    echo "cores used: $cores of $allowed"
    echo "load average at the start: $(cut -d ' ' -f 1 /proc/loadavg)"
} >"$out/machine.txt"
echo "kind,series,round,x,value" >"$out/raw.csv"
: >"$out/commands.txt"
longest=0
for ((round = 1; round <= rounds && SECONDS + longest < 570; round++)); do
    began=$SECONDS
    memory
    access
    tasks
    [ $((SECONDS - began)) -le $longest ] || longest=$((SECONDS - began))
done
go "${weftrun[@]}" 2 "$bin/uts" --tree geometric --verify
{
    awk -f "$here/median.awk" -f "$here/rows.awk" -f "$here/pgas.awk" "$out/raw.csv"
    printf '\n### An unbalanced tree\n\n```\n%s\n```\n' "$(cat "$out/last.txt")"
} >"$out/tables.md"
rm "$out/last.txt" "$out/last.err"
echo "rounds: $((round - 1)), of at most $longest s" >>"$out/machine.txt"
echo "load average at the end: $(cut -d ' ' -f 1 /proc/loadavg)" >>"$out/machine.txt"
cat "$out/machine.txt" "$out/tables.md"
into_page "$out"
