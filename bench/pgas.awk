# bench/pgas.awk - raw.csv of pgas.sh to tables, on the CPU device: medians of rounds, and of ratios within
# a round. After tables.awk.
END {
    heading("Figure 4: a block of one's own memory, taken and given back, us")
    table("local", "bytes", "1 unit|2|4|8|16|16 ranks of one|malloc", "1|2|4|8|16|kernel|malloc")
    print "Wanted of one unit, any size: at most 0.5 us: " judge(worst("local", "1"), "most", 0.5) ". The paper: about 1 us, the same for 1 to 4 units, falling in steps as sizes grow.\n"
    heading("Figure 5: memory of a team, taken and given back together, us")
    table("team", "bytes", "1 unit|2|4|8|16", "1|2|4|8|16")
    print "Wanted of 16 units, for taking alone: at most 150 us: " judge(worst("team", "16"), "most", 150) " (for both). The paper: about 1000 us, with a leap at 530 KB.\n"
    heading("Figure 6: beside the system's own calls, us")
    table("native", "bytes", "heap|malloc|weft_malloc", "local|malloc|weft_malloc")
    print "The paper compares with cudaMalloc on its GPU; on the H100 see below.\n"
    heading("Figure 7: gets and puts, one way with completion, us")
    print "Through loads and stores (`WEFT_PATH=direct`):\n"
    table("direct", "bytes", "get, own|get|put, own|put|rank get|rank put|handle get|handle put|memcpy|MPI_Get|MPI_Put", "host_get own|host_get|host_put own|host_put|rank_get|rank_put|handle_get|handle_put|memcpy|mpi get|mpi put")
    print "Through the hosts' services (`WEFT_PATH=proxy`):\n"
    table("proxy", "bytes", "get|put|rank get|rank put", "host_get|host_put|rank_get|rank_put")
    print "Wanted of a rank, 8 B from a mapped process: at most 0.3 us: " judge(of("direct", "rank_get", 8), "most", 0.3) "; 1 MiB at least 0.9 of memcpy: " judge(of("direct", "memcpy", 1048576, "rank_get"), "least", 0.9) ". Through the services, 8 B at most 2.5 times a put: " judge(of("proxy", "rank_get", 8, "rank_put"), "most", 2.5) "; 1 MiB at least 0.8 of it: " judge(of("proxy", "rank_put", 1048576, "rank_get"), "least", 0.8) ".\n"
    heading("Figures 8 and 9: an iteration of the plate, one place, ms")
    table("plate", "N", "OpenMP|ranks|tasks 256 x 256|40 blocks of rows|StarPU, 40 blocks|DART, 40 calls", "omp|ranks|tasks|rows|starpu|dart")
    for (k = 1; k <= xs["plate"]; k++)
        if (x_of["plate", k] >= 4000)
            print "N = " x_of["plate", k] ": OpenMP over tasks, at least 0.95 wanted: " judge(of("plate", "omp", x_of["plate", k], "tasks"), "least", 0.95) " (256 x 256), " judge(of("plate", "omp", x_of["plate", k], "rows"), "least", 0.95) " (rows); StarPU over tasks of the same rows, at least 1 wanted: " judge(of("plate", "starpu", x_of["plate", k], "rows"), "least", 1) ".\n"
    heading("Figure 10: a task that does nothing, us")
    table("task", "form", "weft|StarPU", "weft|starpu")
    print "Wanted: indexed " judge(of("task", "weft", "indexed"), "most", 0.1) " (0.1), host " judge(of("task", "weft", "host"), "most", 0.6) " (0.6), recorded " judge(of("task", "weft", "recorded"), "most", 0.1) " (0.1), spawn " judge(of("task", "weft", "spawn"), "most", 0.6) " (0.6). The paper's figure has these times the number of kernels.\n"
    heading("A Cholesky factorisation, 2048 rows, checked elsewhere, ms")
    table("factor", "rows of a tile", "recorded tasks|StarPU", "weft|starpu")
    for (k = 1; k <= xs["factor"]; k++) {
        x = x_of["factor", k]
        print "Tiles of " x ": StarPU over tasks, at least " (x < 64 ? 1.3 : x < 256 ? 1.03 : 0.98) " wanted: " judge(of("factor", "starpu", x, "weft"), "least", x < 64 ? 1.3 : x < 256 ? 1.03 : 0.98) ".\n"
    }
    heading("Figure 11: two places together, one of them slow, ms an iteration")
    table("slow", "times", "nobody slow, static|static|dynamic|chosen homes", "even|static|dynamic|plan")
    print "N = 4000, 40 tiles of rows. Place 1 does the work of each point so many times; as the later passes find their points in the cache, it is slowed less than that."
    print ""
    for (k = 1; k <= xs["slow"]; k++) {
        x = x_of["slow", k]
        slowed = of("slow", "static", x, "even")
        gain = of("slow", "static", x, "dynamic")
        print "- " x " times, slowed " show(slowed) " times: dynamic over static " show(gain) ", ideal " show((1 + slowed) / 2) "; at least 0.75 of that wanted: " judge(gain / ((1 + slowed) / 2), "least", 0.75) (slowed >= 3.5 ? "; 1.9 wanted of a place slowed 4 times: " judge(gain, "least", 1.9) : "") "."
    }
    print "\nThe paper: CPUs and GPUs together 2.15 times CPUs alone at N = 20000.\n"
    heading("Figure 12: a boundary of N doubles, put to another place and complete, us")
    table("row", "N", "own memory|another CPU place|through the services", "host_put own|host_put|proxy")
    print "The paper: 20 to 24 times as long between unlike units as within CPU memory.\n"
    heading("Figure 13: all tasks at one place, the other takes some, ms an iteration")
    table("imbalance", "N-way", "that place alone|with the other", "alone|imbalance")
    for (k = 1; k <= xs["imbalance"]; k++)
        print "N-way " x_of["imbalance", k] ": gain " show(of("imbalance", "alone", x_of["imbalance", k], "imbalance")) " (two like places: 2 is ideal)."
    print "\nThe paper, with two idle GPUs beside one CPU unit: a loss below N = 8000, up to 1.25 above."
}
