# bench/overlap.awk - raw.csv of overlap.sh to tables: medians of the rounds, and the hidden share of each
# round's own three times. With -v summary=FILE also to one line each, for the plot. Field 4: how many us
# packets are late; empty on a GPU.
BEGIN {
    FS = ","
    split("ofi,0 ofi,50 ofi,500 mpi,0 mpi,50 mpi,500 shm, ofi,", places, " ")
    split("stencil planes particles spmv power_iteration", studies, " ")
    title["planes"] = "stencil, 26 messages an exchange"
}
NR > 1 {
    place = $3 "," $4
    total[$1, $2, place, $5, $6] = $7 + 0
    wait[$1, $2, place, $5, $6] = $8 + 0
    seen[$2 + 0] = 1
    gpu = gpu || $4 == ""
    if ($6 + 0 > rounds)
        rounds = $6 + 0
}
# Of T, M, C, the share, or the time over MPI itself, as `what` says, over the rounds.
function over(what, study, p, place,    r, t, m, c) {
    n = 0
    for (r = 1; r <= rounds; r++) {
        if (what == "MPI" && (study, p, place, "mpi", r) in total)
            keep(total[study, p, place, "mpi", r])
        if (what == "MPI" || !((study, p, place, "weft", r) in total) || !((study, p, place, "two-model", r) in total))
            continue
        t = total[study, p, place, "weft", r]
        m = total[study, p, place, "two-model", r]
        c = m - wait[study, p, place, "two-model", r]
        keep((what == "T") ? t : (what == "M") ? m : (what == "C") ? c : (m > c) ? 1 - (t - c) / (m - c) : 0)
    }
    return middle()
}
END {
    for (p = 1; p <= 99; p++) {
        if (!(p in seen))
            continue
        printf "%s%d processes%s, ms; hidden share of the network's time.\n\n", begun++ ? "\n" : "", p,
            gpu ? "" : ", a host each"
        print "| | network | later by | weft | two-model | its computing | hidden | over MPI itself | |"
        print "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
        for (s = 1; s in studies; s++)
            for (i = 1; i in places; i++) {
                study = studies[s]
                t = over("T", study, p, places[i])
                if (t == "")
                    continue
                m = over("M", study, p, places[i])
                share = over("share", study, p, places[i])
                mpi = over("MPI", study, p, places[i])
                split(places[i], where, ",")
                if (summary != "")
                    printf "%d,%s,%s %s,%g,%g,%s\n", p, where[1], study, where[2], t / m, over("C", study, p, places[i]) / m,
                        mpi == "" ? "" : mpi / m >summary
                wanted = (where[2] == "50" || gpu) && study ~ /^(stencil|particles)$/ ? (share >= 0.7 ? "met" : "missed: 0.7 wanted") : ""
                printf "| %s | %s | %s | %.3g | %.3g | %.3g | %.2f | %s | %s%s |\n", study in title ? title[study] : study,
                    where[1], gpu ? "" : where[2] " µs", t, m, over("C", study, p, places[i]), share,
                    mpi == "" ? "" : sprintf("%.3g", mpi),
                    wanted, (t > m) ? (wanted == "" ? "" : "; ") "**slower than the two-model form**" : ""
            }
    }
}
