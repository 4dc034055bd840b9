# bench/messages.awk - raw.csv of messages.sh to tables, and with -v summary=FILE to one line a series
# and size: rounds, median, lowest, highest. Ratios are taken within a round. After rows.awk.
BEGIN { names = "weft|weft MPI|Open MPI|MPICH" }

# A series of the better of the MPIs in each round, or 0.
function add_best(    i, r, part, a, b) {
    for (i = 1; i <= lines; i++) {
        split(order[i], part, ",")
        for (r = 1; r <= rounds; r++) {
            a = value[part[1], "Open MPI", part[3], r] + 0
            b = value[part[1], "MPICH", part[3], r] + 0
            value[part[1], "best", part[3], r] = b == 0 || a == 0 ? a + b : (part[1] ~ /bandwidth/) == (a > b) ? a : b
        }
    }
}

function show(v) {
    return v == "" ? "" : v >= 100 ? sprintf("%.0f", v) : v >= 10 ? sprintf("%.1f", v) : v >= 1 ? sprintf("%.2f", v) : sprintf("%.3f", v)
}

# What weft over the best is to be: TCP from 16 KiB on, shared memory from 1 KiB and above 64 KiB.
function wanted(kind, x) {
    if (kind == "bandwidth")
        return x <= 65536 ? 1 : 0.95
    if (kind == "latency")
        return x < 1024 ? 1.1 : x <= 65536 ? 0.9 : 1.05
    return kind == "tcp_latency" ? (x <= 8192 ? 1.2 : 1) : ""
}

# One row a size, a column a series, and the ratio of the first to the better MPI.
function table(kind, title, series,    count, name, i, k, first, v, w, line) {
    if (!(kind in xs))
        return
    count = split(series, name, "|")
    print "\n" title "\n"
    line = "| bytes |"
    for (k = 1; k <= count; k++)
        if ((kind, name[k]) in has) {
            first = first == "" ? name[k] : first
            line = line " " name[k] " |"
        }
    print line " " first " / best | wanted |"
    gsub(/[^|]+/, " --- ", line)
    print line " --- | --- |"
    for (i = 1; i <= xs[kind]; i++) {
        line = "| " x_of[kind, i] " |"
        for (k = 1; k <= count; k++)
            if ((kind, name[k]) in has)
                line = line " " show(of(kind, name[k], x_of[kind, i], "")) " |"
        v = of(kind, first, x_of[kind, i], "best")
        w = wanted(kind, x_of[kind, i])
        print line " " show(v) " | " (w == "" ? "" : (kind ~ /bandwidth/ ? v >= w : v <= w) ? w : w ": **missed**") " |"
    }
}

# Some sizes of several kinds, a row each.
function rows(title, what, kinds, sizes,    count, sized, kind, size, i, j, k, name, line) {
    count = split(kinds, kind, "|")
    sized = split(sizes, size, "|")
    split(names, name, "|")
    print "\n" title "\n"
    print "| " what " | weft | weft MPI | Open MPI | MPICH |\n| --- | --- | --- | --- | --- |"
    for (i = 1; i <= count; i++)
        for (j = 1; j <= sized; j++) {
            line = "| " kind[i] ", " size[j] " |"
            for (k = 1; k <= 4; k++)
                line = line " " show(of(kind[i], name[k], size[j], "")) " |"
            if (line !~ /^[^|]*\|[^|]*\|[ |]*$/)
                print line
        }
}

# Eager against rendezvous: kinds, a pair of columns each.
function protocols(title, x_title, kinds, titles,    count, kind, titled, i, k, line, x) {
    count = split(kinds, kind, "|")
    split(titles, titled, "|")
    if (!(kind[count] in xs))
        return
    print "\n" title "\n"
    line = "| " x_title " |"
    for (k = 1; k <= count; k++)
        line = line " " titled[k] ": eager | rendezvous | ratio |"
    print line
    gsub(/[^|]+/, " --- ", line)
    print line
    for (i = 1; i <= xs[kind[count]]; i++) {
        x = x_of[kind[count], i]
        line = "| " x " |"
        for (k = 1; k <= count; k++)
            line = line " " show(of(kind[k], "eager", x, "")) " | " show(of(kind[k], "rendezvous", x, "")) " | " show(of(kind[k], "eager", x, "rendezvous")) " |"
        print line
    }
}

