# bench/gpu/table.awk - raw.csv of tools/gpu-bench to its tables: medians over the rounds, a table for
# every suite that was run. NVSHMEM: the better of a signal that adds and one that stores.
BEGIN { FS = "," }
NR > 1 {
    what = $4 "," ($1 == "power" ? "" : $5) "," ($1 ~ /^(nccl|coll)/ ? "" : $6) "," $8 "," ($1 ~ /^coll/ ? "" : $9)
    row = $1 "," what
    if (!(row in seen)) {
        seen[row] = 1
        rows[++count] = row
        seen[$1] = 1
    }
    key = row "," $3 SUBSEP $2
    if (!(key in value) || better($7 + 0, value[key], $8) == $7 + 0)
        value[key] = $7 + 0 # cuSPARSE has two algorithms: the better one
    if ($2 > rounds)
        rounds = $2 + 0
}
END {
    table("us one way; 1 thread: the bare flag, without barriers of the block", "same host peer proxy",
        "weft floor nvshmem", "weft floor NVSHMEM", "floor nvshmem")
    table("a few bytes of the GPU's memory for the host, us there and back; floor: a bare warp that stays; lease: launched when it has left",
        "errand", "weft floor driver", "weft floor driver", "floor driver")
    table("reading and updating another rank's memory, us each; floor: plain loads", "get_same get_peer get_proxy",
        "weft floor nvshmem", "weft floor NVSHMEM", "floor nvshmem")
    table("us; on 1, 2 and 4 GPUs; bytes: ranks of all; floor: grid.sync", "barrier barrier2 barrier4",
        "weft floor nvshmem", "weft floor NVSHMEM", "floor nvshmem")
    table("weft_allreduce of all ranks, us each; on 1 and 2 GPUs; floor: one barrier of them; NCCL: one contribution a GPU, launch included",
        "coll coll2", "weft floor nccl", "weft floor NCCL", "floor nccl")
    table("calls of weft/ccl.h, us each, in CUDA graphs of equal calls; on 2, 4 and 8 GPUs; floor: empty kernels; windows: NCCL's registered buffers; torch: one and two shots; in_kernel: each of 32 blocks, of so many threads, its own vector; dispatch, combine: of tokens of 14336 bytes, top 8 of 256 experts",
        "ccl2 ccl4 ccl8", "weft floor nccl nccl_window torch_one torch_two", "weft floor NCCL windows torch_one torch_two",
        "nccl nccl_window torch_one torch_two")
    message_tables() # messages.awk
    table("streams of puts to the other GPU; GB/s of all ranks, both directions added; floor: plain kernel",
        "bandwidth", "weft floor nvshmem memcpy", "weft floor NVSHMEM cudaMemcpy", "floor nvshmem")
    staged_table()
    table("copies to the other GPU by plain kernels, GB/s; engine: by 8 buffers of so many KiB in shared memory",
        "engine", "floor engine4 engine8 engine16", "loads engine4 engine8 engine16", "")
    table("put_notify of 8 bytes by every rank of a GPU: messages a second of all, or us a round; floor, 1thr: by one thread of the block",
        "rate", "weft floor nvshmem nvshmem_thread before", "weft floor NVSHMEM NVSH.1thr before", "floor nvshmem nvshmem_thread before")
    table("ranks of 256 threads, us a round of a ring, a barrier, or a step of stencil2d, particles and stencil; with room for two on a multiprocessor, and for four (64 registers); before: -b; floor: plain CUDA",
        "crowd", "weft weft_4 before before_4 floor", "weft weft/4 before before/4 floor", "weft_4 before")
    table("dCUDA's tables; ranks: active ones; round: put_notify there, notify back", "dcuda_same dcuda_peer",
        "weft", "weft", "")
    table("us one way between two GPUs; nccl: NCCL send/recv, launch included; LSA: kernel on its pointers; cudaMemcpy: PeerAsync and sync",
        "nccl", "weft nccl nccl_lsa memcpy", "weft nccl NCCL_LSA cudaMemcpy", "nccl nccl_lsa")
    table("us with eager channels, and without any; on one GPU, and between two", "eager_on eager_off eager2_on eager2_off", "weft", "weft", "")
    table("a kernel that uses the library, and a plain one that does the same", "cost", "weft floor", "weft floor", "")
    table("power iteration, each; ranks: no meaning", "power", "weft cusparse", "weft cuSPARSE", "cusparse")
    queue_tables() # queue.awk
}

