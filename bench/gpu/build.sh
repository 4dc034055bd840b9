# gpu/build.sh - builds weft and its peers for tools/gpu-bench, which sources it. Sets bin, peers, where
# nvshmem, nccl and UCX_HOME are, and the seconds that it took.

bin=build-gpu/bin
peers=$out/peers
mkdir -p $peers

# package NAME - the folder of that name in python3's package nvidia.
package() {
    python3 -c 'import nvidia, os, sys
print(next(p for p in (os.path.join(q, sys.argv[1]) for q in nvidia.__path__) if os.path.isdir(p)))' "$1" 2>/dev/null
}
nvshmem=${NVSHMEM_HOME:-$(package nvshmem)}
nccl=${NCCL_HOME:-$(package nccl)}
UCX_HOME=${UCX_HOME:-$(python3 -c 'import libucx; print(libucx.__path__[0])' 2>/dev/null)}

build_weft() {
    cmake -G Ninja -B build-gpu -DWEFT_CUDA=ON -DWEFT_CUDA_ARCHS=90 . &&
        ninja -C build-gpu weftrun weft-info power_iteration bench_network bench_{msg,team} {lbm,md}_msg_cuda \
            bench_gpu_{latency,latency_1024,barrier,coll,ccl,errand,get,bandwidth,bandwidth_1024,rate,rate_warp,crowd,crowd_4,dcuda,queue} matrix_vector stencil2d{,_4} particles stencil \
            $(ninja -C build-gpu -t targets all | grep -oE '^(power_cusparse|stencil2d_cuda|(lbm|md)_mpi_cuda):' | tr -d :)
}

# peer NAME SOURCES AND FLAGS...
peer() {
    local name=$1
    shift
    nvcc -std=c++17 -O3 -arch=sm_90 -Ibench -o "$peers/$name" "$@" >"$out/build-$name.log" 2>&1 ||
        note "$name was not built: $(grep -m 1 -E 'error|cannot' "$out/build-$name.log")"
}

# Those between two GPUs.
build_pairs() {
    local flags
    peer stream bench/peers/cuda/stream.cu $peers/measure.o &
    peer stage bench/peers/cuda/stage.cu $peers/measure.o &
    peer rate bench/peers/cuda/rate.cu $peers/measure.o &
    peer engine bench/peers/cuda/engine.cu $peers/measure.o &
    if [ -n "$nvshmem" ]; then
        flags=(-rdc=true "-I$nvshmem/include" "$peers/measure.o" "-L$nvshmem/lib"
            -l:libnvshmem_host.so.3 -lnvshmem_device -lcuda)
        peer nvshmem bench/peers/nvshmem/peer.cu "${flags[@]}" &
        peer nvshmem_stream bench/peers/nvshmem/stream.cu "${flags[@]}" &
    else
        note "NVSHMEM was not found"
    fi
    if [ -n "$nccl" ]; then
        flags=("-I$nccl/include" "$peers/measure.o" "-L$nccl/lib" -l:libnccl.so.2)
        peer nccl bench/peers/nccl/sendrecv.cu "${flags[@]}" &
        peer nccl_lsa bench/peers/nccl/lsa.cu "${flags[@]}" &
        peer nccl_graphs bench/peers/nccl/graphs.cu "${flags[@]}" &
    else
        note "NCCL was not found"
    fi
    wait
}

rm -f $peers/*
cc -O2 -D_GNU_SOURCE -Ibench -c bench/gpu/measure.c -o $peers/measure.o || exit 1
peer floor bench/peers/cuda/floor.cu $peers/measure.o &
peer host_trip bench/peers/cuda/host_trip.cu $peers/measure.o -lcuda &
peer errand bench/peers/cuda/errand.cu $peers/measure.o &
peer queue bench/peers/cuda/queue.cu $peers/measure.o &
if [ "$gpus" -gt 1 ]; then
    build_pairs &
else
    note "one GPU only: nothing was measured between two"
fi
build_weft >"$out/build-weft.log" 2>&1 || { tail -n 30 "$out/build-weft.log"; exit 1; }
wait
[ -x $bin/power_cusparse ] || note "power_cusparse was not built: CMake found no libcusparse"
built=$((SECONDS - started))
