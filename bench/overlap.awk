# bench/overlap.awk - raw.csv of overlap.sh to tables: medians of the rounds, and the hidden share of each
# round's own three times. With -v summary=FILE also to one line each, for the plot. Field 3: how many us
# packets are late; on a GPU the network.
BEGIN {
    FS = ","
    split("0 50 500 shm ofi", places, " ")
    split("stencil planes particles spmv power_iteration", studies, " ")
    title["planes"] = "stencil, 26 messages an exchange"
}
NR > 1 {
    total[$1, $2, $3, $4, $5] = $6 + 0
    wait[$1, $2, $3, $4, $5] = $7 + 0
    seen[$2 + 0] = 1
    gpu = gpu || $3 !~ /^[0-9]/
    if ($5 + 0 > rounds)
        rounds = $5 + 0
}
# Of T, M, C or the share, as `what` says, over the rounds.
function over(what, study, p, delay,    r, t, m, c) {
    n = 0
    for (r = 1; r <= rounds; r++) {
        if (!((study, p, delay, "weft", r) in total))
            continue
        t = total[study, p, delay, "weft", r]
        m = total[study, p, delay, "two-model", r]
        c = m - wait[study, p, delay, "two-model", r]
        keep((what == "T") ? t : (what == "M") ? m : (what == "C") ? c : (m > c) ? 1 - (t - c) / (m - c) : 0)
    }
    return middle() + 0
}
END {
    for (p = 2; p <= 4; p += 2) {
        if (!(p in seen))
            continue
        printf "%s%d processes%s, ms; hidden share of the network's time.\n\n", p == 2 ? "" : "\n", p,
            gpu ? "" : ", a host each"
        printf "| | %s | weft | two-model | its computing | hidden | |\n", gpu ? "network" : "later by"
        print "| --- | --- | --- | --- | --- | --- | --- |"
        for (s = 1; s in studies; s++)
            for (i = 1; i in places; i++) {
                study = studies[s]
                d = places[i]
                if (!((study, p, d, "weft", 1) in total))
                    continue
                place = d ~ /^[0-9]/ ? d " µs" : d
                t = over("T", study, p, d)
                m = over("M", study, p, d)
                share = over("share", study, p, d)
                if (summary != "")
                    printf "%d,%s %s,%g,%g\n", p, study, place, t / m, over("C", study, p, d) / m >summary
                wanted = (d == "50" || gpu) && study ~ /^(stencil|particles)$/ ? (share >= 0.7 ? "met" : "missed: 0.7 wanted") : ""
                printf "| %s | %s | %.3g | %.3g | %.3g | %.2f | %s%s |\n", study in title ? title[study] : study, place, t, m,
                    over("C", study, p, d), share, wanted, (t > m) ? (wanted == "" ? "" : "; ") "**slower than the two-model form**" : ""
            }
    }
}
