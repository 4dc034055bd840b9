#!/usr/bin/env bash
# bench/pgas.sh - the address space and tasks on the CPU device: what a block costs, a task, and the
# plate of apps/stencil2d in all variants, one place and two of which one is slow; an unbalanced tree.
# Prints tables, with what was wanted where something was.
#
#   bench/pgas.sh BIN_DIR [-r ROUNDS] [-q]
#
# BIN_DIR: where the programs are (build/bin). ROUNDS: medians of so many (default 5). -q: small sizes,
# one round: whether all runs.
set -eu

bin=${1-}
[ $# -gt 0 ] && shift
rounds=5
quick=
while getopts "r:qh" option; do
    case $option in
    r) rounds=$OPTARG ;;
    q) quick=1 rounds=1 ;;
    *) sed -n '2,10s/^# \{0,1\}//p' "$0" && exit "$([ "$option" = h ]; echo $?)" ;;
    esac
done
[[ $rounds =~ ^[1-9][0-9]?$ ]] || { echo "pgas.sh: -r $rounds is not in 1..99" >&2 && exit 2; }
[ -d "$bin" ] || { echo "pgas.sh: BIN_DIR is missing; -h says more" >&2 && exit 2; }
needs=(weftrun bench_alloc bench_tasks stencil2d uts)
. "$(dirname "$0")/support/two.sh"

# median COMMAND... - of what it prints, one number each time.
median() {
    for _ in $(seq "$rounds"); do "$@"; done | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}
# of_csv NUMBER COMMAND... - the third column of that line.
of_csv() {
    local line=$1
    shift
    "$@" | sed -n "$((line + 1))p" | cut -d, -f3
}
# iteration ARGUMENTS... - milliseconds of an iteration of stencil2d, by weftrun.
iteration() {
    "$bin/weftrun" "$@" | sed -n 's/.*: \([0-9.]*\) ms an iteration/\1/p'
}
# judge VALUE most|least WANTED
judge() {
    awk -v v="$1" -v how="$2" -v w="$3" 'BEGIN { print (how == "most" ? v <= w : v >= w) ? "met" : "MISSED" }'
}
ratio() {
    awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'
}

echo "machine: $(nproc) processors, $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1); weft at $(
    git -C "$(dirname "$0")" rev-parse --short HEAD 2>/dev/null || echo unknown); medians of $rounds"

echo
echo "a block taken and given back, us (wanted: 0.5 by a host program, 0.3 each call by a rank)"
printf '%10s %12s %12s %12s %12s\n' bytes host "16 ranks" malloc weft_malloc
for bytes in 256 4096 65536 1048576; do
    line=$(printf '%10s' $bytes)
    for form in local kernel malloc weft_malloc; do
        us=$(WEFT_RANKS=16 median of_csv 1 "$bin/bench_alloc" --form $form --from $bytes --to $bytes \
            --repeats $([ "$quick" ] && echo 200 || echo 20000))
        line+=$(printf ' %12s' "$us")
        [ $form != local ] || local_us=$us
    done
    echo "$line  host: $(judge "$local_us" most 0.5)"
done

echo
echo "a task that does nothing, us"
tasks=$([ "$quick" ] && echo 2000 || echo 200000)
for form in indexed host spawn; do
    us=$(median of_csv 1 "$bin/bench_tasks" --form $form --repeats $tasks)
    case $form in
    indexed) wanted=0.1 ;;
    *) wanted=0.6 ;;
    esac
    printf '%10s %10s  wanted %s: %s\n' $form "$us" $wanted "$(judge "$us" most $wanted)"
done

echo
echo "stencil2d, one place, ms an iteration"
printf '%10s %10s %10s %10s   %s\n' N omp ranks tasks "omp/tasks (wanted 0.95)"
for n in $([ "$quick" ] && echo 300 || echo 1000 2000 4000); do
    for variant in omp ranks tasks; do
        printf -v "$variant" %s "$(median iteration "$bin/stencil2d" --variant $variant -N $n --iterations 10)"
    done
    share=$(ratio "$omp" "$tasks")
    printf '%10s %10s %10s %10s   %s: %s\n' $n "$omp" "$ranks" "$tasks" "$share" "$(judge "$share" least 0.95)"
done

echo
echo "two places of one worker each, place 1 does the work four times, 40 tiles of whole rows: ms an iteration"
n=$([ "$quick" ] && echo 400 || echo 4000)
export WEFT_CPU_WORKERS=1
for variant in static dynamic; do
    printf -v "$variant" %s "$(median iteration -n 2 "$bin/stencil2d" --variant $variant -N $n --way 40 \
        --slow 1:4 --iterations 10)"
done
share=$(ratio "$static" "$dynamic")
echo "N = $n: static $static, dynamic $dynamic: $share (ideal 2.5, wanted 1.9): $(judge "$share" least 1.9)"

echo
"$bin/weftrun" -n 2 "$bin/uts" --tree geometric $([ "$quick" ] && echo --depth 6) --verify
