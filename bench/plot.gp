# bench/plot.gp OUT_DIR FORMAT - latency and bandwidth over size, from summary.csv. FORMAT: png, svg.
load system("dirname '".ARG0."'")."/colours.gp"
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
series = "'weft direct' 'weft proxy' 'MPI two-sided' 'MPI two-sided default' \
          'MPI one-sided' 'MPI one-sided default'"
dashes = "1 2 1 2 3 4"
points = "7 6 5 4 9 8"

set style line 100 lc rgb "#dddddd" lw 1
set grid xtics ytics linestyle 100
set border 3
set tics nomirror
set logscale x 2
set logscale y 10
set format y "%g"
set xrange [6:1400000]
set xlabel "size of a message, bytes"
set xtics ("8 B" 8, "32 B" 32, "128 B" 128, "512 B" 512, "2 KiB" 2048, "8 KiB" 8192, \
           "32 KiB" 32768, "128 KiB" 131072, "1 MiB" 1048576)

# Rows of one series of one measurement; the others become gaps.
at(measure, name) = strcol(1) eq measure && strcol(2) eq name ? $3 : NaN

do for [measure in "latency bandwidth"] {
    set output out."/".measure.".".format
    if (measure eq "latency") {
        set title "Notified put against MPI, two processes on two cores: one-way time"
        set ylabel "one-way time, µs (less is better)"
        set key top left Left reverse
    } else {
        set title "64 messages and one notification, two processes on two cores: bandwidth"
        set ylabel "bandwidth, GB/s (more is better)"
        set key bottom right Left reverse
    }
    plot for [i = 1:6] file using (at(measure, word(series, i))):5:6:7 with yerrorbars \
            notitle lc rgb colour(word(series, i)) lw 1 pt int(word(points, i)) ps 0.8, \
        for [i = 1:6] file using (at(measure, word(series, i))):5 with linespoints \
            title word(series, i) lc rgb colour(word(series, i)) dt int(word(dashes, i)) lw 2 \
            pt int(word(points, i)) ps 0.8
}
