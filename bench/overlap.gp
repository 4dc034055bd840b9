# bench/overlap.gp OUT_DIR FORMAT - weft's time over that of the two-model form, what of that is computing, and
# the two-model form over MPI itself, by study and delay, from summary.csv of overlap.sh: a row for each
# number of processes, a column for each network. FORMAT: png, svg.
load system("dirname '".ARG0."'")."/colours.gp"
colours = colour("weft")." #7f8c8d ".colour("MPI")
file = ARG1."/summary.csv"
processes = system("cut -d , -f 1 '".file."' | sort -nu")
networks = system("cut -d , -f 2 '".file."' | awk '!seen[$0]++'")
if (ARG2 eq "png") {
    set terminal pngcairo size 850 * words(networks), 480 * words(processes) font "sans,12" noenhanced
} else {
    set terminal svg size 850 * words(networks), 480 * words(processes) font "sans,14" background "white" noenhanced
}
set output ARG1."/overlap.".ARG2
set datafile separator ","
set style data histograms
set style histogram clustered gap 1
set style fill solid 0.9
set border 3
set tics nomirror
set grid ytics lc rgb "#dddddd"
set ylabel "time / time of the two-model form"
set xtics rotate by -35
set yrange [0:*]
set key top left
set multiplot layout words(processes), words(networks)
do for [p in processes] {
    do for [net in networks] {
        set title p." processes, ".net.", by case study and by how many µs packets are late (less is better)"
        plot for [k = 4 : net eq "mpi" ? 6 : 5] sprintf("< grep '^%s,%s,' '%s'", p, net, file) using k:xtic(3) \
                title word("weft 'computing alone' 'over MPI itself'", k - 3) lc rgb word(colours, k - 3), \
            1 notitle lc rgb "#000000" dt 2
    }
}
unset multiplot
