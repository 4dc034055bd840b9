#!/bin/bash
# test_examples BIN - the examples print their usage, and refuse any argument, once for a job, and too few
# processes; a result that cannot be written is an error, as is a job that cannot be opened. What they
# compute, matrix.txt lets them check.
set -u
source "$(dirname "$0")/case_study.sh"

# cannot_write EXAMPLE ARGS... >OUTPUT: it fails, and says why.
cannot_write()
{
    timeout 300 "$bin/$1" "${@:2}" 2>"$work/err"
    [ $? = 1 ] && grep -q 'standard output could not be written' "$work/err"
}

for example in collectives get halo host_window reduction reduction_two_level ring; do
    helps $example "weftrun -n N\] $example "
    rejects $example '--bogus is not an option' --bogus
    run $example x
    [ $? = 2 ] || fail "$example x: not status 2"
    WEFT_DEVICE=nothing run $example && fail "$example succeeds without a job"
    [ ! -c /dev/full ] || cannot_write $example >/dev/full || fail "$example >/dev/full"
    cannot_write $example >&- || fail "$example >&-"
done
for example in messages matrix_vector; do
    run $example
    [ $? = 2 ] && grep -qE "^$example: needs (2|two) processes" "$work/err" || fail "$example alone"
done
for path in direct proxy; do
    timeout 300 "$bin/weftrun" -n 3 "$bin/get" --weft-PATH=$path >"$work/out" 2>&1
    grep -qE '^get: 3 processes, [0-9]+ ranks: all sums right$' "$work/out" || fail "get, $path"
done
[ ! -c /dev/full ] || cannot_write ring --help >/dev/full || fail "ring --help >/dev/full"

finish