# wheres, names, heads: words. ratios: names that weft is divided by. Nothing if none of wheres was run.
function table(title, wheres, names, heads, ratios,    place, places, name, head, ratio, i, n, m, w, head_of, printed)
{
    w = split(wheres, places, " ")
    n = split(names, name, " ")
    split(heads, head, " ")
    m = split(ratios, ratio, " ")
    for (place = 1; place <= w; place++) {
        if (!(places[place] in seen))
            continue
        if (!printed++) {
            print title
            printf "%-10s %-18s %8s %7s %5s %5s", "where", "what", "bytes", "threads", "ranks", ""
            for (i = 1; i <= n; i++) {
                printf " %10s", head[i]
                head_of[name[i]] = head[i]
            }
            for (i = 1; i <= m; i++)
                printf " %12s", "w/" head_of[ratio[i]]
            print ""
        }
        print_place(places[place], name, n, ratio, m)
    }
}

# What lies on the way of a put through host memory, each stage alone; weft; NCCL over sockets, with
# its defaults or with 16 sockets, whatever is better. The stages know no ranks.
function staged_table(    r, of, alone, weft, to_host, network, to_device, slowest, nccl, printed)
{
    for (r = 1; r <= count; r++) {
        split(rows[r], of, ",")
        weft = median(rows[r] ",weft")
        if (of[1] !~ /^staged_/ || weft == "")
            continue
        if (!printed++) {
            print "GPU to GPU through host memory, GB/s, both directions added; to_host, network, to_device: a stage alone; NCCL: send/recv over sockets"
            printf "%-10s %-10s %9s %7s %5s %9s %9s %9s %9s %9s %9s %9s %9s\n", "where", "what", "bytes", "threads",
                "ranks", "to_host", "network", "to_device", "slowest", "weft", "w/slowest", "NCCL", "w/NCCL"
        }
        alone = of[2] "," of[3] ",0," of[5] ",1,"
        to_host = median("staged," alone "to_host")
        network = median(of[1] "," alone "network")
        to_device = median("staged," alone "to_device")
        nccl = better(median("staged," alone "nccl"), median("staged," alone "nccl_16"), of[5])
        slowest = least(to_host, least(network, to_device))
        printf "%-10s %-10s %9s %7s %5s %9s %9s %9s %9s %9s %9s %9s %9s\n", of[1], of[2], of[3], of[4], of[6],
            cell(to_host), cell(network), cell(to_device), cell(slowest), cell(weft), quotient(weft, slowest),
            cell(nccl), quotient(weft, nccl)
    }
    if (printed)
        print ""
}

# "" if one of them is unknown: the slowest stage is then unknown, too.
function least(a, b)
{
    return a == "" || b == "" ? "" : a < b ? a : b
}

function print_place(where, name, n, ratio, m,    r, i, of, weft)
{
    for (r = 1; r <= count; r++) {
        split(rows[r], of, ",")
        if (of[1] != where)
            continue
        printf "%-10s %-18s %8s %7s %5s %5s", of[1], of[2], of[3], of[4], of[6], of[5]
        for (i = 1; i <= n; i++)
            printf " %10s", cell(figure(rows[r], name[i], of[5]))
        weft = figure(rows[r], "weft", of[5])
        for (i = 1; i <= m; i++)
            printf " %12s", quotient(weft, figure(rows[r], ratio[i], of[5]))
        print ""
    }
    print ""
}

function figure(row, name, unit)
{
    if (name == "nvshmem")
        return better(median(row "," name), median(row ",nvshmem_set"), unit)
    return median(row "," name)
}

# Over the rounds that have it; "" if none has.
function median(key,    r)
{
    n = 0
    for (r = 1; r <= rounds; r++)
        if ((key, r) in value)
            keep(value[key, r])
    return middle()
}

# Of rates the larger one, of times the smaller one.
function better(a, b, unit)
{
    if (a == "" || b == "")
        return a == "" ? b : a
    return (unit ~ /\/s$/) == (a > b) ? a : b
}

function cell(x)
{
    return x == "" ? "-" : sprintf(x >= 1000 ? "%.0f" : "%.3g", x)
}

function quotient(a, b)
{
    return a == "" || b == "" || b == 0 ? "-" : sprintf("%.2f", a / b)
}
