#!/bin/bash
# test_spmv BIN - the product on grids of 1 to 9 processes equals the serial one, on each path, with few
# and many ranks, for made matrices and for the Debian graph; so in the two-model forms.
set -u

bin=$(cd "${1:?usage: $0 BIN}" && pwd)
data=$(cd "$(dirname "$0")/../../data" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
source "$(dirname "$0")/case_study.sh"

sizes=(--rows 37 --nonzeros 80000 --iterations 6)
for n in 1 2 4 6 9; do
    passes "$n" spmv "${sizes[@]}" --ranks 3
    passes "$n" spmv_net "${sizes[@]}"
    mpi_passes "$n" spmv_mpi "${sizes[@]}"
done
for ranks in 1 5 64; do # 64: more ranks than rows
    passes 4 spmv "${sizes[@]}" --iterations 5 --ranks $ranks
done
for path in direct proxy; do
    WEFT_PATH=$path passes 6 spmv "${sizes[@]}" --ranks 2
    WEFT_PATH=$path passes 6 spmv_net "${sizes[@]}"
done
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

timeout 60 "$bin/spmv" --matrix "$work/missing.mtx" >"$work/out" 2>"$work/err" && fail "a file that is not there"
grep -q "^spmv: cannot open .*missing.mtx" "$work/err" || fail "a file that is not there"
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n' >"$work/bad.mtx"
timeout 60 "$bin/spmv" --matrix "$work/bad.mtx" >"$work/out" 2>"$work/err" && fail "a bad file"
grep -q 'bad.mtx:3: ' "$work/err" || fail "a bad file"
rejects spmv '--nonzeros 1000001 has a value out of range' --nonzeros 1000001
helps spmv --matrix

[ $failures = 0 ] && echo "all passed"
exit $((failures > 0))
