# support/pgas_cuda.sh - the experiments of bench/pgas.sh, which sources it, with a GPU or the CPU device in its
# place.

# gpu: the device of the GPUs' processes; units of a mixed job: the GPU's place is the first.
gpu=cuda
order=8192 cpu_order=2048 plates=(8000 14000) iterations=200 together=(8000) largest=20000 four=14000
workers=$(($(nproc) > 4 ? $(nproc) - 3 : 1)) # the GPU's process has the others
if [ "$device" = fake ]; then
    gpu=cpu order=600 cpu_order=600 plates=(500) iterations=40 together=(800) largest=1000 four=500
fi
units=("$bin/weftrun" --units)
on_gpu=(env WEFT_DEVICE=$gpu)
mixed=(env WEFT_CPU_WORKERS=$workers "${units[@]}" $gpu:1,cpu:1)
lone=(env WEFT_CPU_WORKERS=1 "${units[@]}") # a CPU's place has one worker

# cuda PROGRAM ARGUMENTS...: the command line of one of CUDA's own programs.
cuda() {
    command=("$bin/$1" "${@:2}")
    [ "$device" = cuda ] || command+=(--help)
}

# One place: plain CUDA, ranks and recorded tasks, an iteration a sweep and two; tasks of four CPU workers.
plate() {
    local n sweep app
    for n in "${plates[@]}"; do
        for sweep in 1 2; do
            app=(-N "$n" --iterations $iterations --sweep $sweep)
            cuda stencil2d_cuda "${app[@]}"
            iteration plate cuda$sweep "$n" "${command[@]}"
            iteration plate ranks$sweep "$n" "${on_gpu[@]}" "$bin/stencil2d" --variant ranks "${app[@]}"
            iteration plate tasks$sweep "$n" "${on_gpu[@]}" "$bin/stencil2d" --variant tasks "${app[@]}"
        done
    done
    n=${plates[0]}
    iteration plate dart "$n" "${on_gpu[@]}" WEFT_HEAP=8G "$bin/stencil2d_dart" --N "$n" --iterations 100 --calls 256
    [ "$round" -eq 1 ] || return 0
    iteration plate cpu4 $four env WEFT_CPU_WORKERS=4 "$bin/stencil2d" --variant tasks --way 64 -N $four --iterations 8
    iteration plate omp $four "$bin/stencil2d" --variant omp -N $four --iterations 8
}

