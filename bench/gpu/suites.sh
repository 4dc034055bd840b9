# gpu/suites.sh - suites of tools/gpu-bench: what ranks send, and collectives; sourced after run.sh.

latency() {
    run same weft $bin/bench_gpu_latency --same
    run same floor $peers/floor same
    run same floor1 $peers/floor same --threads 1 --to 64
    run host floor $peers/host_trip --repeats 100000
    [ "$gpus" -gt 1 ] || return
    weft_job peer weft auto $bin/bench_gpu_latency
    run peer floor $peers/floor peer
    run peer floor1 $peers/floor peer --threads 1 --to 64
    nvshmem peer nvshmem nvshmem latency
    nvshmem peer nvshmem1 nvshmem latency --threads 1 --to 64
    weft_job proxy weft proxy $bin/bench_gpu_latency --repeats 2000
}

errand() {
    run errand weft $bin/bench_gpu_errand --repeats 20000
    run errand floor $peers/errand --repeats 20000
}

get() {
    run get_same weft $bin/bench_gpu_get --same --to 65536 --repeats 10000
    if [ "$gpus" -gt 1 ]; then
        weft_job get_peer weft auto $bin/bench_gpu_get --to 65536 --repeats 10000
        nvshmem get_peer nvshmem nvshmem get --to 65536 --repeats 10000
    fi
    weft_job get_proxy weft proxy $bin/bench_gpu_get --to 65536 --repeats 1000
}

# So many threads need a program of their own.
threads() {
    local t program=$bin/bench_gpu_latency
    for t in 32 128 256 1024; do
        local options=(--threads $t --repeats 10000)
        [ $t -lt 1024 ] || program=$bin/bench_gpu_latency_1024
        run same weft$t $program --same "${options[@]}"
        run same floor$t $peers/floor same "${options[@]}"
        [ "$gpus" -gt 1 ] || continue
        weft_job peer weft$t auto $program "${options[@]}"
        run peer floor$t $peers/floor peer "${options[@]}"
        nvshmem peer nvshmem$t nvshmem latency "${options[@]}"
    done
}

# A device has 132 blocks of 1024 threads.
bandwidth() {
    local t program=$bin/bench_gpu_bandwidth ranks=(1 4 16 26 64 132 264)
    [ "$gpus" -gt 1 ] || return
    for t in 128 1024; do
        [ $t -lt 1024 ] || program=$bin/bench_gpu_bandwidth_1024 ranks=(1 4 16 26 64 132)
        weft_job bandwidth weft$t auto $program --threads $t "${ranks[@]}"
        run bandwidth floor$t $peers/stream kernel --threads $t "${ranks[@]}"
        nvshmem bandwidth nvshmem$t nvshmem_stream bandwidth --threads $t "${ranks[@]}"
    done
    run bandwidth memcpy $peers/stream memcpy
}

# network_alone WHERE KIND FORM - between two processes, host memory to host memory.
network_alone() {
    local where=$1 kind=$2 form=$3
    limited "$where-network-$form" $bin/weftrun -n 2 $bin/bench_network --form "$form" \
        --from 65536 --to 67108864
    awk -F, -v OFS=, -v lines="$where,$round,network,$kind" \
        'NR > 1 { print lines, $1, 0, $3, "GB/s", 1 }' "$out/$where-network-$form.log" >>"$out/raw.csv"
}

# nccl_sockets NAME OPTIONS... - with what else the environment says; only if NCCL says that it went so.
nccl_sockets() {
    local name=$1 said=$out/staged-$1.said.log
    shift
    [ -x $peers/nccl ] || return
    rm -f "$said"
    limited "staged-$name" env NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1 NCCL_IB_DISABLE=1 NCCL_NET=Socket \
        NCCL_NET_PLUGIN=none NCCL_SOCKET_IFNAME=lo NCCL_DEBUG=INFO NCCL_DEBUG_FILE="$said" \
        $peers/nccl bandwidth "$@"
    [ -s "$said" ] || return # it failed early, and that was noted
    if grep -q 'via NET/Socket' "$said" && ! grep -qE 'via (P2P|SHM)' "$said"; then
        sed -n "s/^nccl,/staged,$round,$name,/p" "$out/staged-$name.log" >>"$out/raw.csv"
    else
        note "$name: NCCL did not go over sockets: $(grep -m 1 -o 'via .*' "$said")"
    fi
}

