#!/bin/bash
# test_stencil BIN - the stencil equals its serial form on 1 to 9 processes, on each path, with few and
# many rows a rank, and so do its two-model forms; bad options give one line and a failure.
set -u
source "$(dirname "$0")/case_study.sh"

sizes=(--nx 17 --rows 7 --nz 3 --iterations 13)
forms stencil "${sizes[@]}"
for ranks in 1 2 7; do # a rank's rows: 14, 7 and 2; some with the rows of both neighbours in them
    passes 2 stencil --nx 33 --rows 14 --nz 4 --iterations 30 --ranks $ranks
done
paths 4 stencil "${sizes[@]}" --ranks 2
paths 4 stencil "${sizes[@]}" --ranks 2 --message-a-plane 1
# Rows so short that a thread holds them, of many planes and of few, as the many threads of a GPU do: a
# rank's rows are computed by marching through them, or stay in its shared memory.
paths 4 stencil --nx 3 --nz 9 --rows 41 --iterations 30 --ranks 4
for rows in 5 41; do
    paths 4 stencil --nx 1 --nz 7 --rows $rows --iterations 30
    paths 4 stencil --nx 1 --nz 6 --rows $rows --iterations 30 --message-a-plane 1
done
paths 4 stencil_net "${sizes[@]}"
passes 2 stencil --nx 2 --rows 1 --nz 1 --iterations 9 --seed 7 --repetitions 3
passes 1 stencil --rows 1 --iterations 9

# A run of one form is the run of another: lines for scripts.
run stencil --csv --repetitions 2 --iterations 3
[ "$(grep -c '^stencil,weft,cpu,1,' "$work/out")" = 2 ] || fail "--csv --repetitions 2"

rejects stencil '--rows 0 has a value out of range' --rows 0
rejects stencil '--nx 2000: a row has at most 1664 points here' --nx 2000
rejects stencil 'a plane of 4 GiB has' --nx 60000 --rows 100000
rejects stencil '--row=3 is not an option' --row=3
rejects stencil '--preset large has a bad value' --preset large
rejects stencil '--seed needs a value' --seed
rejects stencil_net '--csv=1 takes no value' --csv=1
helps stencil --nz
helps stencil_net --nz

finish
