# bench/gpu/queue.awk - the tables and figures of GPUrdma (Daoud, Watad, Silberstein, ROSS 2016) in
# their own form, its published numbers beside ours. A part of table.awk. "bare": the same stores and
# fences without a library, and bare warps as NIC.
function queue_tables()
{
    if (any_of("queue_"))
        print "Queues that ranks drive. paper: K40c and a Connect-IB card; all other columns: a NIC in software,\n" \
            "blocks of this GPU (NIC host: a task of the host). Times with it are of the software NIC.\n"
    if ("queue_gg" in seen) {
        queue_stages()
        queue_places()
        queue_forms()
        queue_rates()
    }
    queue_matrix()
}

function any_of(prefix,    where)
{
    for (where in seen)
        if (index(where, prefix) == 1)
            return 1
    return 0
}

# us, or M/s, of a kind in a place; ranks: queues.
function queue_at(place, name, kind, bytes, unit, ranks)
{
    return median("queue_" place "," kind "," bytes ",32," unit "," ranks "," name)
}

function us(place, name, kind, bytes)
{
    return queue_at(place, name, kind, bytes, "us", 1)
}

function met(is)
{
    return is == "" ? "-" : is ? "met" : "missed"
}

# Whether a is at most `most` times b; "": unknown.
function at_most(a, b, most)
{
    return a == "" || b == "" ? "" : a <= most * b
}

function queue_stages(    i, n, kind, head, paper, weft, bare)
{
    print "Table 1: a thread writes 8 bytes, request by request, us by stage; both queues in GPU memory; wanted: 1.25 of bare"
    printf "%-24s %8s %8s %8s %8s %8s %8s\n", "stage", "paper", "weft", "reused", "bare", "w/bare", ""
    n = split("wqe ring poll", kind, " ")
    split("request,doorbell,completion", head, ",")
    split("1.6 1.5 3.1", paper, " ")
    for (i = 1; i <= n; i++) {
        weft = us("gg", "weft", kind[i], 8)
        bare = us("gg", "floor", kind[i], 8)
        printf "%-24s %8s %8s %8s %8s %8s %8s\n", head[i], paper[i], cell(weft),
            cell(us("gg", "weft", "reuse_" kind[i], 8)), cell(bare), quotient(weft, bare), met(at_most(weft, bare, 1.25))
    }
    weft = us("gg", "weft", "naive", 8)
    bare = us("gg", "floor", "naive", 8)
    printf "%-24s %8s %8s %8s %8s %8s %8s\n", "all, without clocks", "5.8", cell(weft),
        cell(us("gg", "weft", "reuse", 8)), cell(bare), quotient(weft, bare), met(at_most(weft, bare, 1.25))
    printf "%-24s %8s %8s\n\n", "a poll that finds none", "", cell(us("gg", "weft", "miss", 8))
}

function queue_places(    i, n, place, head, paper, earlier, weft, bare, hh)
{
    print "Table 2: one request there and back, us, by where requests and completions lie; wanted: 1.25 of bare, gg 0.45 of hh (paper 0.56)"
    printf "%-24s %8s %10s %8s %8s %8s %8s %8s %9s %8s\n", "", "paper", "prototype", "weft", "w/hh", "bare", "w/bare", "", "NIC host", "post"
    n = split("hh gh hg gg", place, " ")
    split("both host,request GPU,completion GPU,both GPU", head, ",")
    split("8.6 6.2 6.8 4.8", paper, " ")
    split("6.85 4.57 4.93 2.80", earlier, " ")
    hh = us("hh", "weft", "naive", 8)
    for (i = 1; i <= n; i++) {
        weft = us(place[i], "weft", "naive", 8)
        bare = us(place[i], "floor", "naive", 8)
        printf "%-24s %8s %10s %8s %8s %8s %8s %8s %9s %8s\n", head[i], paper[i], earlier[i], cell(weft), quotient(weft, hh),
            cell(bare), quotient(weft, bare), met(at_most(weft, bare, 1.25)), cell(us("host_" place[i], "weft", "naive", 8)),
            cell(us(place[i], "weft", "wqe", 8) + us(place[i], "weft", "ring", 8))
    }
    print "gg of hh: " met(at_most(us("gg", "weft", "naive", 8), hh, 0.45)) "\n"
}

# Gbit/s of one thread.
function gbit(place, kind, bytes,    t)
{
    t = us(place, "weft", kind, bytes)
    return t == "" ? "" : bytes * 8e-3 / t
}