# In per cent, how much less (or, of a rate, more) eager is; over sizes up to 8 KiB the most.
function change(kind, x, rate,    v) {
    v = of(kind, "eager", x, "rendezvous")
    return v == "" ? "not run" : sprintf("%+.1f%%", ((rate ? 1 / v : v) - 1) * 100)
}
function most(kind, bandwidth,    i, v, found) {
    for (i = 1; i <= xs[kind]; i++)
        if (x_of[kind, i] > 32 && x_of[kind, i] <= 8192) {
            v = of(kind, "eager", x_of[kind, i], "rendezvous")
            if (found == "" || (bandwidth ? v > found : v < found))
                found = v
        }
    return found == "" ? "not run" : bandwidth ? sprintf("%.1f times", found) : sprintf("%+.0f%%", (found - 1) * 100)
}

END {
    add_best()
    summarize("kind", "x")
    print "Medians of " rounds " rounds; ratios are taken within a round. best: the better MPI of a round."
    table("latency", "### By shared memory: one way, us", names)
    table("bandwidth", "### By shared memory: windows of 64 messages, GB/s", names)
    table("tcp_latency", "### Over TCP, loopback: one way, us", names)
    table("tcp_bandwidth", "### Over TCP, loopback: windows of 64, GB/s", names)
    rows("### Collectives of two processes, us", "call, bytes", "bcast|gather|allgather|alltoall|allreduce", "8|256|4096|65536|1048576")
    rows("### A message of 8 B behind others, one way, us", "others", "posted|unexpected", "8|64|512|4096")
    rows("### 16 MiB into 20 ms of computing: ms until complete", "", "overlap", "16777216")
    print "\nwanted: weft at most 1 ms."
    protocols("### Figures 4 to 6: eager against rendezvous, one way, us, and windows of 64, GB/s", "bytes", "near_latency|near_bandwidth", "shared memory, us|GB/s")
    protocols("The same between hosts that are 50 us apart:", "bytes", "far_latency|far_bandwidth", "us|GB/s")
    print "\nUp to 32 bytes a message goes at once in both. Figure 7, messages a second, is GB/s over bytes."
    protocols("### Figure 8: collectives of 16 processes on 16 such hosts, on two processors, us", "bytes", "far_gather|far_allgather|far_alltoall", "gather|allgather|alltoall")
    protocols("### Figure 9: lbm, 32 x 32 x Z, two such hosts, ms a step", "Z", "lbm|lbm_messages", "all|messages")
    protocols("### Figure 10: md, two such hosts, ms a step", "particles", "md|md_messages", "all|messages")
    protocols("### Figure 11: md, 65536 particles in all, and 2048 a process, ms a step (one run, on two processors)", "processes", "md_strong|md_weak", "strong|weak")
    print "\n### Beside the paper\n"
    print "The paper's rendezvous and eager (Loopback, Fastcopy) move GPU memory over InfiniBand; these move host memory. All figures: eager against rendezvous.\n"
    print "| figure | paper | here, shared memory | here, 50 us away |\n| --- | --- | --- | --- |"
    print "| 4, 6: latency, at most | host-device -50%, -63%; device-device -12%, -45% | " most("near_latency") " | " most("far_latency") " |"
    print "| 5, 6: bandwidth, at most | host-device 5.5, 7.3 times; device-device 1.1, 1.7 to 2 times | " most("near_bandwidth", 1) " | " most("far_bandwidth", 1) " |"
    print "| 7: message rate, device-device, average | -5%, 1.6 times | see figure 5 | |"
    print "| 8: gather 256 B | -49% | | " change("far_gather", 256) " (-30% wanted) |"
    print "| 8: allgather 32 B | -47% | | " change("far_allgather", 32) " (-30% wanted) |"
    print "| 8: alltoall 256 B | -67% | | " change("far_alltoall", 256) " (-30% wanted) |"
    print "| 9: lbm 32 x 32 x 4, total time | -18.8%, -23.4% | | " change("lbm", 4) " (-18.8% wanted) |"
    print "| 9: its time in messages | -5.3%, -15.4% | | " change("lbm_messages", 4) " |"
    print "| 10: md, 4096 particles, steps a second | +12%, +12.5% | | " change("md", 4096, 1) " (+12.5% wanted) |"
    print "| 11: md, 16 processes, strong, steps a second | +17% (at 64) | | " change("md_strong", 16, 1) " |"
    print "| 11: md, 16 processes, weak, steps a second | +20.1% (at 64) | | " change("md_weak", 16, 1) " |"
}
