#!/bin/bash
# test_spmv BIN - the product on grids of 1 to 9 processes equals the serial one, on each path, with few
# and many ranks, for made matrices and for the Debian graph; so in the two-model forms.
set -u
source "$(dirname "$0")/case_study.sh"

sizes=(--rows 37 --nonzeros 80000 --iterations 6)
forms spmv "${sizes[@]}"
for ranks in 1 5 64; do # 64: more ranks than rows
    passes 4 spmv "${sizes[@]}" --iterations 5 --ranks $ranks
done
paths 6 spmv "${sizes[@]}" --ranks 2
paths 6 spmv_net "${sizes[@]}"
for program in spmv spmv_net; do
    passes 4 $program --matrix "$data/debian-depends.mtx" --iterations 4
done
passes 3 spmv --rows 5 --nonzeros 1000000 --iterations 3 --repetitions 2
passes 2 spmv --rows 9 --nonzeros 1 --iterations 3 # nothing in it, most likely
# Fewer rows than processes and ranks, and one that is full.
printf '%%%%MatrixMarket matrix coordinate real general\n2 5 6\n1 1 .5\n1 2 1\n1 3 2\n1 4 3\n1 5 4\n2 5 1\n' \
    >"$work/flat.mtx"
passes 6 spmv --matrix "$work/flat.mtx" --iterations 3 --ranks 3
passes 6 spmv_net --matrix "$work/flat.mtx" --iterations 3

fails '^spmv: cannot open .*missing.mtx' spmv --matrix "$work/missing.mtx"
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n' >"$work/bad.mtx"
fails 'bad.mtx:3: ' spmv --matrix "$work/bad.mtx"
rejects spmv '--nonzeros 1000001 has a value out of range' --nonzeros 1000001
helps spmv --matrix

finish