# The GPU and CPUs, recorded tasks: rows halved, at homes chosen from there, and shared by what each takes alone.
both() {
    local n app ratio
    for n in "${together[@]}"; do
        app=("$bin/stencil2d" --iterations 100 -N "$n" --variant)
        iteration both gpu "$n" "${on_gpu[@]}" "${app[@]}" tasks
        iteration both even "$n" "${mixed[@]}" "${app[@]}" tasks --ratio 0.5
        iteration both plan "$n" "${mixed[@]}" "${app[@]}" plan --ratio 0.5
        [ "$round" -gt 2 ] || # the moves of a run are shared by so many
            iteration both settled "$n" "${mixed[@]}" "${app[@]}" plan --ratio 0.5 --iterations $((100 * iterations))
        iteration both cpu "$n" env WEFT_CPU_WORKERS=$workers "${app[@]}" tasks
        ratio=$(awk -F, -v n="$n" '$1 == "both" && $4 == n { ms[$2] = $5 }
            END { if (ms["cpu"] > 0 && ms["gpu"] > 0) printf "%.3f", ms["cpu"] / (ms["cpu"] + ms["gpu"]) }' "$out/raw.csv")
        [ -z "$ratio" ] || iteration both tuned "$n" "${mixed[@]}" "${app[@]}" tasks --ratio "$ratio"
    done
}

# All rows at a CPU's place with one worker, as in the paper: that place alone; at homes chosen from there; and
# tasks created in each iteration, of which the GPU takes some.
imbalance() {
    local n app
    for n in "${together[@]}" "$largest"; do
        [ "$round" -eq 1 ] || [ "$n" -ne "$largest" ] || continue
        app=("${lone[@]}" $gpu:1,cpu:1 "$bin/stencil2d" -N "$n")
        iteration imbalance alone "$n" "${app[@]}" --variant tasks --ratio 0 --iterations 8
        iteration imbalance plan "$n" "${app[@]}" --variant plan --ratio 0 --iterations 100
        iteration imbalance taken "$n" "${app[@]}" --variant imbalance --home 1 --iterations 8
    done
}

factor() {
    local n
    for n in 128 256; do
        cuda cholesky_cuda --order "$order" --tile $n --iterations 3
        iteration factor cuda $n "${command[@]}"
        iteration factor gpu $n "${on_gpu[@]}" "$bin/cholesky" --order "$order" --tile $n --iterations 3
    done
    for n in 32 64 256; do
        iteration processors weft $n "$bin/cholesky" --order "$cpu_order" --tile $n --iterations 3
        [ -z "$starpu" ] ||
            iteration processors starpu $n env STARPU_SILENT=1 "$bin/cholesky_starpu" --order "$cpu_order" --tile $n --iterations 3
    done
}

tasks() {
    local form tree=("$bin/uts" --tree geometric) ms='.*, \([0-9.]*\) ms$'
    for form in "recorded 4000000" "indexed 4000000" "spawn 1000000" "host 100000"; do
        empty "${form% *}" "${on_gpu[@]}" "$bin/bench_tasks" --form ${form% *} --repeats "${form#* }"
    done
    cuda cuda_memory --form launch --from 8 --to 8 --repeats 100000
    figure task cuda host '^[0-9]*,[0-9]*,\([0-9.e-]*\)$' "${command[@]}"
    figure uts gpu geometric "$ms" "${on_gpu[@]}" "${tree[@]}" --verify
    cuda uts_cuda --tree geometric
    figure uts cuda geometric "$ms" "${command[@]}"
}

# DART's blocking gets and puts, by unit 0 at the last one's memory, beside plain copies of malloc's memory.
dart() {
    local form pair sizes=(--from 8 --to 16777216 --repeats 1000)
    for form in get put; do
        for pair in "cpu:1,$gpu:1 gpu" "$gpu:1,cpu:1 cpu" "cpu:2 cpus"; do
            measure dart "${pair#* } $form" "${lone[@]}" ${pair% *} "$bin/bench_dart" --form $form "${sizes[@]}"
        done
        [ "$gpus" -lt 2 ] || measure dart "gpus $form" "${lone[@]}" cuda:2 "$bin/bench_dart" --form $form "${sizes[@]}"
        [ "$gpus" -lt 2 ] || measure dart "ranks $form" "${lone[@]}" cuda:2 "$bin/bench_get" --form rank_$form "${sizes[@]}"
    done
    for form in to_host_page to_device_page; do
        cuda cuda_memory --form $form "${sizes[@]}"
        measure dart $form "${command[@]}"
    done
    measure dart memcpy "${lone[@]}" cpu:2 "$bin/bench_get" --form memcpy "${sizes[@]}"
}

# Memory of a team: the GPU alone, and with units of CPUs.
team() {
    local n
    for n in 0 1 3 15; do
        measure team $((n + 1)) "${lone[@]}" "$gpu:1$([ $n -eq 0 ] || echo ,cpu:$n)" "$bin/bench_alloc" --form team --from 64 --to 16777216 --repeats 200
    done
}

memory() {
    local n form range sizes=(--from 64 --to 16777216)
    for n in 1 2 4 8 16; do
        measure units $n env WEFT_HEAP=64M "${units[@]}" cpu:$n "$bin/bench_alloc" --form local "${sizes[@]}" --repeats 20000
    done
    for form in local host malloc weft_malloc; do
        measure native $form "${on_gpu[@]}" WEFT_HOST_HEAP=64M "$bin/bench_alloc" --form $form "${sizes[@]}" --repeats 2000
    done
    for range in "256 65536" "131072 16777216"; do
        measure native kernel "${on_gpu[@]}" WEFT_HEAP=6G WEFT_RANKS=132 "$bin/bench_alloc" --form kernel --from ${range% *} --to ${range#* } --repeats 2000
    done
    for form in cuda_malloc async pinned; do
        cuda cuda_memory --form $form "${sizes[@]}" --repeats 2000
        measure native $form "${command[@]}"
    done
    cuda cuda_memory --form kernel --from 256 --to 1048576 --repeats 1000
    measure native "cuda kernel" "${command[@]}"
}

# reach SERIES UNITS FORM...: the first place's gets and puts at the last one's memory.
reach() {
    local form
    for form in "${@:3}"; do
        measure access "$1 $form" "${lone[@]}" "$2" "$bin/bench_get" --form "$form" --from 8 --to 16777216 --repeats 1000
    done
}

access() {
    local form all=(rank_get rank_put host_get host_put)
    reach own $gpu:1 "${all[@]}"
    reach cpu $gpu:1,cpu:1 "${all[@]}" handle_get handle_put
    reach gpu cpu:1,$gpu:1 "${all[@]}" handle_get handle_put
    reach cpus cpu:2 "${all[@]}" memcpy
    mps_up || [ "$round" -gt 1 ] || echo "no MPS: two processes take turns on the GPU" >>"$out/machine.txt"
    reach shared $gpu:2 rank_get rank_put
    mps_down
    for form in to_device to_host on_device to_device_page to_host_page; do
        cuda cuda_memory --form $form --from 8 --to 16777216 --repeats 1000
        measure access $form "${command[@]}"
    done
    # Figure 12: the same puts, of rows of N doubles.
    awk -F, -v OFS=, -v r="$round" '$1 == "access" && $3 == r && $4 >= 4096 && $4 <= 262144 &&
        $2 ~ /host_put/ { print "row", $2, r, $4 / 8, $5 }' "$out/raw.csv" >"$out/last.txt"
    cat "$out/last.txt" >>"$out/raw.csv"
}

cuda_round() {
    local experiment
    for experiment in "${experiments[@]}"; do
        $experiment
    done
}
