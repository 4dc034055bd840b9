#!/bin/bash
# test_power_iteration BIN - the application on grids of processes equals its serial reference, gives
# known answers, repeats to the bit, and turns bad input into one line and a failure. With
# WEFT_TESTS_FULL=1 each grid with each number of ranks; else with two of them.
set -u
full=${WEFT_TESTS_FULL-}
unset WEFT_TESTS_FULL
source "$(dirname "$0")/case_study.sh"

# prints N PATTERN ARGS...: runs, and a line must match the pattern.
prints()
{
    local n=$1 pattern=$2
    shift 2
    passes "$n" power_iteration "$@"
    grep -Eq "$pattern" "$work/out" || fail "no line '$pattern' from power_iteration on $n $*"
}

# random NAME N SHIFT: a matrix of order N with values in SHIFT .. SHIFT + 1.
random()
{
    awk -v n="$2" -v shift="$3" 'BEGIN {
        srand(4); print "%%MatrixMarket matrix coordinate real general"; print n, n, 8 * n
        for (i = 0; i < 8 * n; i++) print 1 + int(rand() * n), 1 + int(rand() * n), rand() + shift
    }' >"$work/$1"
}

header='%%MatrixMarket matrix coordinate' # an argument of printf, not a format

# Equal to the serial result. Values of both signs give a complex pair, which never converges: a
# converging iteration forgives what went wrong early, this one does not. No grid divides 37 or 211,
# and the order 3 is smaller than the number of ranks.
random spin.mtx 37 -0.5
random flow.mtx 211 0
printf '%s real symmetric\n3 3 3\n1 1 2\n2 2 -5\n3 2 1\n' "$header" >"$work/three.mtx"
for grid in 1x1 1x2 2x1 2x2 2x3 3x2 5x1 3x3; do
    n=$((${grid%x*} * ${grid#*x}))
    for ranks in ${full:+1 2} 5 16; do
        on=(--grid "$grid" --ranks "$ranks")
        passes $n power_iteration --matrix "$work/spin.mtx" "${on[@]}" --iterations 40
        passes $n power_iteration --matrix "$work/flow.mtx" "${on[@]}" --pagerank 0.85 --iterations 40
        passes $n power_iteration --matrix "$work/three.mtx" "${on[@]}" --iterations 10
    done
done
paths 6 power_iteration --matrix "$work/spin.mtx" --ranks 5 --iterations 40

# Uneven work: one row with all entries, most of another matrix in three rows and columns, which are
# split among the ranks, and blocks without entries.
awk -v h="$header" 'BEGIN { srand(5); n = 211; print h, "real general"; print n, n, n
    for (j = 1; j <= n; j++) print 100, j, rand() + (j == 100) }' >"$work/row.mtx"
awk -v h="$header" 'BEGIN { srand(6); n = 211; print h, "real general"; print n, n, 6 * n
    for (i = 1; i <= n; i++)
        for (hub = 3; hub <= 203; hub += 100) { print hub, i, rand() - 0.5; print i, hub, rand() - 0.5 }
    }' >"$work/hubs.mtx"
awk -v h="$header" 'BEGIN { n = 211; print h, "pattern general"; print n, n, 70 * 70
    for (i = 1; i <= 70; i++) for (j = 1; j <= 70; j++) print i, j }' >"$work/corner.mtx"
