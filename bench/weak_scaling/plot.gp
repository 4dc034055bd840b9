# bench/weak_scaling/plot.gp SUMMARY APP FORMAT OUTPUT - time of an iteration over processes, a line for
# each variant, with its 95% confidence interval.
load system("dirname '".ARG0."'")."/../colours.gp"
summary = ARG1
app = ARG2
if (ARG3 eq "svg") {
    set terminal svg noenhanced size 780,480 font "sans,12" background "white"
} else {
    set terminal pngcairo noenhanced size 780,480 font "sans,10"
}
set output ARG4
set datafile separator ","
set title app . ": weak scaling"
set xlabel "processes"
set ylabel "time of an iteration, µs"
set yrange [0:*]
set offsets 0.2, 0.2, 0, 0
set grid ytics
set key outside right top Left reverse
variants = system(sprintf("awk -F, -v app=%s 'NR > 1 && $1 == app && !s[$3]++ { print $3 }' '%s'", app, summary))
set xtics 1
rows(variant) = sprintf("< awk -F, -v OFS=, -v app=%s -v variant=%s '$1 == app && $3 == variant' '%s'", app, variant, summary)
plot for [i = 1:words(variants)] rows(word(variants, i)) using 2:5:6:7 with yerrorlines lw 2 pt i + 3 ps 0.9 lc rgb colour(word(variants, i)) title word(variants, i)
