# bench/gpu/plot.gp - plots out of raw.csv, each as PNG and SVG, of those suites that were run:
#   gnuplot -c plot.gp RAW.CSV FOLDER
#     latency    put_notify over its size      threads    4 bytes over the threads of a rank
#     bandwidth  streams over their ranks      rate       messages of 8 bytes over the ranks
#     staged     streams through host memory over their puts' sizes, by network
# Where several rounds have a point, their mean is drawn (smooth unique).
raw = ARG1
out = ARG2
load system("dirname '".ARG0."'").'/../colours.gp'
set datafile separator ','
set key outside right top Left reverse
set grid

# The lines of raw.csv with these words for which the awk condition `more` holds, as `x`,value.
select(where, who, kind, more, action) = sprintf("awk -F, -v OFS=, -v w=%s -v n=%s -v k=%s 'NR > 1 && $1 == w && $3 == n && $4 == k && (%s) %s' %s", where, who, kind, more, action, raw)
there(where, who, kind, more) = int(system(select(where, who, kind, more, '{ n++ } END { print n + 0 }'))) > 0

# An element of a plot command; nothing if there are no such lines.
element(where, who, kind, more, x, label, dash) = there(where, who, kind, more) ? sprintf("\"< %s\" using 1:2 smooth unique with linespoints linewidth 1.5 dashtype %d pointtype %d linecolor rgb '%s' title '%s', ", select(where, who, kind, more, sprintf('{ print %s, $7 }', x)), dash, 3 + 2 * dash, colour(who), label) : ''
label(who) = who eq 'floor' ? 'plain kernel' : who eq 'nvshmem' ? 'NVSHMEM' : who eq 'nvshmem_thread' ? 'NVSHMEM, one thread' : who

# Draws `elements`, if there are any, into out/NAME.png and .svg.
draw = "if (strlen(elements) > 0) { do for [end in 'png svg'] { if (end eq 'png') { set terminal pngcairo size 1000,560 } else { set terminal svg size 1000,560 background 'white' }; set output out . '/' . name . '.' . end; eval 'plot ' . elements; unset output } }"

name = 'latency'
set logscale x 4
set logscale y
set xtics ('4 B' 4, '64 B' 64, '1 KiB' 1024, '16 KiB' 2**14, '256 KiB' 2**18, '1 MiB' 2**20)
set xlabel 'size of a put, bytes'
set ylabel 'one way, µs'
set title 'put\_notify, 128 threads a rank'
elements = ''
do for [where in 'peer same'] {
    do for [who in 'weft floor nvshmem'] {
        elements = elements . element(where, who, 'put_notify', '$6 == 128', '$5', label(who) . ', ' . where . ' GPU', where eq 'peer' ? 1 : 2)
    }
}
eval draw

name = 'threads'
set xtics auto
unset logscale
set logscale x 2
set yrange [0:*]
set xlabel 'threads a rank'
set title 'put\_notify to the peer GPU'
elements = ''
if (there('peer', 'weft', 'put_notify', '$6 != 128')) {
    do for [bytes in '4 65536'] {
        do for [who in 'weft floor nvshmem'] {
            elements = elements . element('peer', who, 'put_notify', '$6 > 1 && $5 == ' . bytes, '$6', label(who) . ', ' . bytes . ' bytes', bytes eq '4' ? 1 : 2)
        }
    }
}
eval draw

name = 'bandwidth'
set xlabel 'ranks a GPU'
set ylabel 'bandwidth of all ranks, GB/s'
do for [kind in 'one_way both_ways'] {
    name = 'bandwidth-' . kind
    set title 'puts of 1 MiB to the peer GPU, ' . (kind eq 'one_way' ? 'one way' : 'both ways, added')
    elements = ''
    do for [threads in '128 1024'] {
        do for [who in 'weft floor nvshmem'] {
            elements = elements . element('bandwidth', who, kind, '$6 == ' . threads, '$9', label(who) . ', ' . threads . ' threads', threads eq '128' ? 1 : 2)
        }
    }
    eval draw
}

do for [net in 'shm ofi'] {
    name = 'staged-' . net
    where = 'staged_' . net
    set xlabel 'size of a put, bytes'
    set ylabel 'bandwidth, GB/s'
    set xtics ('64 KiB' 2**16, '256 KiB' 2**18, '1 MiB' 2**20, '4 MiB' 2**22, '16 MiB' 2**24, '64 MiB' 2**26)
    set title 'GPU to GPU through host memory over ' . net . ', one way'
    elements = ''
    if (there(where, 'weft', 'one_way', '1')) {
        elements = elements . element(where, 'weft', 'one_way', '$9 == 1', '$5', 'weft, 1 rank', 2)
        elements = elements . element(where, 'weft', 'one_way', '$9 > 1', '$5', 'weft, 16 ranks', 1)
        elements = elements . element(where, 'network', 'one_way', '$5 >= 65536', '$5', 'the network alone', 1)
        do for [who in 'to_host to_device nccl'] {
            elements = elements . element('staged', who, 'one_way', '1', '$5', who eq 'nccl' ? 'NCCL over sockets' : who eq 'to_host' ? 'copy to the host alone' : 'copy to the GPU alone', who eq 'to_device' ? 2 : 1)
        }
    }
    eval draw
}

name = 'rate'
set xtics auto
set xlabel 'ranks a GPU'
set ylabel 'messages of all ranks, million/s'
set title 'put\_notify of 8 bytes to the peer GPU'
elements = ''
do for [kind in 'to_one to_many'] {
    do for [who in 'weft floor nvshmem nvshmem_thread'] {
        elements = elements . element('rate', who, kind, '1', '$9', label(who) . (kind eq 'to_one' ? ', to one rank' : ', rank to rank'), (kind eq 'to_one' ? 1 : 2) + (who eq 'nvshmem_thread' ? 2 : 0))
    }
}
eval draw