for grid in 1x1 1x2 2x1 2x2 2x3 3x2 5x1 3x3; do
    n=$((${grid%x*} * ${grid#*x}))
    for ranks in 1 3 ${full:+9}; do
        for matrix in row hubs corner; do
            passes $n power_iteration --matrix "$work/$matrix.mtx" --grid "$grid" --ranks $ranks --iterations 30
            [ $matrix = hubs ] || passes $n power_iteration --matrix "$work/$matrix.mtx" --grid "$grid" \
                --ranks $ranks --iterations 30 --pagerank 0.85
        done
    done
done
paths 6 power_iteration --matrix "$work/hubs.mtx" --ranks 5 --iterations 40
# ... and on random schedules.
run tests/test_power_iteration_local --seeds 1:10 --local 4 --matrix "$work/hubs.mtx" --ranks 3 --iterations 9
judge "hubs.mtx on random schedules" $?

# Fewer rows than grid columns: whole devices without elements of b, which stop with the others.
printf '%s real general\n2 2 4\n1 1 1\n1 2 2\n2 1 3\n2 2 1\n' "$header" >"$work/two.mtx"
for grid in 1x6 2x4 6x1 4x2; do
    on=(--grid "$grid" --ranks 2 --matrix "$work/two.mtx")
    passes $((${grid%x*} * ${grid#*x})) power_iteration "${on[@]}"
    passes $((${grid%x*} * ${grid#*x})) power_iteration "${on[@]}" --tolerance 0 --iterations 20
done

# Known answers: the complete graph of 5, a negative eigenvalue, and PageRank with a dangling row
# (r1 = r2 / 4 + 1/4, r1 + r2 = 1).
printf '%s pattern symmetric\n5 5 10\n2 1\n3 1\n4 1\n5 1\n3 2\n4 2\n5 2\n4 3\n5 3\n5 4\n' \
    "$header" >"$work/complete.mtx"
prints 4 '^dominant eigenvalue: 4$' --matrix "$work/complete.mtx"
prints 2 '^dominant eigenvalue: -5\.19258240357$' --matrix "$work/three.mtx"
printf '%s integer general\n2 2 1\n2 1 9\n' "$header" >"$work/link.mtx"
prints 2 '^rank: 1 2 0\.6$' --matrix "$work/link.mtx" --pagerank 0.5 --top 2
prints 2 '^dominant eigenvalue: 0$' --matrix "$work/link.mtx"
prints 4 '^dominant eigenvalue: 180\.038047737$' --matrix "$data/debian-depends.mtx" --symmetrize
prints 4 '^rank: 1 libc6 0\.157884' --matrix "$data/debian-depends.mtx" \
    --names "$data/debian-depends.names" --pagerank 0.85 --top 10
[ "$(grep -c '^rank: ' "$work/out")" = 10 ] || fail "--top 10 does not give 10 lines"

# Without a matrix: the small preset, which options change.
prints 3 '^iterations: 9,'
prints 3 '^iterations: 4,' --iterations 4 --ranks 2
WEFT_RANKS=20 prints 1 'processes of 20 ranks$'
WEFT_RANKS=3 prints 1 'processes of 3 ranks$' --ranks 5

# The same bits again: every printed digit of every element.
for run in 1 2; do
    passes 6 power_iteration --matrix "$work/flow.mtx" --ranks 5 --top 211 --iterations 30
    grep -E '^(rank|dominant|check)' "$work/out" >"$work/bits$run"
done
cmp -s "$work/bits1" "$work/bits2" || fail "two runs differ"

bad()
{
    printf '%b' "$2" >"$work/bad.mtx"
    rejects power_iteration "bad\.mtx:$1" --matrix "$work/bad.mtx"
}
bad '4: the row 9 is not in' "$header pattern general\n3 3 2\n1 1\n9 1\n"
bad '4: .*1 of 2 entries' "$header pattern general\n% short\n3 3 2\n1 1\n"
bad '1: .*array' '%%MatrixMarket matrix array real general\n1 1\n1\n'
bad ' 2 rows and 3 columns: not square' "$header pattern general\n2 3 0\n"
rejects power_iteration 'cannot open' --matrix "$work/missing.mtx"
rejects power_iteration 'needs 6 processes, not 3' --matrix "$work/flow.mtx" --grid 2x3
rejects power_iteration "bad value '1.5'" --matrix "$work/flow.mtx" --pagerank 1.5
printf 'one\n' >"$work/few"
rejects power_iteration 'few:1: only 1 names for 211 rows' --matrix "$work/flow.mtx" --names "$work/few"
# A file without line ends, which has no end either.
rejects power_iteration '/dev/zero:1: a zero byte' --matrix /dev/zero
rejects power_iteration '/dev/zero:1: a zero byte' --matrix "$work/flow.mtx" --names /dev/zero
bad '2: the line is longer than' "$header pattern general\n%$(printf '%05000d' 0)\n"
printf '%05000d' 0 >"$work/few"
rejects power_iteration 'few:1: the line is longer than' --matrix "$work/flow.mtx" --names "$work/few"

helps power_iteration --symmetrize

# A reader that leaves early is no error; an output that cannot be written is one.
{
    timeout 300 "$bin/weftrun" -n 2 "$bin/power_iteration" --matrix "$work/flow.mtx" --top 211 2>"$work/err"
    echo $? >"$work/out"
} | head -n 1 >/dev/null
if [ "$(cat "$work/out")" != 0 ] || [ -s "$work/err" ]; then
    fail "power_iteration with a reader that leaves"
fi
if [ -c /dev/full ]; then
    timeout 300 "$bin/power_iteration" --matrix "$work/flow.mtx" >/dev/full 2>"$work/err" &&
        fail "power_iteration with a full output: status 0"
    grep -q 'standard output could not be written' "$work/err" &&
        grep -q 'standard output refused .* that ranks logged: No space left' "$work/err" ||
        fail "power_iteration with a full output"
fi
timeout 300 "$bin/power_iteration" --matrix "$work/flow.mtx" >&- 2>"$work/err"
[ $? = 1 ] && grep -q 'standard output could not be written' "$work/err" || fail "power_iteration without an output"

finish