staged() {
    local net sizes=(--from 65536 --to 67108864 --volume 134217728)
    [ "$gpus" -gt 1 ] || return
    run staged stage $peers/stage "${sizes[@]}"
    export WEFT_OFI_PROVIDER="tcp;ofi_rxm"
    for net in shm ofi; do
        if ! WEFT_DEVICE=cpu $bin/weft-info 2>&1 | grep -q "^  $net *between"; then
            note "staged: the network $net cannot be used here: $(WEFT_DEVICE=cpu $bin/weft-info 2>&1 |
                grep -m 1 "^  $net ")"
            continue
        fi
        export WEFT_NET=$net
        network_alone staged_$net one_way stream
        network_alone staged_$net both_ways exchange
        weft_job staged_$net weft proxy $bin/bench_gpu_bandwidth "${sizes[@]}" 1 16
    done
    unset WEFT_NET WEFT_OFI_PROVIDER
    nccl_sockets nccl "${sizes[@]}"
    NCCL_SOCKET_NTHREADS=4 NCCL_NSOCKS_PERTHREAD=4 nccl_sockets nccl_16 "${sizes[@]}"
}

engine() {
    [ "$gpus" -gt 1 ] || return
    run engine engine $peers/engine 1 4 16 132
}

rate() {
    local ranks=(1 4 26 132 264)
    [ "$gpus" -gt 1 ] || return
    weft_job rate weft auto $bin/bench_gpu_rate --repeats 5000 "${ranks[@]}"
    run rate floor $peers/rate --repeats 5000 "${ranks[@]}"
    nvshmem rate nvshmem nvshmem_stream rate --repeats 5000 "${ranks[@]}"
}

# Beside NVSHMEM's, which is to be reached.
rate_warp() {
    local ranks=(1 132 264)
    [ "$gpus" -gt 1 ] || return
    builds rate_warp_once
    nvshmem rate nvshmem nvshmem_stream rate --repeats 5000 "${ranks[@]}"
}

rate_warp_once() {
    weft_job rate "${build:-weft}_warp" auto $bin/bench_gpu_rate_warp --repeats 5000 "${ranks[@]}"
}

dcuda() {
    run dcuda_same ping $bin/bench_gpu_latency --same --repeats 500000 --to 4
    run dcuda_same rest $bin/bench_gpu_dcuda --same
    [ "$gpus" -gt 1 ] || return
    weft_job dcuda_peer ping auto $bin/bench_gpu_latency --repeats 500000 --to 4
    weft_job dcuda_peer rest auto $bin/bench_gpu_dcuda
}

nccl() {
    [ "$gpus" -gt 1 ] || return
    weft_job nccl weft auto $bin/bench_gpu_latency
    run nccl nccl $peers/nccl --repeats 2000
    run nccl lsa $peers/nccl_lsa
    run nccl memcpy $peers/stream latency --repeats 2000
}

# As many ranks as the machine has multiprocessors (H200), and as many as weft can have.
barrier() {
    local ranks processes
    for ranks in 132 0; do
        run barrier weft $bin/bench_gpu_barrier --repeats 5000 --ranks $ranks
        [ $ranks -gt 0 ] || ranks=$(awk -F, '$2 == "barrier" { print $3 }' "$out/barrier-weft.log")
        run barrier floor $peers/floor grid --repeats 5000 --ranks "${ranks:-0}"
        for processes in 2 4; do
            [ $processes -le "$gpus" ] || continue
            weft_job barrier$processes weft auto $bin/bench_gpu_barrier --repeats 5000 --ranks "${ranks:-0}"
            nvshmem barrier$processes nvshmem nvshmem barrier --repeats 5000 --ranks "${ranks:-0}"
        done
    done
}

coll() {
    run coll weft $bin/bench_gpu_coll --repeats 5000 --ranks 132
    [ "$gpus" -gt 1 ] || return
    weft_job coll2 weft auto $bin/bench_gpu_coll --repeats 5000 --ranks 132
    run coll2 nccl $peers/nccl allreduce --repeats 2000
}

ccl() {
    local processes LIMIT=100
    for processes in 2 4 8; do
        [ "$processes" -le "$gpus" ] || continue
        weft_job ccl$processes weft auto $bin/bench_gpu_ccl
        [ ! -x $peers/nccl_graphs ] || for kind in plain window; do
            run ccl$processes nccl_$kind $peers/nccl_graphs "$processes" $kind
        done
        if python3 -c 'import torch.distributed._symmetric_memory' 2>/dev/null; then
            run ccl$processes torch python3 -m torch.distributed.run --nproc-per-node "$processes" \
                bench/peers/torch/symm_mem.py
        else
            note "torch was not found, or has no symmetric memory"
        fi
    done
}

# Messages on one GPU and long ones between two, after the short ones that make a pair get its channel.
eager() {
    local on
    for on in on off; do
        [ $on = on ] || export WEFT_EAGER=0
        run eager_$on same $bin/bench_gpu_latency --same
        [ "$gpus" -lt 2 ] || weft_job eager2_$on peer auto $bin/bench_gpu_latency
        run eager_$on barrier $bin/bench_gpu_barrier --repeats 5000 --ranks 132
        unset WEFT_EAGER
    done
}
