#!/bin/bash
# test_power_two_model BIN - the two-model forms of power_iteration equal the serial result on grids of 1
# to 9 processes, and power_iteration makes the same matrices and repeats itself.
set -u
source "$(dirname "$0")/case_study.sh"

# Values of both signs: nothing converges, so what goes wrong is not forgotten.
sizes=(--rows 37 --nonzeros 80000 --iterations 21)
own+=(--tolerance 0 --repetitions 2)
forms power_iteration "${sizes[@]}"
WEFT_PATH=proxy passes 6 power_iteration_net "${sizes[@]}"
passes 4 power_iteration_net --matrix "$data/debian-depends.mtx" --iterations 10
passes 6 power_iteration_net --rows 1 --nonzeros 1000000 --iterations 5 # fewer rows than processes

run weftrun -n 2 "$bin/power_iteration" "${sizes[@]}" --tolerance 0 --csv --repetitions 3
[ "$(grep -c '^power_iteration,weft,cpu,2,.*,21,[123],[0-9.]*,$' "$work/out")" = 3 ] ||
    fail "power_iteration --csv --repetitions 3"
[ "$(wc -l <"$work/out")" = 4 ] || fail "--csv prints more than lines"

printf '%%%%MatrixMarket matrix coordinate pattern general\n2 3 0\n' >"$work/flat.mtx"
fails '^power_iteration_net: .*not square' power_iteration_net --matrix "$work/flat.mtx"

finish
