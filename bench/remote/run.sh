#!/usr/bin/env bash
# bench/remote/run.sh - the experiments with GPUs of other hosts: what calls cost, copies to and from the
# host, the versions of the copy between servers and the grid of its pieces, the first copy, copies beside
# kernels, samples, triangles. Two servers run on this machine, over each network.
#
#   bench/remote/run.sh [-d cuda|fake] [-b BUILD] [-n "shm ofi"] [-q]
#
# -d fake: the driver in host memory. It shows that all runs; its times say nothing of GPUs. The default is
# cuda where nvidia-smi finds a GPU. With several GPUs each server has one of its own. With one GPU both
# servers are on it, under MPS, or kernels of the two take turns. -q: small sizes. Programs are built
# by nvcc with its shared runtime, unchanged.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$here/../../build
. "$here/../support/gpu.sh"
gpus=$(gpu_count) || true
driver=$([ "$gpus" -gt 0 ] && echo cuda || echo fake)
networks="shm ofi"
quick=
while getopts "d:b:n:qh" option; do
    case $option in
    d) driver=$OPTARG ;;
    b) build=$OPTARG ;;
    n) networks=$OPTARG ;;
    q) quick=1 ;;
    *) sed -n '2,11s/^# \{0,1\}//p' "$0" && exit "$([ "$option" = h ]; echo $?)" ;;
    esac
done
build=$(cd "$build" && pwd)
work=$(mktemp -d)
servers=()
trap 'kill "${servers[@]}" 2>/dev/null || true; wait; mps_down; rm -rf "$work"' EXIT

# Programs: PTX alone, which any newer GPU's driver compiles.
nvcc=${CUDACXX:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
programs="call.c copy.cu samples.cu triangles.cu"
[ "$driver" = fake ] || programs+=" thrust.cu"
for source in $programs; do
    "$nvcc" -O2 -cudart shared -gencode arch=compute_75,code=compute_75 -o "$work/${source%.*}" "$here/$source"
done
gpu=cuda
if [ "$driver" = fake ]; then
    gpus=1
    cc -O2 -shared -fPIC -D_GNU_SOURCE -I"$here/../.." -I"$here/../../tests/remote" -I"$here/../../include" \
        -I"$(dirname "$(dirname "$(readlink -f "$nvcc")")")/include" -o "$work/kernels.so" "$here/kernels_host.c"
    gpu=$build/bin/tests/fake_driver.so
    export FAKE_DRIVER=devices=1,memory=4G,kernels=$work/kernels.so
fi

if [ "$driver" = fake ]; then
    echo "driver: fake, in host memory: NOT a GPU; the times below say nothing of one"
else
    echo "driver: cuda, on $(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | sort | uniq -c | xargs)"
    [ "$gpus" -gt 1 ] || mps_up || echo "no MPS: kernels of the two servers take turns on the GPU"
fi
echo "host: $(nproc) processors; weft at $(git -C "$here" rev-parse --short HEAD 2>/dev/null || echo unknown)"

(umask 077 && head -c 32 /dev/urandom | base64 >"$work/secret")
export WEFT_REMOTE_SECRET_FILE=$work/secret
list=
for i in 0 1; do # devices 0 and 1 of the program are on different servers
    WEFT_STAGE_MEMORY=128M "$build/bin/weft-gpud" --driver "$gpu" --devices "$((gpus > 1 ? i : 0))" \
        --listen 127.0.0.1:0 --secret-file "$work/secret" >"$work/gpud$i" 2>"$work/gpud$i.err" &
    servers+=($!)
    for _ in $(seq 300); do
        grep -q listening "$work/gpud$i" && break
        sleep 0.1
    done
    list=$list${list:+,}$(sed 's/.* on \([^,]*\),.*/\1/' "$work/gpud$i")
done

# remote SERVERS COMMAND..., local COMMAND...: the same program on remote GPUs, and on this machine's own.
remote() {
    local where=$1
    shift
    timeout 600 "$build/bin/weft-cuda" run -s "$where" -- "$@"
}
local_gpu() {
    if [ "$driver" = fake ]; then
        WEFT_REMOTE_DRIVER=$gpu LD_LIBRARY_PATH=$build/lib/weft-cuda timeout 600 "$@"
    else
        timeout 600 "$@"
    fi
}
title() {
    printf '\n== %s\n' "$*"
}

sizes="4 1024 16384 65536 204800 307200 1048576 4194304 16777216 67108864"
grid_sizes="262144 1048576 4194304 16777216 67108864" first=695000000 logn="16 19" counts="2 4 8 16 32 64"
pieces="64K 128K 256K 512K 1M 2M 4M 8M"
[ -z "$quick" ] || { sizes="4 65536 1048576"; grid_sizes="65536 4194304"; first=8000000; logn=10; counts="2 8"; pieces="64K 1M"; }
debian=$here/../../data/debian-depends.mtx

title "local: calls; host copies; copy on the device (figure 17); first and second copy; triangles (table 7)"
local_gpu "$work/call"
local_gpu "$work/copy" host $sizes
local_gpu "$work/copy" peer $sizes
local_gpu "$work/copy" managed $sizes
local_gpu "$work/copy" first $first
local_gpu "$work/triangles" -d 1 -c "$debian"
for n in $logn; do
    local_gpu "$work/triangles" -d 1 -r "$n"
done
for net in $networks; do
    export WEFT_NET=$net
    title "$net: what a call costs"
    remote "${list%,*}" "$work/call"
    title "$net: copies to and from the host; through the program, without a pipeline"
    remote "$list" "$work/copy" host $sizes
    title "$net: managed memory"
    remote "${list%,*}" "$work/copy" managed $sizes
    for pipe in each:1xall once:1xall once:8x256K auto; do
        title "$net: between servers, $pipe (figures 6, 9, 12, 13, 15, 16; table 2)"
        WEFT_REMOTE_PIPE=$pipe remote "$list" "$work/copy" peer $sizes
    done
    title "$net: pieces (tables of the buffer study): microseconds by bytes of the copy"
    for piece in $pieces; do
        for count in $counts; do
            printf '%-10s' "${count}x$piece"
            WEFT_REMOTE_PIPE=once:${count}x$piece remote "$list" "$work/copy" peer $grid_sizes |
                awk 'NR > 1 { printf " %12s", $2 } END { print "" }'
        done
    done
    title "$net: the first copy and the second (tables 5 and 6)"
    remote "$list" "$work/copy" first $first
    title "$net: a copy beside kernels"
    remote "$list" "$work/copy" beside 16777216
    title "$net: samples"
    remote "$list" "$work/samples"
    [ "$driver" = fake ] || remote "$list" "$work/thrust"
    title "$net: triangles, 1 and 2 devices (tables 3 and 7, figure 19)"
    remote "$list" "$work/triangles" -c "$debian"
    for n in $logn; do
        for devices in 1 2; do
            remote "$list" "$work/triangles" -d $devices -r "$n"
        done
    done
done
title "opening a session"
for _ in 1 2 3; do
    begun=$(date +%s%N)
    "$build/bin/weft-cuda" list -s "$list" >/dev/null
    echo "two servers: $((($(date +%s%N) - begun) / 1000)) us"
done
