# bench/pgas_cuda.awk - raw.csv of pgas.sh to tables, on a machine with a GPU: medians of rounds, and of ratios
# within a round. After tables.awk.

# The best ratio of a series over others at x: how often faster it is than the fastest of them.
function beside(kind, series, x, others,    s, n, i, v, best) {
    n = split(others, s, "|")
    best = ""
    for (i = 1; i <= n; i++) {
        v = of(substr(s[i], 1, index(s[i], " ") - 1), substr(s[i], index(s[i], " ") + 1), x)
        if (v != "" && (best == "" || v < best))
            best = v
    }
    v = of(kind, series, x)
    return v == "" || best == "" ? "" : best / v
}

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

function rate(form, wanted,    v) {
    v = of("task", "weft", form)
    return v == "" ? "not run" : sprintf("%.3g M/s: %s", 1 / v, 1 / v >= wanted ? "met" : "MISSED")
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
    print "\nThe paper: a small gap between local and remote.\n"
    heading("Figures 8 and 9: an iteration of the plate, one place, ms")
    table("plate", "N", "OpenMP|plain CUDA|ranks, GPU|tasks, GPU|tasks, CPU beside a GPU's|64 rows, 4 workers|64 rows, CPU|DART, GPU", "omp|cuda|ranks|tasks|cpu|cpu4|rows|dart")
    for (k = 1; k <= xs["plate"]; k++) {
        x = x_of["plate", k]
        print "- N = " x ":" (x < 8000 ? "" : " plain CUDA over ranks, at least 0.97 wanted: " judge(of("plate", "cuda", x, "ranks"), "least", 0.97) "; over tasks, at least 0.9: " judge(of("plate", "cuda", x, "tasks"), "least", 0.9) ".") (x < 4000 ? "" : " OpenMP over tasks of rows, at least 0.95: " judge(of("plate", "omp", x, "rows"), "least", 0.95) ".") " Ranks over 4 workers: " show(of("plate", "cpu4", x, "ranks")) (x == 14000 ? ", at least 42 wanted (the paper's): " judge(of("plate", "cpu4", x, "ranks"), "least", 42) "" : "") ". Over OpenMP: " show(of("plate", "omp", x, "ranks")) "."
    }
    print "\nThe paper: its GPUs begin to win at N = 4000, and are up to 42 times faster, at 14000, where their memory ends. At most 1000 wanted: OpenMP over ranks there: " judge(of("plate", "omp", 1000, "ranks"), "least", 1) ".\n"
    heading("Figure 10: a task that does nothing, us")
    table("task", "form", "weft|a launch", "weft|cuda")
    print "Wanted: indexed 50 M/s: " rate("indexed", 50) "; recorded 20 M/s: " rate("recorded", 20) "; host 1 M/s: " rate("host", 1) "; spawn 5 M/s: " rate("spawn", 5) ". The paper's figure has these times the number of kernels; it grows with N squared from 15000 on.\n"
    heading("Figure 11: the GPU and CPUs together, ms an iteration")
    table("both", "N", "halves, static|halves, dynamic|halves, recorded|GPU's part|by it, static|by it, dynamic|by it, recorded|chosen homes", "even-static|even-dynamic|even-tasks|ratio|tuned-static|tuned-dynamic|tuned-tasks|plan")
    for (k = 1; k <= xs["both"]; k++) {
        x = x_of["both", k]
        print "- N = " x ": recorded tasks by their parts over the better device alone, at least 0.97 wanted: " judge(beside("both", "tuned-tasks", x, "plate tasks|plate cpu"), "least", 0.97) "; by chosen homes the same: " judge(beside("both", "plan", x, "plate tasks|plate cpu"), "least", 0.97) "; dynamic from tuned homes over the better of static and one device, at least 0.95 wanted: " judge(beside("both", "tuned-dynamic", x, "both tuned-static|plate tasks|plate cpu"), "least", 0.95) "; over static from halves, at least 1.5: " judge(of("both", "even-static", x, "even-dynamic"), "least", 1.5) "; static over the GPU's tasks alone, at least 0.97: " judge(beside("both", "tuned-static", x, "plate tasks"), "least", 0.97) "; over the CPU's, at least 2.15 at 20000: " judge(beside("both", "tuned-static", x, "plate cpu"), "least", 2.15) "."
    }
    print "\nThe paper: CPUs and GPUs together 2.15 times CPUs alone at N = 20000, better from 13000 on.\n"
    heading("Figure 12: a boundary of N doubles, put and complete, us")
    table("row", "N", "CPU to CPU|GPU to CPU|CPU to GPU|own, GPU", "cpus host_put|cpu host_put|gpu host_put|own host_put")
    for (k = 1; k <= xs["row"]; k++) {
        x = x_of["row", k]
        print "- N = " x ": at most " show(20 + x * 8 / 20e3) " wanted (20 and 20 GB/s): " judge(of("row", "cpu host_put", x), "most", 20 + x * 8 / 20e3) " (to the CPU), " judge(of("row", "gpu host_put", x), "most", 20 + x * 8 / 20e3) " (to the GPU)."
    }
    print "\nThe paper: 20 to 24 times as long between unlike units as within CPU memory.\n"
    heading("Figure 13: all tasks at a CPU's place with one worker, the GPU takes some, ms an iteration")
    table("imbalance", "N-way", "that place alone|with the GPU|chosen homes", "alone|both|plan")
    for (k = 1; k <= xs["imbalance"]; k++) {
        x = x_of["imbalance", k]
        split(x, part, "-")
        wanted = part[1] < 20000 ? 0.97 : part[2] == "tiles" ? 4 : 1.25
        print "- N-way " x ": gain, at least " wanted " wanted" (wanted < 1 ? " where the paper loses" : "") ": " judge(of("imbalance", "alone", x, "both"), "least", wanted) "."
    }
    print "\nThe paper, with two idle GPUs beside one CPU unit: a loss below N = 8000, up to 1.25 above.\n"
    heading("A Cholesky factorisation, 8192 rows, ms")
    table("factor", "rows of a tile", "plain CUDA|GPU|CPUs", "cuda|gpu|cpu")
    for (k = 1; k <= xs["factor"]; k++)
        print "Tiles of " x_of["factor", k] ": plain CUDA over tasks, at least 1 wanted: " judge(of("factor", "cuda", x_of["factor", k], "gpu"), "least", 1) ".\n"
    heading("An unbalanced tree of 4130071 nodes, counted by uts and checked, ms")
    table("uts", "tree", "plain CUDA|GPU|CPU|both", "cuda|gpu|cpu|both")
    print "Both over the better one, at least 1 wanted: " judge(beside("uts", "both", "geometric", "uts gpu|uts cpu"), "least", 1) "."
}
