#!/bin/bash
# test_examples BIN - the examples print their usage, and refuse any argument, once for a job; what they
# compute, matrix.txt lets them check.
set -u
source "$(dirname "$0")/case_study.sh"

for example in halo host_window reduction reduction_two_level ring; do
    helps $example "weftrun -n N\] $example "
    rejects $example '--bogus is not an option' --bogus
    run $example x
    [ $? = 2 ] || fail "$example x: not status 2"
done

"$bin/ring" --help >/dev/full 2>/dev/null && fail "ring --help on a full disk: status 0"

finish
