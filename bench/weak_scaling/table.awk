# bench/weak_scaling/table.awk - raw.csv to a table for each application: the median time of an iteration
# and its 95% confidence interval, the share of communication where it is known, and how much faster
# weft is. The numbers go to the file `summary`, too, for the plot.
#
# The interval is that of order statistics: the k-th lowest and the k-th highest sample, with the
# largest k for which fewer than 2.5% of all series of so many samples have their median outside on
# one side. With fewer than 6 samples it is all of them, and less sure.
BEGIN {
    FS = ","
    published["particles"] = "1.7 (1.3 on one device)"
    published["stencil"] = "1.2"
    published["spmv"] = "1.4"
    published["power_iteration"] = "1.33 over the same network, 2.1 over MPI"
}

FNR == 1 { next }

{
    key = $1 SUBSEP $4 SUBSEP $2
    if (!(key in count)) {
        if (!($1 in seen_app)) { seen_app[$1] = 1; app[++apps] = $1 }
        if (!(($1, $4) in seen_size)) { seen_size[$1, $4] = 1; size[$1, ++sizes[$1]] = $4 }
        if (!(($1, $2) in seen_variant)) { seen_variant[$1, $2] = 1; variant[$1, ++variants[$1]] = $2 }
    }
    sample[key, ++count[key]] = $9 / $7 * 1000
    if ($10 != "") { communication[key] += $10 / $7 * 1000; told[key]++ }
    ranks[key] = $5; threads[key] = $6; device = $3
}

# Which sample from either end bounds the interval.
function bound(n,    k, term, sum) {
    term = 0.5 ^ n # the chance of no sample below the median
    sum = term
    for (k = 1; sum <= 0.025; k++) {
        term = term * (n - k + 1) / k
        sum += term
    }
    return k > 1 ? k - 1 : 1
}

END {
    print "app,processes,variant,samples,median_us,low_us,high_us,communication_us" >summary
    for (a = 1; a <= apps; a++) {
        printf "%s%s on %s: microseconds an iteration\n", (a > 1 ? "\n" : ""), app[a], device
        printf "%9s  %-10s %7s %11s   %-23s %14s %7s\n", "processes", "variant", "samples", "median",
            "95% confidence", "communication", "weft is"
        for (s = 1; s <= sizes[app[a]]; s++) {
            processes = size[app[a], s]
            weft = app[a] SUBSEP processes SUBSEP "weft"
            for (v = 1; v <= variants[app[a]]; v++) {
                key = app[a] SUBSEP processes SUBSEP variant[app[a], v]
                if (!(key in count)) continue
                n = 0
                for (i = 1; i <= count[key]; i++)
                    keep(sample[key, i])
                few += n < 6
                k = bound(n)
                typical[key] = middle()
                share = key in told ? sprintf("%.3f", communication[key] / told[key]) : ""
                ratio = ""
                if (variant[app[a], v] != "weft" && weft in typical) {
                    ratio = typical[key] / typical[weft]
                    if (!((app[a], processes) in best) || ratio < best[app[a], processes])
                        best[app[a], processes] = ratio
                    ratio = sprintf("%.2f x", ratio)
                } else if (variant[app[a], v] == "weft") {
                    ratio = ranks[key] " x " threads[key]
                }
                printf "%9d  %-10s %7d %11.3f   %9.3f .. %-10.3f %14s %7s\n", processes, variant[app[a], v],
                    n, typical[key], list[k], list[n + 1 - k], share, ratio
                printf "%s,%d,%s,%d,%.6f,%.6f,%.6f,%s\n", app[a], processes, variant[app[a], v], n,
                    typical[key], list[k], list[n + 1 - k], share >summary
            }
        }
        printf "weft over the fastest two-model variant:"
        for (s = 1; s <= sizes[app[a]]; s++)
            if ((app[a], size[app[a], s]) in best)
                printf " %.2f on %d,", best[app[a], size[app[a], s]], size[app[a], s]
        printf " published for dCUDA: %s\n", app[a] in published ? published[app[a]] : "nothing"
    }
    if (few)
        print "\nOf fewer than 6 samples the interval is their range, which holds the median less surely."
    print "\nweft's line ends with its ranks on a device x the threads of a rank."
    print "Published: the dCUDA work, on other GPUs and another network; the ratio, not the time, compares."
}
