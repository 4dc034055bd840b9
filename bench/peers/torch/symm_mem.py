"""peers/torch/symm_mem.py - torch's allreduces over symmetric memory, in CUDA graphs of 100 equal
calls, as bench/gpu/ccl.cu measures weft's.

    torchrun --nproc-per-node 2 symm_mem.py
"""
import os
import sys

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem

CALLS, REPLAYS, WARM, MOST = 100, 20, 3, 64 << 20


def measure(calls, call):
    graph = torch.cuda.CUDAGraph()
    call()
    torch.cuda.synchronize()
    dist.barrier()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            call()
    events = [torch.cuda.Event(enable_timing=True) for _ in range(REPLAYS + 1)]
    dist.barrier()
    torch.cuda.synchronize()
    for _ in range(WARM):
        graph.replay()
    for i in range(REPLAYS + 1):
        events[i].record()
        if i < REPLAYS:
            graph.replay()
    torch.cuda.synchronize()
    times = sorted(events[i].elapsed_time(events[i + 1]) for i in range(REPLAYS))
    return times[REPLAYS // 2] * 1e3 / calls


def main():
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    group = dist.group.WORLD.group_name
    ops = torch.ops.symm_mem
    if rank == 0:
        print("name,kind,bytes,threads,value,unit,ranks", flush=True)
    for dtype, kind in ((torch.float32, "allreduce_f32"), (torch.bfloat16, "allreduce_bf16")):
        size = torch.finfo(dtype).bits // 8
        data = symm_mem.empty(MOST // size, dtype=dtype, device="cuda")
        symm_mem.rendezvous(data, group)
        sizes = [8, 2048, 16384]
        while sizes[-1] < MOST:
            sizes.append(sizes[-1] * 4)
        for count in (s // size for s in sizes if s <= MOST):
            part = data[:count]
            calls = 10 if count * size > 4 << 20 else CALLS
            for name, call, most in (
                ("torch_one", lambda: ops.one_shot_all_reduce(part, "sum", group), 1 << 22),
                ("torch_two", lambda: ops.two_shot_all_reduce_(part, "sum", group), MOST),
            ):
                if count * size > most:
                    continue
                try:
                    part.fill_(0)
                    us = measure(calls, call)
                except Exception as error:  # a size that it does not take
                    print(f"{name}: {count * size} bytes: {error}".split("\n")[0], file=sys.stderr)
                    continue
                if rank == 0:
                    print(f"{name},{kind},{count * size},0,{us:.3f},us,1", flush=True)
    dist.destroy_process_group()


main()
