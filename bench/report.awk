# bench/report.awk - raw.csv to the tables on the terminal and, with -v summary=FILE, to one line a
# series and size: rounds, median, lowest, highest. Ratios are taken within a round.
BEGIN { FS = "," }
NR > 1 {
    if (!(($1, $2, $4) in seen)) {
        seen[$1, $2, $4] = 1
        order[++series_sizes] = $1 "," $2 "," $4
        if (!(($1, $4) in seen)) {
            seen[$1, $4] = 1
            size_of[$1, ++sizes[$1]] = $4
        }
    }
    value[$1, $2, $4, $3] = $6 + 0
    if ($3 + 0 > rounds)
        rounds = $3 + 0
}
END {
    print "measure,series,size,rounds,median,lowest,highest" >summary
    for (i = 1; i <= series_sizes; i++) {
        split(order[i], of, ",")
        collect(of[1], of[2], of[3], "")
        print order[i] "," n "," median() "," list[1] "," list[n] >summary
    }
    print "Medians of " rounds " rounds, with [lowest highest]. MPI: at each size the faster of its defaults and the"
    print "settings in commands.txt. Ratio: weft direct to MPI, within each round. Expected: whether the"
    print "median of the ratio is where it should be."
    print_pair("latency", "Notified put, one way, us; expected at 8 B: two-sided <= 1, one-sided <= 0.5")
    collect("latency", "cache line", 8, "")
    print "   floor  " cell() ": a bare cache line, from core to core and back"
    print_pair("bandwidth", "64 puts and one notification, GB/s; expected: >= 1")
    print_barriers()
}

# Sorts into list[1 .. n] what the series has at this size in each round, divided by `below` if
# that is not empty.
function collect(measure, series, size, below,    r, i, x)
{
    n = 0
    for (r = 1; r <= rounds; r++) {
        if (!((measure, series, size, r) in value))
            continue
        x = value[measure, series, size, r]
        if (below != "") {
            if (!((measure, below, size, r) in value))
                continue
            x /= value[measure, below, size, r]
        }
        for (i = ++n; i > 1 && list[i - 1] > x; i--)
            list[i] = list[i - 1]
        list[i] = x
    }
}
function median()
{
    return (list[int((n + 1) / 2)] + list[int(n / 2) + 1]) / 2
}
function short()
{
    return n ? sprintf("%.3g", median()) : "-"
}
function cell()
{
    return n ? sprintf("%.3g [%.3g %.3g]", median(), list[1], list[n]) : "-"
}

# The series or its variant with Open MPI's defaults, whichever is better at this size.
function better(measure, series, size,    tuned)
{
    collect(measure, series, size, "")
    tuned = median()
    collect(measure, series " default", size, "")
    if (measure == "latency" ? median() < tuned : median() > tuned)
        return series " default"
    return series
}

# What the issue of this library expects of the ratio; "" where it names no figure.
function verdict(measure, series, size)
{
    if (measure == "bandwidth")
        return median() >= 1 ? "yes" : "NO"
    if (size != 8)
        return ""
    if (series == "MPI one-sided")
        return median() <= 0.5 ? "yes" : "NO"
    return median() <= 1 ? "yes" : "NO"
}

function print_pair(measure, title,    i, k, size, peer, line, peers)
{
    print "\n" title
    printf "%8s  %-20s %-6s", "bytes", "weft direct", "proxy"
    split("MPI two-sided,MPI one-sided", peers, ",")
    for (k = 1; k <= 2; k++)
        printf "  %-13s %-18s %-8s", peers[k], "ratio", "expected"
    print ""
    for (i = 1; i <= sizes[measure]; i++) {
        size = size_of[measure, i]
        collect(measure, "weft direct", size, "")
        line = sprintf("%8d  %-20s", size, cell())
        collect(measure, "weft proxy", size, "")
        line = line sprintf(" %-6s", short())
        for (k = 1; k <= 2; k++) {
            peer = better(measure, peers[k], size)
            collect(measure, peer, size, "")
            line = line sprintf("  %-13s", short())
            collect(measure, "weft direct", size, peer)
            line = line sprintf(" %-18s %-8s", cell(), verdict(measure, peers[k], size))
        }
        sub(/ +$/, "", line)
        print line
    }
}

function print_barriers(    i, k, size, ways)
{
    print "\nBarrier, us (less is better); MPI has one process a rank, 208 of them on two cores"
    printf "%8s  %-20s %-26s %-26s %s\n", "ranks", "way", "time", "MPI_Barrier", "ratio"
    split("weft 2 processes,weft 1 process", ways, ",")
    for (i = 1; i <= sizes["barrier"]; i++) {
        size = size_of["barrier", i]
        for (k = 1; k <= 2; k++) {
            collect("barrier", ways[k], size, "")
            if (n == 0)
                continue
            printf "%8d  %-20s %-26s", size, ways[k], cell()
            collect("barrier", "MPI", size, "")
            printf " %-26s", cell()
            collect("barrier", ways[k], size, "MPI")
            print " " cell()
        }
    }
}
