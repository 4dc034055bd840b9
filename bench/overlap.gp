# bench/overlap.gp OUT_DIR FORMAT - weft's time over that of the two-model form, and what of that is computing,
# by study and delay, from summary.csv of overlap.sh; two processes. FORMAT: png, svg.
load system("dirname '".ARG0."'")."/colours.gp"
if (ARG2 eq "png") {
    set terminal pngcairo size 1100,560 font "sans,12" noenhanced
} else {
    set terminal svg size 1100,560 font "sans,14" background "white" noenhanced
}
set output ARG1."/overlap.".ARG2
set datafile separator ","
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.9
set border 3
set tics nomirror
set grid ytics lc rgb "#dddddd"
set title "Two processes on hosts whose packets are later by so much, over TCP"
set ylabel "time / time of the two-model form (less is better)"
set xlabel "case study and delay"
set xtics rotate by -35
set yrange [0:*]
set key top left
plot "< grep '^2,' '".ARG1."/summary.csv'" using 3:xtic(2) title "weft" lc rgb colour("weft"), \
    "" using 4 title "computing alone" lc rgb "#7f8c8d", \
    1 notitle lc rgb "#000000" dt 2
