"""Sums and moves of torch's tensors are those of torch.distributed; under torchrun, on GPUs where weft and torch have
them, else on CPUs. Prints what it leaves out."""
import os
import sys

import torch
import torch.distributed as dist

import weft

rank, members = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
gpus = torch.cuda.device_count() if os.environ.get("WEFT_DEVICE") != "cpu" else 0
own = gpus >= members
device = f"cuda:{rank % gpus}" if gpus else "cpu"
if gpus:
    torch.cuda.set_device(device)
dist.init_process_group("nccl" if own else "gloo")


def say(text):
    if rank == 0:
        print(text, flush=True)


def expect(what, got, wanted):
    if got.dtype != wanted.dtype or not torch.equal(got.cpu(), wanted.cpu()):
        sys.exit(f"rank {rank}, {what}: {got.flatten()[:6]}, not {wanted.flatten()[:6]}")
    say(f"passed: {what}")


def reference(x):
    """torch.distributed's sum; without a GPU for each, gloo's."""
    y = x.clone() if own else x.cpu().float() if x.dtype in (torch.bfloat16, torch.float16) else x.cpu()
    dist.all_reduce(y)
    return y.to(x.device, x.dtype)


def numbers(n, dtype):
    """Whole ones, whose sums are exact in every order."""
    return torch.randint(-16, 17, (n,), generator=torch.Generator().manual_seed(rank)).to(dtype).to(device)


def sums(group):
    for dtype in (torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.int32, torch.int64):
        for n in (1, 5, 1000, 100003):
            x = numbers(n, dtype)
            wanted = reference(x)
            group.allreduce(x)
            expect(f"sum of {n} {dtype}", x, wanted)
    if members == 2:  # which add in one order alone
        x = torch.randn(100003, device=device)
        wanted = reference(x)
        expect("sum of any numbers", group.allreduce(x), wanted)
        x = x.bfloat16()
        if own:
            other = [torch.empty_like(x) for _ in range(2)]
            dist.all_gather(other, x)
            wanted = (other[0].float() + other[1].float()).bfloat16()
            expect("sum of any bf16", group.allreduce(x), wanted)


def views(group):
    whole = numbers(3001, torch.bfloat16)
    for first, n in ((1, 7), (3, 1000), (5, 2048)):
        x = whole.clone()
        part = x[first:first + n]
        wanted = reference(part.clone())
        group.allreduce(part)
        expect(f"a view of {n} from {first}", part, wanted)
        expect("what lies around it", torch.cat([x[:first], x[first + n:]]),
               torch.cat([whole[:first], whole[first + n:]]))
    for wrong, words in ((torch.ones(4, 4, device=device).t(), "not contiguous"),
                         (torch.ones(4, device=device).to_sparse(), "not contiguous"),
                         (torch.ones(4, dtype=torch.cfloat, device=device).conj(), "not contiguous"),
                         (torch.ones(4, dtype=torch.int8, device=device), "elements of int8"),
                         (torch.ones(4, device="cpu" if gpus else "meta"), "and the group's device is " + device)):
        try:
            group.allreduce(wrong)
            sys.exit(f"taken, though {words}")
        except (TypeError, ValueError) as error:
            if words not in str(error):
                sys.exit(f"{error}, not {words}")
    say("passed: what is refused")


def moves(group):
    x = numbers(12 * members, torch.float32)
    y, wanted = torch.empty(12 * members * members, device=device), [torch.empty_like(x.cpu()) for _ in range(members)]
    group.allgather(x, y)
    if own:
        wanted = [w.to(device) for w in wanted]
    dist.all_gather(wanted, x if own else x.cpu())
    expect("allgather", y, torch.cat([w.to(device) for w in wanted]))
    blocks = y.reshape(members, members, 12)
    expect("alltoall", group.alltoall(x.clone()), blocks[:, rank].flatten())
    expect("reduce_scatter", group.reduce_scatter(x, torch.empty(12, device=device)), blocks[:, rank].sum(0))
    odd = torch.tensor([True, False, bool(rank)], device=device)
    expect("broadcast of bool", group.broadcast(0, odd), torch.tensor([True, False, False], device=device))


def autograd(group):
    x = torch.ones(4, device=device, requires_grad=True)
    y = x * 2
    z = (y * y).sum()
    group.allreduce(y)
    try:
        z.backward()
        sys.exit("autograd used what a call has overwritten")
    except RuntimeError:
        say("passed: autograd refuses what is overwritten")


def compiled(group):
    weft.register_torch()
    run = torch.compile(lambda x: torch.ops.weft.allreduce(x * 2, group.number) + 1, fullgraph=True,
                        backend="aot_eager")
    x = numbers(1000, torch.float32)
    expect("torch.compile", run(x), reference(x * 2) + 1)
    x = numbers(4 * members, torch.float32).reshape(members * 2, 2)
    y = torch.ops.weft.allgather(torch.ops.weft.reduce_scatter(x, group.number), group.number)
    expect("operations of torch", y, reference(x))
    expect("alltoall of torch", torch.ops.weft.alltoall(torch.ops.weft.alltoall(x, group.number), group.number), x)


def streams(group):
    x, side = numbers(1 << 20, torch.float32), torch.cuda.Stream()
    wanted = reference(x) * 2
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        for _ in range(20):
            y = x * 2
            group.allreduce(y)
    side.synchronize()
    expect("on the current stream, not the default one", y, wanted)
    y = x * 2
    side.wait_stream(torch.cuda.current_stream())
    group.allreduce(y, stream=side)
    torch.cuda.current_stream().wait_stream(side)
    y.record_stream(side)
    expect("on a stream that is given", y, wanted)


def graphs(group):
    for dtype in (torch.float32, torch.bfloat16):
        x, y = numbers(50001, dtype), torch.empty(50001, dtype=dtype, device=device)
        group.allreduce(x, y)  # as torch wants before a capture
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            doubled = x + x
            group.allreduce(doubled, y)
            y += 1
        for turn in range(5):
            x.copy_(numbers(50001, dtype) + turn)
            wanted = reference(x + x) + 1
            torch.cuda.synchronize()
            graph.replay()
            torch.cuda.synchronize()
            expect(f"replay {turn} of a graph, {dtype}", y, wanted)


with weft.Group() as world:
    if world.device != device:
        sys.exit(f"the group is on {world.device}, not {device}")
    say(f"{members} processes on {device[:4]}, torch {torch.__version__}, beside {dist.get_backend()}")
    sums(world)
    views(world)
    moves(world)
    autograd(world)
    compiled(world)
    if gpus:
        streams(world)
        graphs(world)
    else:
        say("skipped: streams and graphs, for want of a GPU")
    if gpus and not own:
        say("skipped: NCCL, which wants a GPU for each process")
    world.check()
dist.destroy_process_group()
print("right", flush=True)