function queue_forms(    bytes, i, n, place)
{
    print "Figure 3: one thread, both in GPU memory, Gbit/s by form (us of 8 bytes; paper: naive 5.8, reused 5.1). paper at 32 KiB: naive 15, pipelined 45 Gbit/s\n" \
        "Figure 5: pipelined, by placement. A warp of the NIC copies each request."
    printf "%8s %9s %9s %9s %9s %9s | %9s %9s %9s %9s\n", "bytes", "naive", "reused", "pipelined", "one ring", "read", "hh", "gh", "hg", "gg"
    n = split("hh gh hg gg", place, " ")
    for (bytes = 8; bytes <= 1048576; bytes *= bytes < 128 ? 16 : 4) {
        if (us("gg", "weft", "naive", bytes) == "")
            continue
        if (bytes == 8)
            printf "%8s %9s %9s %9s %9s %9s |\n", "8, us", cell(us("gg", "weft", "naive", 8)), cell(us("gg", "weft", "reuse", 8)),
                cell(us("gg", "weft", "pipelined", 8)), cell(us("gg", "weft", "one_ring", 8)), cell(us("gg", "weft", "read", 8))
        printf "%8d %9s %9s %9s %9s %9s |", bytes, cell(gbit("gg", "naive", bytes)), cell(gbit("gg", "reuse", bytes)),
            cell(gbit("gg", "pipelined", bytes)), cell(gbit("gg", "one_ring", bytes)), cell(gbit("gg", "read", bytes))
        for (i = 1; i <= n; i++)
            printf " %9s", cell(gbit(place[i], "pipelined", bytes))
        print ""
    }
    print ""
}

function queue_rates(    i, n, k, m, ranks, place, one, thirty, all, shared, bytes)
{
    print "Figure 4: M requests/s of 8 bytes by queues, each with a rank, 32 under way; a NIC block for each 8 queues"
    printf "%8s %9s %9s %9s %9s %9s %9s %9s\n", "queues", "hh", "gh", "hg", "gg", "gg by 16", "gg bare", "NIC host"
    n = split("1 8 30 132", ranks, " ")
    m = split("hh gh hg gg", place, " ")
    for (i = 1; i <= n; i++) {
        printf "%8d", ranks[i]
        for (k = 1; k <= m; k++)
            printf " %9s", cell(queue_at(place[k], "weft", "rate", 8, "M/s", ranks[i]))
        printf " %9s %9s %9s\n", cell(queue_at("gg", "weft", "rate_by_16", 8, "M/s", ranks[i])),
            cell(queue_at("gg", "floor", "rate", 8, "M/s", ranks[i])), cell(queue_at("host_hh", "weft", "rate", 8, "M/s", ranks[i]))
    }
    one = queue_at("gg", "weft", "rate", 8, "M/s", 1)
    thirty = queue_at("gg", "weft", "rate", 8, "M/s", 30)
    all = queue_at("gg", "weft", "rate", 8, "M/s", 132)
    print "30 queues of one: " quotient(thirty, one) ", wanted 20: " met(one == "" || thirty == "" ? "" : thirty >= 20 * one) \
        "; 132: " cell(all) " M/s, wanted 50 (prototype 68.7): " met(all == "" ? "" : all >= 50)
    all = queue_at("gg", "weft", "rate_of_puts", 8, "M/s", 8)
    shared = queue_at("shared_8", "weft", "rate_of_puts", 8, "M/s", 132)
    print "weft_put of 132 ranks on 8 shared queues: " cell(shared) " M/s, on one: " cell(queue_at("shared_1", "weft", "rate_of_puts", 8, "M/s", 132)) \
        "; 8 ranks with a queue each, by weft_put too: " cell(all) "; 8 shared of 8 own: " quotient(shared, all) \
        ", wanted 0.5: " met(all == "" || shared == "" ? "" : shared >= 0.5 * all)
    bytes = median("queue_gg,memory,0,32,B,1,weft")
    print "bytes of a queue: " cell(bytes) " (paper: 128 KB; wanted: at most 16 KiB): " met(at_most(bytes, 16384, 1)) "\n"
}

function matrix_at(kind, kib)
{
    return median("matrix," kind "," kib * 1024 ",256,M/s,1,weft")
}

function queue_matrix(    i, n, kib, gpi, gpurdma, queues, kernels, wanted)
{
    if (!("matrix" in seen))
        return
    print "Table 3: 32x32 matrix times vectors, M vectors/s by batch. paper: vectors of 32 B (GPI: a kernel for each batch; its 1.1 is printed so);\n" \
        "ours: of 128 B, two processes; by queues: the NIC is the host. wanted of queues to kernels: 1.5 at 60 KiB, 1.0 at 1920"
    printf "%8s %9s %9s %9s %9s %9s %9s %9s\n", "KiB", "GPI", "GPUrdma", "kernels", "queues", "direct", "q/kernels", ""
    n = split("60 120 240 480 960 1920", kib, " ")
    split("4.9 9.2 1.1 26.5 37.9 46.3", gpi, " ")
    split("22.4 35.9 48.1 55.6 57.7 60", gpurdma, " ")
    for (i = 1; i <= n; i++) {
        queues = matrix_at("queues", kib[i])
        kernels = matrix_at("kernels", kib[i])
        wanted = i == 1 ? 1.5 : i == n ? 1 : 0
        printf "%8d %9s %9s %9s %9s %9s %9s %9s\n", kib[i], gpi[i], gpurdma[i], cell(kernels), cell(queues),
            cell(matrix_at("direct", kib[i])), quotient(queues, kernels),
            wanted ? met(queues == "" || kernels == "" ? "" : queues >= wanted * kernels) : ""
    }
    print ""
}
