# bench/tables.awk - what makes Markdown tables of what rows.awk has read. After median.awk and rows.awk.

function show(v) {
    return v == "" ? "not run" : v >= 100 ? sprintf("%.0f", v) : v >= 10 ? sprintf("%.1f", v) : v >= 1 ? sprintf("%.2f", v) : sprintf("%.3f", v)
}

# "least" or "most" of what is wanted.
function judge(v, how, wanted) {
    return v == "" ? "not run" : show(v) ": " ((how == "least" ? v >= wanted : v <= wanted) ? "met" : "MISSED")
}

# A row for each x; titles and series with | between them.
function table(kind, head, titles, series,    t, s, n, i, k, line) {
    n = split(titles, t, "|")
    split(series, s, "|")
    line = "| " head " |"
    for (i = 1; i <= n; i++)
        line = line " " t[i] " |"
    print line
    gsub(/[^|]+/, " --- ", line)
    print line
    for (k = 1; k <= xs[kind]; k++) {
        line = "| " x_of[kind, k] " |"
        for (i = 1; i <= n; i++)
            line = line " " show(of(kind, s[i], x_of[kind, k])) " |"
        print line
    }
    print ""
}

function heading(text) {
    print "### " text "\n"
}

# The largest of a series, over all x or up to one.
function worst(kind, series, most,    k, v, w) {
    w = ""
    for (k = 1; k <= xs[kind]; k++) {
        v = most == "" || x_of[kind, k] <= most ? of(kind, series, x_of[kind, k]) : ""
        if (v != "" && (w == "" || v > w))
            w = v
    }
    return w
}
