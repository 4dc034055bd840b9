#!/usr/bin/env bash
# bench/remote/run.sh - the experiments with GPUs of other hosts: copies between servers, triangles, products,
# calls, copies to and from the host, managed memory, the first copy, copies beside kernels, samples; then the
# versions of the copy between servers and the grid of its pieces. Two servers run on this machine, over each
# network; the same on this machine's own GPUs comes first.
#
#   bench/remote/run.sh [-d cuda|fake] [-b BUILD] [-n "shm ofi"] [-t SECONDS] [-q]
#
# -d fake: the driver in host memory. It shows that all runs; its times say nothing of GPUs. The default is
# cuda where nvidia-smi finds a GPU. With several GPUs each server has one of its own. With one GPU both
# servers are on it, under MPS, or kernels of the two take turns. -q: small sizes. -t: after so many seconds
# it ends, and says what was left out; what says most comes first. Programs are built by nvcc with its shared
# runtime, unchanged. Status 1 if an experiment failed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
build=$here/../../build
. "$here/../support/gpu.sh"
gpus=$(gpu_count) || true
driver=$([ "$gpus" -gt 0 ] && echo cuda || echo fake)
networks="shm ofi"
limit=0
quick=
while getopts "d:b:n:t:qh" option; do
    case $option in
    d) driver=$OPTARG ;;
    b) build=$OPTARG ;;
    n) networks=$OPTARG ;;
    t) limit=$OPTARG ;;
    q) quick=1 ;;
    *) sed -n '2,14s/^# \{0,1\}//p' "$0" && exit "$([ "$option" = h ]; echo $?)" ;;
    esac
done
[[ $limit =~ ^[0-9]{1,6}$ ]] || { echo "run.sh: -t $limit is no number of seconds" >&2; exit 2; }
build=$(cd "$build" && pwd)
work=$(mktemp -d)
servers=()
trap 'kill "${servers[@]}" 2>/dev/null || true; wait; mps_down; rm -rf "$work"' EXIT

