# bench/gpu/table.awk - raw.csv of tools/gpu-bench to its table: medians over the rounds. NVSHMEM: the
# better of a signal that adds and one that stores. A series with one thread has columns of its own.
BEGIN { FS = "," }
NR > 1 {
    row = $1 "," $4 "," ($1 == "power" ? "" : $5)
    if (!(row in seen)) {
        seen[row] = 1
        rows[++count] = row
        if (!($1 in seen)) {
            seen[$1] = 1
            wheres[++places] = $1
        }
    }
    key = row "," $3 "," ($6 == 1 && $1 != "host" ? 1 : "")
    if (!((key, $2) in value) || $7 < value[key, $2])
        value[key, $2] = $7 + 0 # cuSPARSE has two algorithms: the better one
    if ($2 > rounds)
        rounds = $2 + 0
}
END {
    print "us; latency: one way. 1 thread: the bare flag, without barriers of the block."
    printf "%-9s %-16s %8s %9s %9s %9s %9s %9s %9s %9s\n", "where", "what", "bytes", "weft", "floor", "NVSHMEM",
        "w/floor", "w/NVSHMEM", "floor 1t", "NVSHM. 1t"
    for (place = 1; place <= places; place++) {
        if (wheres[place] != "power")
            print_place(wheres[place])
    }
    print "barrier, barrier2: on 1 and 2 GPUs; bytes: ranks of all; floor: grid.sync.\n"
    printf "%-26s %9s %9s %9s\n", "power iteration, us each", "weft", "cuSPARSE", "ratio"
    for (i = 1; i <= count; i++) {
        split(rows[i], of, ",")
        if (of[1] != "power")
            continue
        weft = median(rows[i] ",weft,")
        peer = median(rows[i] ",cusparse,")
        printf "%-26s %9s %9s %9s\n", of[2], cell(weft), cell(peer), ratio(weft, peer)
    }
}

function print_place(where,    i, of, weft, floor, peer, floor1, peer1)
{
    for (i = 1; i <= count; i++) {
        split(rows[i], of, ",")
        if (of[1] != where)
            continue
        weft = median(rows[i] ",weft,")
        floor = median(rows[i] ",floor,")
        peer = better(median(rows[i] ",nvshmem,"), median(rows[i] ",nvshmem_set,"))
        floor1 = median(rows[i] ",floor,1")
        peer1 = better(median(rows[i] ",nvshmem,1"), median(rows[i] ",nvshmem_set,1"))
        printf "%-9s %-16s %8s %9s %9s %9s %9s %9s %9s %9s\n", of[1], of[2], of[3], cell(weft), cell(floor),
            cell(peer), ratio(weft, floor), ratio(weft, peer), cell(floor1), cell(peer1)
    }
    print ""
}

# Over the rounds that have it; "" if none has.
function median(key,    r, i, n, x, list)
{
    for (r = 1; r <= rounds; r++) {
        if (!((key, r) in value))
            continue
        x = value[key, r]
        for (i = ++n; i > 1 && list[i - 1] > x; i--)
            list[i] = list[i - 1]
        list[i] = x
    }
    return n ? (list[int((n + 1) / 2)] + list[int(n / 2) + 1]) / 2 : ""
}
function better(a, b)
{
    return a == "" || (b != "" && b < a) ? b : a
}
function cell(x)
{
    return x == "" ? "-" : sprintf("%.3g", x)
}
function ratio(a, b)
{
    return a == "" || b == "" ? "-" : sprintf("%.2f", a / b)
}
