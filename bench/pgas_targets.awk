# bench/pgas_targets.awk - raw.csv of pgas.sh to one table of what is wanted on a machine with GPUs: medians of
# rounds, and of ratios within a round. After tables.awk.

# A row. figure: what it is of, "": that of the row before; kind, series, x: weft's; peer: the series beside it,
# which peer_name names; "most" or "least": what is wanted of the peer over weft, or, without a peer, of the value
# itself. Without either it is named in the end.
function row(figure, kind, x, series, name, peer, peer_name, unit, how, wanted, stretch,    v, q) {
    v = of(kind, series, x)
    if (v == "" && (peer == "" || of(kind, peer, x) == "")) {
        left[++lefts] = (figure == "" ? last : figure) ": " name
        last = figure == "" ? last : figure
        return
    }
    if (figure == "" && !(last in said))
        figure = last
    last = figure == "" ? last : figure
    said[last] = 1
    q = peer == "" ? v : of(kind, peer, x, series)
    print "| " figure " | " name " " with(v, unit) " | " (peer == "" ? "" : peer_name " " with(of(kind, peer, x), unit)) " | " (peer == "" ? "" : show(q)) " | " (how == "most" ? "<= " : ">= ") wanted (stretch == "" ? "" : " (" stretch ")") " | " verdict(q, how, wanted, stretch) " |"
}

function with(v, unit) {
    return v == "" ? "not run" : show(v) " " unit
}

function verdict(v, how, wanted, stretch,    met) {
    if (v == "")
        return "not run"
    met = how == "least" ? v >= wanted : v <= wanted
    return !met ? "MISSED" : stretch != "" && (how == "least" ? v >= stretch : v <= stretch) ? "met, stretch" : "met"
}

function plates(x) {
    row("plate, N = " x, "plate", x, "ranks1", "ranks", "cuda1", "plain CUDA", "ms", "least", 0.97, 1)
    row("", "plate", x, "tasks1", "recorded tasks", "cuda1", "plain CUDA", "ms", "least", 0.9, 1)
    row("two iterations a sweep, N = " x, "plate", x, "ranks2", "ranks", "cuda1", "plain CUDA, one", "ms", "least", 1.1, 1.3)
    row("", "plate", x, "ranks2", "ranks", "cuda2", "plain CUDA, two", "ms", "least", 0.95, 1)
    row("", "plate", x, "tasks2", "recorded tasks", "cuda1", "plain CUDA, one", "ms", "least", 1.1, 1.3)
    row("", "plate", x, "tasks2", "recorded tasks", "cuda2", "plain CUDA, two", "ms", "least", 0.95, 1)
}

# The tasks of a tree a microsecond, in place of its time.
function rates(    r) {
    for (r = 1; r <= rounds; r++)
        if (("uts", "gpu", "geometric", r) in value)
            value["rate", "gpu", "geometric", r] = 4130071 / value["uts", "gpu", "geometric", r] / 1e3
}

END {
    rates()
    print "| figure | weft | peer | peer over weft | wanted (stretch) | |"
    print "| --- | --- | --- | --- | --- | --- |"
    for (k = 1; k <= xs["plate"]; k++)
        if (of("plate", "ranks1", x_of["plate", k]) != "")
            plates(x_of["plate", k])
    row("plate by DART, N = 8000", "plate", 8000, "dart", "created tasks", "tasks1", "recorded tasks", "ms", "least", 0.95, 1)
    row("9: by tasks, N = 14000", "plate", 14000, "tasks1", "the GPU", "cpu4", "four CPU workers", "ms", "least", 42)
    for (k = 1; k <= xs["both"]; k++) {
        x = x_of["both", k]
        row("11: from an even split, N = " x, "both", x, "plan", "chosen homes", "even", "halves", "ms", "least", 1.5, 3)
        row("", "both", x, "settled", "the same, 20000 iterations", "gpu", "the GPU alone", "ms", "least", 0.97, 1.02)
        row("", "both", x, "tuned", "tuned parts", "gpu", "the GPU alone", "ms", "least", 0.97, 1.02)
    }
    for (k = 1; k <= xs["imbalance"]; k++) {
        x = x_of["imbalance", k]
        row("13: all at one CPU worker, N = " x, "imbalance", x, "plan", "chosen homes", "alone", "it alone", "ms", "least", 1.25, 4)
        row("", "imbalance", x, "taken", "created tasks", "alone", "it alone", "ms", "least", 1.25, 4)
    }
    row("10: an empty task", "task", "recorded", "weft", "recorded", "", "", "us", "most", 0.05, 0.01)
    row("", "task", "host", "weft", "by a host program", "cuda", "a launch", "us", "least", 1)
    row("uts, 4130071 nodes", "uts", "geometric", "gpu", "the GPU", "cuda", "plain CUDA", "ms", "least", 0.95, 1.1)
    row("", "rate", "geometric", "gpu", "nodes a us", "", "", "", "least", 80)
    for (k = 1; k <= xs["factor"]; k++) {
        x = x_of["factor", k]
        row("Cholesky, GPU, tiles of " x, "factor", x, "gpu", "tasks", "cuda", "plain CUDA", "ms", "least", 1, 1.15)
    }
    for (k = 1; k <= xs["processors"]; k++) {
        x = x_of["processors", k]
        row("Cholesky, CPUs, tiles of " x, "processors", x, "weft", "tasks", "starpu", "StarPU", "ms", "least", x < 64 ? 1.3 : x < 256 ? 1.03 : 0.98, x < 64 ? 2 : x < 256 ? 1.1 : 1)
    }
    for (k = 0; k < 2; k++) {
        x = k == 0 ? 8 : 16777216
        text = k == 0 ? "7: DART, 8 B, " : "7: DART, 16 MiB, "
        row(text "a GPU's by a CPU", "dart", x, "gpu get", "get", "to_host_page", "cudaMemcpyAsync", "us", "least", 0.9, 1)
        row("", "dart", x, "gpu put", "put", "to_device_page", "cudaMemcpyAsync", "us", "least", 0.9, 1)
        if (k == 1) {
            row(text "a CPU's by a GPU's host", "dart", x, "cpu get", "get", "memcpy", "memcpy", "us", "least", 0.9)
            row("", "dart", x, "cpu put", "put", "memcpy", "memcpy", "us", "least", 0.9)
        }
        row(text "GPU to GPU", "dart", x, "gpus get", "get", "to_host_page", "cudaMemcpyAsync", "us", "least", 0.9, 0.97)
        row("", "dart", x, "gpus put", "put", "to_device_page", "cudaMemcpyAsync", "us", "least", 0.9, 0.97)
    }
    row("7: a rank, GPU to GPU, 8 B", "dart", 8, "ranks get", "get", "", "", "us", "most", 4, 2.5)
    row("", "dart", 8, "ranks put", "put", "", "", "us", "most", 6, 4)
    row("5: memory of a team of 16, 64 B", "team", 64, "16", "a GPU and 15 CPUs", "", "", "us", "most", 60, 30)
    for (k = 1; k <= lefts; k++)
        text_left = text_left (k > 1 ? "; " : "\nNot run: ") left[k]
    if (lefts > 0)
        print text_left "."
}