# Programs: PTX alone, which any newer GPU's driver compiles.
nvcc=${CUDACXX:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
# remaining: so many seconds a command may take.
remaining() {
    echo $((limit == 0 ? 600 : limit > SECONDS ? limit - SECONDS : 1))
}
compile() {
    local name=${1%.*}
    shift
    timeout "$(remaining)" "$nvcc" -O2 -cudart shared -gencode arch=compute_75,code=compute_75 -o "$work/$name" "$here/$name".c* "$@"
}
compiling=()
for source in call.c copy.cu empty.cu peers.cu samples.cu triangles.cu; do
    compile "$source" &
    compiling+=($!)
done
if [ "$driver" = cuda ]; then
    compile gemm.cu -lcublas &
    compiling+=($!)
fi
for pid in "${compiling[@]}"; do
    wait "$pid"
done
cc -O2 -D_GNU_SOURCE -pthread -o "$work/sockets" "$here/sockets.c"
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
cuda=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
libraries=$cuda/lib64:$cuda/lib # NVIDIA's, for the servers
list=
for i in 0 1; do # devices 0 and 1 of the program are on different servers
    WEFT_STAGE_MEMORY=128M LD_LIBRARY_PATH=$libraries "$build/bin/weft-gpud" --driver "$gpu" --devices "$((gpus > 1 ? i : 0))" \
        --listen 127.0.0.1:0 --secret-file "$work/secret" >"$work/gpud$i" 2>"$work/gpud$i.err" &
    servers+=($!)
    for _ in $(seq 300); do
        grep -q listening "$work/gpud$i" && break
        sleep 0.1
    done
    list=$list${list:+,}$(sed 's/.* on \([^,]*\),.*/\1/' "$work/gpud$i")
done

# experiment TITLE COMMAND...: as long as there is time. What fails is said, and the next one follows.
failed=0
experiment() {
    local title=$1 got=0
    shift
    if [ "$limit" -gt 0 ] && [ "$SECONDS" -ge "$limit" ]; then
        echo "left out, $limit s are over: $title"
        return
    fi
    printf '\n== %s\n' "$title"
    "$@" || got=$?
    if [ "$got" -eq 124 ] && [ "$limit" -gt 0 ] && [ "$SECONDS" -ge "$limit" ]; then
        echo "ended: $limit s are over"
    elif [ "$got" -ne 0 ]; then
        echo "FAILED: status $got"
        failed=1
    fi
}
# on PLACE COMMAND...: on this machine's own GPUs (local), or on remote ones over that network.
on() {
    local place=$1 time
    shift
    time=$(remaining)
    if [ "$place" != local ]; then
        WEFT_NET=$place timeout "$time" "$build/bin/weft-cuda" run -s "$list" -- "$@"
    elif [ "$driver" = fake ]; then
        WEFT_REMOTE_DRIVER=$gpu LD_LIBRARY_PATH=$build/lib/weft-cuda timeout "$time" "$@"
    else
        LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$libraries timeout "$time" "$@"
    fi
}

sizes="4 1024 16384 65536 204800 307200 1048576 4194304 16777216 67108864"
grid_sizes="262144 1048576 4194304 16777216 67108864" first=695000000 peers=64 small="16 17" large="19 20 21"
counts="2 4 8 16 32 64" pieces="64K 128K 256K 512K 1M 2M 4M 8M" beside=16777216
if [ "$quick" ]; then
    sizes="4 65536 1048576" grid_sizes="65536 4194304" first=8000000 peers=1 small=10 large=11 counts="2 8" pieces="64K 1M"
    beside=1048576
fi

# From its start to its end; a server has a session warm again after a while.
empty() {
    local begun
    for _ in 1 2 3; do
        [ "$1" = local ] || sleep 2
        begun=$(date +%s%N)
        on "$1" "$work/empty" || return
        echo "$((($(date +%s%N) - begun) / 1000)) us"
    done
}
open_sessions() {
    local begun
    for _ in 1 2 3; do
        sleep 2
        begun=$(date +%s%N)
        WEFT_NET=$1 "$build/bin/weft-cuda" list -s "$list" >/dev/null || return
        echo "two servers: $((($(date +%s%N) - begun) / 1000)) us"
    done
}
triangles() {
    local place=$1 devices
    shift
    for devices in 1 2; do
        on "$place" "$work/triangles" -d $devices "$@" || return
    done
}
version() {
    WEFT_REMOTE_PIPE=$2 on "$1" "$work/copy" peer $sizes
}
grid() {
    local piece count
    for piece in $pieces; do
        for count in $counts; do
            printf '%-10s' "${count}x$piece"
            WEFT_REMOTE_PIPE=once:${count}x$piece on "$1" "$work/copy" peer $grid_sizes >"$work/grid" || return
            awk 'NR > 1 { printf " %12s", $2 } END { print "" }' "$work/grid"
        done
    done
}

for place in local $networks; do
    for n in 4 1; do
        [ "$place" != ofi ] || experiment "$place, which is TCP on most hosts: a program with plain sockets, $n of them" "$work/sockets" $n $sizes
    done
    experiment "$place: between two devices (figures 12, 13, 17)" on "$place" "$work/copy" peer $sizes
    [ "$place" = local ] || experiment "$place: between servers, through host memory" version "$place" auto
    experiment "$place: between two devices, with peer access" on "$place" "$work/copy" access $sizes
    [ "$place" = local ] && [ "$gpus" -lt 2 ] ||
        experiment "$place: kernels that use the other device's memory" on "$place" "$work/peers" "$peers"
    [ "$driver" = fake ] || [ "$gpus" -lt 2 ] ||
        experiment "$place: two kernels that take turns" on "$place" "$work/peers" turns 1000
    for n in $small; do
        experiment "$place: triangles, -r $n, 1 and 2 devices (tables 3 and 7, figure 19)" triangles "$place" -r "$n"
    done
    experiment "$place: an empty kernel's program, from its start to its end" empty "$place"
    [ "$driver" = fake ] || experiment "$place: products" on "$place" "$work/gemm" 128 4096
    experiment "$place: what a call costs" on "$place" "$work/call"
    experiment "$place: copies to and from the host; through the program, without a pipeline" on "$place" "$work/copy" host $sizes
    experiment "$place: managed memory" on "$place" "$work/copy" managed $sizes
    experiment "$place: the first copy and the second (tables 5 and 6)" on "$place" "$work/copy" first $first
    experiment "$place: a copy beside kernels" on "$place" "$work/copy" beside $beside
    [ "$place" = local ] || experiment "$place: opening a session" open_sessions "$place"
done
for n in $large; do
    for place in local $networks; do
        experiment "$place: triangles, -r $n, 1 and 2 devices" triangles "$place" -r "$n"
    done
done
for place in $networks; do
    for pipe in each:1xall once:1xall once:8x256K; do
        experiment "$place: between servers, $pipe (figures 6, 9, 15, 16; table 2)" version "$place" $pipe
    done
done
for place in local $networks; do
    experiment "$place: triangles of Debian's packages, compared with the processor" triangles "$place" -c "$here/../../data/debian-depends.mtx"
    experiment "$place: samples" on "$place" "$work/samples"
done
for place in $networks; do
    experiment "$place: pieces (tables of the buffer study): microseconds by bytes of the copy" grid "$place"
done
if [ "$driver" = cuda ]; then
    experiment "building a program with thrust" compile thrust.cu
    for place in $networks; do
        experiment "$place: thrust" on "$place" "$work/thrust"
    done
fi
exit $failed
