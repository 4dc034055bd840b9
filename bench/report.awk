# bench/report.awk - raw.csv to the tables on the terminal and, with -v summary=FILE, to one line a
# series and size: rounds, median, lowest, highest. Ratios are taken within a round. After
# rows.awk.
BEGIN { value_at = 6 }
END {
    summarize("measure", "size")
    print "Medians of " rounds " rounds, with [lowest highest]. MPI: at each size the faster of its defaults and the"
    print "settings in commands.txt. Ratio: weft direct to MPI, within each round. Expected: whether the"
    print "median of the ratio is where it should be."
    print_pair("latency", "Notified put, one way, us; expected at 8 B: two-sided <= 1, one-sided <= 0.5")
    collect("latency", "cache line", 8, "")
    print "   floor  " cell() ": a bare cache line, from core to core and back"
    print_pair("bandwidth", "64 puts and one notification, GB/s; expected: >= 1")
    print_barriers()
}

function short()
{
    return n ? sprintf("%.3g", middle()) : "-"
}
function cell()
{
    return n ? sprintf("%.3g [%.3g %.3g]", middle(), list[1], list[n]) : "-"
}

# The series or its variant with Open MPI's defaults, whichever is better at this size.
function better(measure, series, size,    tuned)
{
    tuned = of(measure, series, size, "")
    collect(measure, series " default", size, "")
    if (n > 0 && (measure == "latency" ? middle() < tuned : middle() > tuned))
        return series " default"
    return series
}

# What the issue of this library expects of the ratio; "" where it names no figure.
function verdict(measure, series, size)
{
    if (measure == "bandwidth")
        return middle() >= 1 ? "yes" : "NO"
    if (size != 8)
        return ""
    if (series == "MPI one-sided")
        return middle() <= 0.5 ? "yes" : "NO"
    return middle() <= 1 ? "yes" : "NO"
}

function print_pair(measure, title,    i, k, size, peer, line, peers)
{
    print "\n" title
    printf "%8s  %-20s %-6s", "bytes", "weft direct", "proxy"
    split("MPI two-sided,MPI one-sided", peers, ",")
    for (k = 1; k <= 2; k++)
        printf "  %-13s %-18s %-8s", peers[k], "ratio", "expected"
    print ""
    for (i = 1; i <= xs[measure]; i++) {
        size = x_of[measure, i]
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
    for (i = 1; i <= xs["barrier"]; i++) {
        size = x_of["barrier", i]
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
