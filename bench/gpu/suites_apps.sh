# gpu/suites_apps.sh - suites of tools/gpu-bench: applications, queues, and what a kernel costs; sourced after
# run.sh.

# plate NAME RANKS THREADS COMMAND... - what stencil2d takes for an iteration.
plate() {
    local name=$1 ranks=$2 threads=$3 label=crowd-$1-stencil2d-$2
    shift 3
    [ -x "$1" ] || return
    limited "$label" "$@" -N 4000 --iterations 200
    sed -n 's/.*: \([0-9.]*\) ms an iteration.*/\1/p' "$out/$label.log" | awk -v OFS=, \
        -v line="crowd,$round,$name,stencil2d,0,$threads" -v ranks="$ranks" '{ print line, $1 * 1e3, "us", ranks }' >>"$out/raw.csv"
}

# With room for two ranks on each multiprocessor, and with room for four: half of the registers.
crowd_once() {
    local per ranks name=${build:-weft}
    for per in 1 2 4; do
        ranks=$((per * crowd_processors))
        if [ $per -le 2 ]; then
            run crowd "$name-$ranks" $bin/bench_gpu_crowd --threads 256 $ranks
            plate "$name" $ranks 256 $bin/stencil2d --variant ranks --ranks $ranks
            crowd_study "$name" $ranks particles
            crowd_study "$name" $ranks stencil
        fi
        [ ! -x $bin/bench_gpu_crowd_4 ] || build=${name}_4 run crowd "${name}_4-$ranks" $bin/bench_gpu_crowd_4 --threads 256 $ranks
        plate "${name}_4" $ranks 256 $bin/stencil2d_4 --variant ranks --ranks $ranks
    done
}

# crowd_study NAME RANKS STUDY - of a size that more ranks than multiprocessors can share.
crowd_study() {
    local label=crowd-$1-$3-$2
    limited "$label" $bin/"$3" --preset fill --threads 256 --ranks "$2" --csv
    awk -F, -v OFS=, -v line="crowd,$round,$1,$3,0" 'NR > 1 { print line, $6, $9 / $7 * 1e3, "us", $5 }' \
        "$out/$label.log" >>"$out/raw.csv"
}

crowd() {
    local crowd_processors per
    crowd_processors=$($bin/weft-info 2>&1 | sed -n 's/.*, \([0-9]*\) multiprocessors.*/\1/p' | head -n 1)
    [ -n "$crowd_processors" ] || { note "crowd: weft-info says nothing of multiprocessors"; return; }
    builds crowd_once
    for per in 1 2 4; do
        plate floor $((per * crowd_processors)) 256 $bin/stencil2d_cuda
    done
}

# iterate KIND OPTIONS... - from both programs: iterations, and the time of all of them.
iterate() {
    local kind=$1 program
    shift
    for program in $bin/power_iteration $bin/power_cusparse; do
        [ -x "$program" ] || continue
        limited "power-${program##*/}" "$program" --matrix data/debian-depends.mtx "$@"
        awk -v where="power,$round" -v kind="$kind" '
            /^iterations: / { name = "weft"; count = $2 + 0 }
            /^cusparse / { name = "cusparse"; count = $4 }
            /^time: / { printf "%s,%s,%s,%d,0,%.5g,us,1\n", where, name, kind, count, $2 / count * 1e3 }
        ' "$out/power-${program##*/}.log" >>"$out/raw.csv"
    done
}

power() {
    iterate eigenvalue --symmetrize
    iterate eigenvalue_fixed --symmetrize --tolerance 0 --iterations 500
    iterate pagerank --pagerank 0.85
}

# The NIC is blocks of the GPU; then the host, which is slower by far, so with fewer requests.
queue() {
    local place shared
    for place in hh gh hg gg; do
        run queue_$place weft env WEFT_GDA=softnic WEFT_PATH=queue WEFT_GDA_NIC=block WEFT_GDA_PLACE=$place \
            $bin/bench_gpu_queue --threads 32 --repeats 10000 1 8 30 132
        [ $place != gg ] || for shared in 8 1; do
            run queue_shared_$shared weft env WEFT_GDA=softnic WEFT_PATH=queue WEFT_GDA_NIC=block WEFT_GDA_PLACE=gg \
                WEFT_GDA_QUEUES=$shared $bin/bench_gpu_queue --threads 32 --repeats 2000 132
        done
        run queue_$place floor $peers/queue --repeats 10000 $place 1 8 30 132
        run queue_host_$place weft env WEFT_GDA=softnic WEFT_PATH=queue WEFT_GDA_PLACE=$place \
            $bin/bench_gpu_queue --threads 32 --repeats 500 --to 8192 1 30
    done
}

# matrix_rate KIND KIB COMMAND... - millions of vectors a second in batches of so many KiB.
matrix_rate() {
    local kind=$1 kib=$2
    shift 2
    limited "matrix-$kind-$kib" "$@" --batch "${kib}K"
    sed -n 's/.*: \(.*\) million vectors.*/\1/p' "$out/matrix-$kind-$kib.log" |
        awk -v OFS=, -v kib="$kib" -v lines="matrix,$round,weft,$kind" '{ print lines, kib * 1024, 256, $1, "M/s", 1 }' >>"$out/raw.csv"
}

matrix() {
    local kib program=("$bin/weftrun" -n 2 "$bin/matrix_vector" --vectors 1875000)
    for kib in 60 120 240 480 960 1920; do
        matrix_rate kernels $kib "${program[@]}" --driver cpu
        matrix_rate queues $kib env WEFT_GDA=softnic WEFT_PATH=queue "${program[@]}"
        matrix_rate direct $kib "${program[@]}"
    done
}

# kernel_cost NAME KIND PATTERN SOURCE - what ptxas says of the kernel whose name has the pattern.
kernel_cost() {
    local log=$out/cost-$1-$2.log
    nvcc -std=c++17 -O3 -arch=sm_90 -Iinclude -Isrc -Ibench -Xptxas -v -cubin -o /dev/null -x cu "$4" \
        >"$log" 2>&1 || note "cost: $4 was not compiled: $(grep -m 1 error "$log")"
    awk -v lines="cost,$round,$1,$2" -v pattern="$3" '
        /Compiling entry function/ { found = index($0, pattern) > 0 }
        found && /spill stores/ { stack = $1; spilled = $5 + $9 }
        found && /Used .* registers/ {
            shared = match($0, /[0-9]+ bytes smem/) ? substr($0, RSTART) + 0 : 0
            match($0, /Used [0-9]+/)
            printf "%s_registers,0,0,%d,,1\n", lines, substr($0, RSTART + 5)
            printf "%s_shared,0,0,%d,bytes,1\n", lines, shared
            printf "%s_stack,0,0,%d,bytes,1\n", lines, stack
            printf "%s_spilled,0,0,%d,bytes,1\n", lines, spilled
            exit
        }' "$log" >>"$out/raw.csv"
}

cost() {
    [ "$round" -eq 1 ] || return
    kernel_cost weft latency gpu_latency_global bench/gpu/latency.cu
    kernel_cost floor latency ping_pongILb1E bench/peers/cuda/floor.cu
    kernel_cost weft stream gpu_bandwidth_global bench/gpu/bandwidth.cu
    kernel_cost floor stream 6streamILi256E bench/peers/cuda/stream.cu
}
