# bench/messages.gp OUT_DIR FORMAT - latency by size, from summary.csv of messages.sh. FORMAT: png, svg.
out = ARG1
format = ARG2
if (format eq "png") {
    set terminal pngcairo size 1000,640 font "sans,12" noenhanced
} else {
    set terminal svg size 1000,640 font "sans,14" background "white" noenhanced
}
set datafile separator ","
set datafile missing NaN
file = out."/summary.csv"
colors = "#c0392b #e59866 #1f618d #1e8449"

set style line 100 lc rgb "#dddddd" lw 1
set grid xtics ytics linestyle 100
set border 3
set tics nomirror
set logscale x 2
set logscale y 10
set format y "%g"
set xlabel "message size"
set xtics ("8 B" 8, "64 B" 64, "512 B" 512, "4 KiB" 4096, "32 KiB" 32768, "256 KiB" 262144, "2 MiB" 2097152)
set key top left

at(kind, name) = strcol(1) eq kind && strcol(2) eq name ? $3 : NaN

do for [kind in "latency bandwidth tcp_latency far_latency"] {
    stats file using (strcol(1) eq kind ? $5 : NaN) nooutput
    if (STATS_records > 0) {
        series = kind eq "far_latency" ? "eager rendezvous" : "'weft' 'weft MPI' 'Open MPI' 'MPICH'"
        set output out."/".kind.".".format
        set title "Messages between two host programs: ".(kind eq "latency" ? "shared memory" : \
            kind eq "bandwidth" ? "windows of 64, shared memory" : kind eq "tcp_latency" ? \
            "TCP on the loopback interface" : "TCP between hosts that are 50 µs apart")
        set ylabel kind eq "bandwidth" ? "GB/s (more is better)" : "one-way time, µs (less is better)"
        plot for [i = 1:words(series)] file using (at(kind, word(series, i))):5:6:7 with yerrorbars \
                notitle lc rgb word(colors, i) lw 1 pt 7 ps 0.6, \
            for [i = 1:words(series)] file using (at(kind, word(series, i))):5 with lines \
                title word(series, i) lc rgb word(colors, i) lw 2
    }
}
