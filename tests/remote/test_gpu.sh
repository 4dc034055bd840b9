#!/usr/bin/env bash
# test_gpu.sh BUILD GPUS - on a machine with GPUs: programs over its driver and over two weft-gpud, on GPU 0
# both where there is one, and over one that has two GPUs. For tools/gpu-check; under MPS kernels of the two
# servers run at once.
set -u
build=$1 gpus=$2
bin=$build/bin
tests=$bin/tests
root=$(cd "$(dirname "$0")/../.." && pwd)
here=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null; wait; rm -rf "$here"' EXIT
failures=0

# expect NAME TEXT COMMAND... - ends well and says that text.
expect() {
    local name=$1 text=$2 out got
    shift 2
    out=$(timeout 300 "$@" 2>&1)
    got=$?
    if [ $got -ne 0 ] || ! grep -qF -- "$text" <<<"$out"; then
        printf 'FAILED %s: status %s, not 0 and "%s":\n%s\n' "$name" $got "$text" "$(tail -n 20 <<<"$out")"
        failures=$((failures + 1))
    else
        printf '%s: %s\n' "$name" "$(grep -F -- "$text" <<<"$out" | head -1)"
    fi
}

umask 077
head -c 32 /dev/urandom | base64 >"$here/secret"
export WEFT_REMOTE_SECRET_FILE=$here/secret
cuda=${CUDA_HOME:-/usr/local/cuda}
libraries=$cuda/lib64:$cuda/lib # NVIDIA's, for the servers
# server DEVICES - starts a daemon; its address is in $address.
server() {
    local i=${#pids[@]}
    LD_LIBRARY_PATH=$libraries "$bin/weft-gpud" --driver cuda --devices "$1" --listen 127.0.0.1:0 --secret-file "$here/secret" \
        >"$here/$i.out" 2>"$here/$i.err" &
    pids+=($!)
    for _ in $(seq 300); do
        grep -q listening "$here/$i.out" && break
        sleep 0.1
    done
    address=$(sed 's/.* on \([^,]*\),.*/\1/' "$here/$i.out")
}
server 0
one=$address
server $((gpus > 1))
servers=$one,$address
near=
[ "$gpus" -lt 2 ] || { server 0,1 && near=$address; }
image=$tests/suite_kernels.fatbin

expect driver ' 0 failed' "$tests/test_remote_suite" cuda "$image"
for net in shm ofi; do
    run=(env WEFT_NET=$net "$bin/weft-cuda" run -s)
    expect list.$net 'device 0' env WEFT_NET=$net "$bin/weft-cuda" list -s "$servers"
    expect static.$net 'Test PASSED' "${run[@]}" "$servers" -- "$tests/vector_add_static"
    expect shared.$net 'Test PASSED' "${run[@]}" "$servers" -- "$tests/vector_add_shared"
    expect suite.$net ' 0 failed' env WEFT_NET=$net WEFT_REMOTE_SERVERS="$one" "$tests/test_remote_suite" remote "$image"
    expect suite.two.$net ' 0 failed' env WEFT_NET=$net WEFT_REMOTE_SERVERS="$servers" "$tests/test_remote_suite" remote "$image"
    expect reach.$net ' 0 failed' env WEFT_NET=$net WEFT_REMOTE_SERVERS="$servers" "$tests/test_remote_reach" servers 2 1
    [ -z "$near" ] ||
        expect suite.near.$net ' 0 failed' env WEFT_NET=$net WEFT_REMOTE_SERVERS="$near" "$tests/test_remote_suite" remote "$image"
    if [ -x "$tests/remote_blas" ]; then # cuBLAS, cuSOLVER, cuFFT, cuRAND, cuSPARSE, cuBLASLt
        expect blas.$net 'blas: 2 devices, 0 wrong' "${run[@]}" "$servers" -- "$tests/remote_blas"
        "${run[@]}" "$servers" -- "$tests/remote_blas" 2>/dev/null | grep 'not at the server' | sort -u | sed 's/^/NOT TESTED /'
    else
        echo 'NOT TESTED libraries: not built, since a header of one was not found'
    fi
    expect own.$net 'Test PASSED' "${run[@]}" "$servers" -- "$tests/vector_add_own"
    expect samples.$net 'peer: passed' "${run[@]}" "$servers" -- "$tests/remote_samples"
    expect peers.$net ' 0 wrong' "${run[@]}" "$servers" -- "$tests/remote_peers" 16
    [ "$gpus" -lt 2 ] || expect turns.$net ' 0 wrong' "${run[@]}" "$servers" -- "$tests/remote_peers" turns 1000
    [ -z "$near" ] || expect peers.near.$net ' 0 wrong' "${run[@]}" "$near" -- "$tests/remote_peers" 16
    expect speak.$net 'line 40026 of the host' "${run[@]}" "$servers" -- "$tests/remote_speak"
    for pipe in auto each:1xall once:1xall once:8x256K; do
        expect triangles.$net.$pipe '384212 triangles' env WEFT_REMOTE_PIPE=$pipe "${run[@]}" "$servers" -- \
            "$tests/remote_triangles" -c "$root/data/debian-depends.mtx"
    done
done
grep -h . "$here"/*.err | head -20
[ "$failures" -eq 0 ] && echo "all good"
exit $((failures != 0))
