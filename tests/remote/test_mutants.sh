#!/usr/bin/env bash
# test_mutants BUILD SEEDS [PATTERN] - is each order and each check of remote needed, and would we notice if
# one were gone? Labels of order/order.h are weakened in random mode, over at most so many seeds of a random
# program. With 100 seeds or more each mutant of mutants.txt (whose line the pattern matches) is built, too, by
# ninja, and its test has to fail.
set -u
build=$1 seeds=$2 pattern=${3-.}
here=$(cd "$(dirname "$0")" && pwd)
remote=$here/../../remote
tests=$build/bin/tests
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

for label in gate go done record_post record_take; do
    seed=1
    while [ $seed -le "$seeds" ] &&
        WEFT_MUTATE=$label WEFT_CPU_SCHEDULE=random:$seed timeout 300 "$tests/test_remote_order" 2 300 $seed >"$work/log" 2>&1; do
        seed=$((seed + 1))
    done
    [ $seed -le "$seeds" ] && echo "$label: noticed on seed $seed" || fail "$label is not noticed on $seeds seeds"
done

# made_by TARGET - by which ninja makes it.
made_by() {
    ninja -C "$build" -t commands "$1" | tail -1
}

# mutant FILE OLD NEW PROGRAM ARGUMENTS... - builds it, and runs its test.
mutant() {
    local file=$remote/$1 old=$2 new=$3 program=$4 text compile link
    shift 3
    text=$(cat "$file")
    [[ $text == *"$old"* ]] || { fail "$file does not have: $old" && return; }
    printf '%s\n' "${text/"$old"/"$new"}" >"$work/mutant.c"
    compile=$(made_by "CMakeFiles/weft_remote.dir/remote/${file#"$remote"/}.o" | sed "s| -MD.*| -w -o $work/mutant.o -c $work/mutant.c|")
    link=$(made_by "bin/tests/$program" | sed "s| -o bin/tests/$program | -o $work/$program $work/mutant.o |")
    (cd "$build" && eval "$compile" && eval "$link") >"$work/log" 2>&1 || { fail "$file: $new: $(tail -3 "$work/log")" && return; }
    local more='' how='' seeds=1
    [ "$kind" != random ] || seeds=60
    for seed in $(seq $seeds); do
        [ $seeds -eq 1 ] || { how=WEFT_CPU_SCHEDULE=random:$seed && more=$seed; }
        # shellcheck disable=SC2086
        (cd "$tests" && exec timeout 300 env $how "$work/$@" $more) >"$work/log" 2>&1 && continue
        echo "${file#"$remote"/}: $old -> $new: noticed by $program"
        return
    done 2>/dev/null
    fail "$file: $old -> $new is not noticed by $*"
}

if [ "$seeds" -ge 100 ] && [ -f "$build/build.ninja" ]; then
    grep -v '^#' "$here/mutants.txt" | grep -e "$pattern" >"$work/list"
    while IFS= read -r line; do
        line=${line//\\|/$'\1'}
        IFS='|' read -r file old new run kind <<<"$line"
        # shellcheck disable=SC2086
        mutant "$file" "${old//$'\1'/|}" "${new//$'\1'/|}" $run </dev/null
    done <"$work/list"
fi
[ "$failures" -eq 0 ] && echo "all good"
exit $((failures != 0))
