# bench/mpi.awk - raw.csv of mpi.sh to tables, and with -v summary=FILE to one line a series and size.
# A kind is a measurement and a number of processes. -v names: the series, weft's first, each with a "|"
# behind it. After rows.awk.
function best(kind, series, x) {
    collect(kind, series, x, "")
    return n == 0 ? "" : list[kind ~ /bandwidth/ ? n : 1]
}

# weft's time over the shortest of the others', "" if one is missing; `other` is whose that is.
function ratio(kind, x,    k, v, least) {
    v = best(kind, name[1], x)
    least = ""
    for (k = 2; k <= series; k++)
        if (best(kind, name[k], x) != "" && (least == "" || less(kind, best(kind, name[k], x), least))) {
            least = best(kind, name[k], x)
            other = name[k]
        }
    return v == "" || least == "" ? "" : kind ~ /bandwidth/ ? least / v : v / least
}

function less(kind, a, b) {
    return kind ~ /bandwidth/ ? a > b : a < b
}

function show(v) {
    return v == "" ? "" : v >= 100 ? sprintf("%.0f", v) : v >= 10 ? sprintf("%.1f", v) : v >= 1 ? sprintf("%.2f", v) : sprintf("%.3f", v)
}

# The geometric mean of the ratios up to a size, and the largest.
function mean(kind, to,    i, v, sum, count) {
    largest = 0
    for (i = 1; i <= xs[kind]; i++) {
        v = x_of[kind, i] + 0 <= to ? ratio(kind, x_of[kind, i]) : ""
        if (v == "")
            continue
        sum += log(v)
        count++
        if (v > largest) {
            largest = v
            largest_at = x_of[kind, i] " B, " other
        }
    }
    return count ? sprintf("%.2f", exp(sum / count)) : ""
}

function row(kind,    part, all) {
    split(kind, part, " ")
    all = mean(kind, 65536)
    print "| " part[1] " | " part[2] " | " mean(kind, 1024) " | " all " | " (mean(kind, 65536) == "" ? "" : sprintf("%.2f", largest) " (" largest_at ")") " |"
}

# All sizes of a kind.
function table(kind,    i, k, line) {
    line = "| bytes |"
    for (k = 1; k <= series; k++)
        line = line " " name[k] " |"
    print "\n### " kind " processes, " (kind ~ /bandwidth/ ? "GB/s" : "us") "\n\n" line " ratio |"
    gsub(/[^|]+/, " --- ", line)
    print line " --- |"
    for (i = 1; i <= xs[kind]; i++) {
        line = "| " x_of[kind, i] " |"
        for (k = 1; k <= series; k++)
            line = line " " show(best(kind, name[k], x_of[kind, i])) " |"
        print line " " show(ratio(kind, x_of[kind, i])) " |"
    }
}

END {
    series = split(names, name, "|") - 1
    summarize("kind", "x")
    for (i = 1; i <= lines; i++) {
        split(order[i], part, ",")
        if (!(part[1] in known)) {
            known[part[1]] = 1
            kind[++kinds] = part[1]
        }
    }
    print "The best of " rounds " rounds. Ratios: the time that weft takes over that of the quickest other, by their best rounds; of bandwidths the other way round. 1 or less: weft is as quick.\n"
    print "| | processes | geometric mean, to 1 KiB | to 64 KiB | largest (at, beside) |\n| --- | --- | --- | --- | --- |"
    for (i = 1; i <= kinds; i++)
        row(kind[i])
    for (i = 1; i <= kinds; i++)
        table(kind[i])
}
