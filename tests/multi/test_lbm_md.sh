#!/bin/bash
# test_lbm_md BIN - the two programs of messages on 1 to 8 processes, on each path and over ofi, with
# every message eager and none, and over each MPI: the fluids bit by bit as one process makes them, the
# particles' forces as the sum over all pairs. With WEFT_TESTS_FULL=1 also Laplace's law, and a
# temperature that is kept.
set -u
full=${WEFT_TESTS_FULL-}
unset WEFT_TESTS_FULL
source "$(dirname "$0")/case_study.sh"

drop=(--nx 9 --ny 12 --nz 11 --iterations 31)
cloud=(--iterations 60)
for n in 1 2 3 8; do
    passes $n lbm_msg "${drop[@]}"
    passes $n lbm_double "${drop[@]}" --pieces 1
    passes $n md_double "${cloud[@]}" --nve 0
done
passes 4 md_msg "${cloud[@]}"
for app in lbm md; do
    paths 4 ${app}_msg --iterations 20
    WEFT_MSG_EAGER=0 WEFT_MSG_EAGER_NET=0 paths 2 ${app}_double --iterations 20
    WEFT_MSG_EAGER=32K WEFT_MSG_EAGER_NET=32K paths 2 ${app}_double --iterations 20
    passes 2 ${app}_weftmpi --iterations 20
    mpi_passes 2 ${app}_mpi --iterations 20
    if "$bin/weft-info" | grep -qw ofi; then
        WEFT_NET=ofi WEFT_PATH=proxy passes 4 ${app}_msg --iterations 20
    fi
    helps ${app}_msg --iterations
done
passes 2 md_double --iterations 300
passes 2 lbm_msg --nx 5 --ny 3 --nz 2 --radius 1 --iterations 9 --repetitions 2
rejects lbm_msg '--nz 2 is less than a plane for each of 3 processes' --nz 2
fails 'a process.s box would be 3\.6[0-9] wide, and ghosts need 3\.80' weftrun -n 3 "$bin/md_msg" --particles 500
if [ -n "$full" ]; then
    limit=400
    passes 2 lbm_msg --nx 32 --ny 32 --nz 32 --radius 8 --iterations 4000
    passes 2 md_double --particles 4096 --nve 1 --iterations 1000
    passes 2 md_msg --preset thesis
fi

finish
