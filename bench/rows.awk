# bench/rows.awk - reads raw.csv, of which each row is a kind, a series, a round, an x and, in column
# value_at, a value. With median.awk.
BEGIN {
    FS = ","
    value_at = 5
}
NR > 1 {
    if (!(($1, $2, $4) in seen)) {
        seen[$1, $2, $4] = 1
        order[++lines] = $1 "," $2 "," $4
        has[$1, $2] = 1
        if (!(($1, $4) in seen)) {
            seen[$1, $4] = 1
            x_of[$1, ++xs[$1]] = $4
        }
    }
    value[$1, $2, $4, $3] = $value_at + 0
    if ($3 + 0 > rounds)
        rounds = $3 + 0
}

# The list of a series at x, a value a round; below: of its ratios to another series.
function collect(kind, series, x, below,    r) {
    n = 0
    for (r = 1; r <= rounds; r++)
        if (((kind, series, x, r) in value) &&
            (below == "" || (((kind, below, x, r) in value) && value[kind, below, x, r] > 0)))
            keep(value[kind, series, x, r] / (below == "" ? 1 : value[kind, below, x, r]))
}

# The median of that; "": it was not run.
function of(kind, series, x, below) {
    collect(kind, series, x, below)
    return middle()
}

# A line a series and x into the file `summary`.
function summarize(kind, x,    i, part) {
    print kind ",series," x ",rounds,median,lowest,highest" >summary
    for (i = 1; i <= lines; i++) {
        split(order[i], part, ",")
        collect(part[1], part[2], part[3], "")
        print order[i] "," n "," middle() "," list[1] "," list[n] >summary
    }
}
