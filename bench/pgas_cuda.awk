# bench/pgas_cuda.awk - raw.csv of pgas.sh to tables, on a machine with a GPU: medians of rounds, and of ratios
# within a round. After tables.awk. What pgas_targets.awk judges is not judged again.

# The worst of the ratios of two series over all x from `from` to `to`.
function least(kind, series, below, from, to,    k, v, w) {
    w = ""
    for (k = 1; k <= xs[kind]; k++) {
        if (x_of[kind, k] + 0 < from || x_of[kind, k] + 0 > to)
            continue
        v = of(kind, series, x_of[kind, k], below)
        if (v != "" && (w == "" || v < w))
            w = v
    }
    return w
}

function half(v) {
    return v == "" ? "" : v / 2
}

END {
    every = 1e18
    heading("Figure 4: a block of a host program's own heap, taken and given back, by processes, us")
    table("units", "bytes", "1 unit|2|4|8|16", "1|2|4|8|16")
    print "At most 0.5 wanted of one unit: " judge(worst("units", "1"), "most", 0.5) ". The paper: about 1 us, the same for 1 to 4 units, falling in steps as sizes grow.\n"
    heading("Figure 5: memory of a team with a GPU, taken and given back together, us")
    table("team", "bytes", "the GPU alone|and 1 CPU unit|and 3|and 15", "1|2|4|16")
    print "At most 150 wanted of 16 units, for taking alone: " judge(worst("team", "16"), "most", 150) " (for both). The paper: about 1000 us, with a leap at 530 KB.\n"
    heading("Figure 6: beside CUDA's calls and the system's, us")
    table("native", "bytes", "heap of the GPU|heap in host memory|132 ranks at once|weft_malloc|cudaMalloc|cudaMallocAsync|cudaMallocHost|malloc in kernels, 132 blocks|malloc", "local|host|kernel|weft_malloc|cuda_malloc|async|pinned|cuda kernel|malloc")
    print "- Host program, any size: at most 0.5 us wanted: " judge(worst("native", "local"), "most", 0.5) " (heap of the GPU), " judge(worst("native", "host"), "most", 0.5) " (in host memory)."
    print "- cudaMalloc over it, at least 50 wanted at every size: " judge(least("native", "cuda_malloc", "local", 0, every), "least", 50) "; cudaMallocAsync, at least 1: " judge(least("native", "async", "local", 0, every), "least", 1) "."
    print "- 132 ranks at once, at most 3 us for each of the two calls, any size: " judge(half(worst("native", "kernel")), "most", 3) "; up to 64 KiB: " judge(half(worst("native", "kernel", 65536)), "most", 3) "; malloc in kernels over it from 64 KiB, at least 10: " judge(least("native", "cuda kernel", "kernel", 65536, every), "least", 10) "."
    print "\nThe paper beside cudaMalloc: with 4 units a steady overhead; with 16 slower while small, near equal when large.\n"
    heading("Figure 7: gets and puts, one way with completion, us")
    print "By a process with the GPU, at its own memory, a CPU place's (host memory), and that of another process on the same GPU:\n"
    table("access", "bytes", "rank get, own|rank put, own|get, own|put, own|rank get, CPU's|rank put, CPU's|get, CPU's|put, CPU's|handle get, CPU's|handle put, CPU's|rank get, same GPU|rank put, same GPU", "own rank_get|own rank_put|own host_get|own host_put|cpu rank_get|cpu rank_put|cpu host_get|cpu host_put|cpu handle_get|cpu handle_put|shared rank_get|shared rank_put")
    print "By a CPU place, at the GPU's memory and at another CPU place's:\n"
    table("access", "bytes", "rank get, GPU's|rank put, GPU's|get, GPU's|put, GPU's|handle get, GPU's|handle put, GPU's|rank get, CPU's|rank put, CPU's|get, CPU's|put, CPU's", "gpu rank_get|gpu rank_put|gpu host_get|gpu host_put|gpu handle_get|gpu handle_put|cpus rank_get|cpus rank_put|cpus host_get|cpus host_put")
    print "Plain copies, complete (cudaMemcpyAsync and cudaStreamSynchronize; memcpy):\n"
    table("access", "bytes", "to the GPU, pinned|to the GPU, malloc's|from it, pinned|from it, malloc's|on it|memcpy", "to_device|to_device_page|to_host|to_host_page|on_device|cpus memcpy")
    m = 1048576
    print "- CPU rank from a CPU place: 8 B at most 0.3 us: " judge(of("access", "cpus rank_get", 8), "most", 0.3) "; 1 MiB at least 0.9 of memcpy: " judge(of("access", "cpus memcpy", m, "cpus rank_get"), "least", 0.9) "."
    print "- GPU rank from a CPU place: 8 B at most 4 us: " judge(of("access", "cpu rank_get", 8), "most", 4) ". Its host program, 1 MiB at least 0.8 of cudaMemcpyAsync: " judge(of("access", "to_device", m, "cpu host_get"), "least", 0.8) "."
    print "- CPU rank from a GPU place: 8 B at most 20 us: " judge(of("access", "gpu rank_get", 8), "most", 20) "; 1 MiB at most 105 us (10 GB/s): " judge(of("access", "gpu rank_get", m), "most", 104.9) "; 16 MiB at least 0.7 of a plain copy: " judge(of("access", "to_host", 16 * m, "gpu rank_get"), "least", 0.7) "."
    print "\nBy DART's blocking calls, from and to malloc's memory:\n"
    table("dart", "bytes", "get, CPU at GPU|put|get, GPU at CPU|put|get, CPU at CPU|put|get, GPU at GPU|put|a copy from the GPU|to it|memcpy", "gpu get|gpu put|cpu get|cpu put|cpus get|cpus put|gpus get|gpus put|to_host_page|to_device_page|memcpy")
    print "The paper: a small gap between local and remote.\n"
    heading("Figures 8 and 9: an iteration of the plate, one place, ms")
    table("plate", "N", "OpenMP|plain CUDA|ranks|tasks|plain CUDA, two a sweep|ranks, two|tasks, two|4 workers|DART", "omp|cuda1|ranks1|tasks1|cuda2|ranks2|tasks2|cpu4|dart")
    print "The paper: its GPUs begin to win at N = 4000, and are up to 42 times faster, at 14000, where their memory ends.\n"
    heading("Figure 10: a task that does nothing, us")
    table("task", "form", "weft|a launch", "weft|cuda")
    print "The paper's figure has these times the number of kernels; it grows with N squared from 15000 on.\n"
    heading("Figure 11: the GPU and CPUs together, ms an iteration")
    table("both", "N", "the GPU|CPUs|halves|chosen homes|20000 iterations of those|tuned parts", "gpu|cpu|even|plan|settled|tuned")
    print "The paper: CPUs and GPUs together 2.15 times CPUs alone at N = 20000, better from 13000 on.\n"
    heading("Figure 12: a boundary of N doubles, put and complete, us")
    table("row", "N", "CPU to CPU|GPU to CPU|CPU to GPU|own, GPU", "cpus host_put|cpu host_put|gpu host_put|own host_put")
    for (k = 1; k <= xs["row"]; k++) {
        x = x_of["row", k]
        print "- N = " x ": at most " show(20 + x * 8 / 20e3) " wanted (20 and 20 GB/s): " judge(of("row", "cpu host_put", x), "most", 20 + x * 8 / 20e3) " (to the CPU), " judge(of("row", "gpu host_put", x), "most", 20 + x * 8 / 20e3) " (to the GPU)."
    }
    print "\nThe paper: 20 to 24 times as long between unlike units as within CPU memory.\n"
    heading("Figure 13: all rows at a CPU's place with one worker, ms an iteration")
    table("imbalance", "N", "that place alone|chosen homes|created tasks, the GPU takes some", "alone|plan|taken")
    print "The paper, with two idle GPUs beside one CPU unit: a loss below N = 8000, up to 1.25 above.\n"
    heading("A Cholesky factorisation, ms")
    table("factor", "8192 rows, tiles of", "plain CUDA|GPU", "cuda|gpu")
    table("processors", "2048 rows, tiles of", "StarPU|CPUs", "starpu|weft")
    heading("An unbalanced tree of 4130071 nodes, counted by uts and checked, ms")
    table("uts", "tree", "plain CUDA|GPU", "cuda|gpu")
}
