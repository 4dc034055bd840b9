#!/usr/bin/env bash
# nvcc keeps all of a kernel of many calls (tests/device/test_large.c): each of its steps, and what
# comes after the last. Without a GPU: its PTX says so. Exits with 77 where there is no nvcc.
set -u
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
nvcc=$(command -v nvcc || command -v /usr/local/cuda/bin/nvcc) || exit 77
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

"$nvcc" -ptx -x cu -arch=compute_90 -std=c++17 -O3 -I"$root"/{include,src,tests} \
    "$root/tests/device/test_large.c" -o "$scratch/large.ptx" || exit 1
failures=0
steps=$(grep -c '^    STEP(' "$root/tests/device/test_large.c")
[ "$steps" -ge 12 ] || { echo "the kernel has $steps steps"; exit 1; }
for ((step = 0; step <= steps; step++)); do
    grep -qw $((77077000 + step)) "$scratch/large.ptx" && continue
    echo "step $step of $steps is not in the PTX of the kernel"
    failures=1
done
exit $failures
