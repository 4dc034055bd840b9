# bench/gpu/plot.gp - one-way latency of put_notify over its size, out of raw.csv:
#   gnuplot -e "raw='raw.csv'; out='latency'" plot.gp      makes latency.png and latency.svg
set datafile separator ','
set logscale xy
set xlabel 'bytes'
set ylabel 'one way, µs'
set key left top
set grid
set xrange [3:2e6]
set title 'put\_notify, 128 threads a rank'
pick(where, name) = sprintf("< awk -F, '$1 == \"%s\" && $3 == \"%s\" && $4 == \"put_notify\" && $6 == 128' %s", where, name, raw)
plots = "plot for [i = 1:5] pick(word(places, i), word(names, i)) using 5:7 smooth unique with linespoints linewidth 1.5 title word(titles, i)"
places = 'peer peer peer same same'
names = 'weft floor nvshmem weft floor'
titles = '"weft, peer GPU" "plain kernel, peer GPU" "NVSHMEM, peer GPU" "weft, same GPU" "plain kernel, same GPU"'
set terminal pngcairo size 900,600
set output out . '.png'
eval plots
set terminal svg size 900,600
set output out . '.svg'
eval plots
