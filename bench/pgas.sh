#!/usr/bin/env bash
# bench/pgas.sh [-d cpu|cuda|fake] [--page FILE] [--rounds N] BIN_DIR OUT_DIR - the figures 4 to 13 of Zhou
# and Fürlinger (DART-CUDA, ISPDC 2015) in this library's own form: blocks and segments beside the system's
# calls and CUDA's; gets and puts beside copies and MPI; the plate of apps/stencil2d beside OpenMP, plain
# CUDA and, where it was built, StarPU; tasks that do nothing; two places of which one is slow, or a GPU, or
# has all tasks; an unbalanced tree.
#
# -d cuda, the default where nvidia-smi shows a GPU: one GPU and all processors. -d cpu: the CPU device on two
# processors. -d fake: the command lines of cuda with the CPU device in the GPU's place, small; CUDA's own
# programs show their help alone. It shows that all runs; its times say nothing of GPUs.
#
# Leaves raw.csv, tables.md, machine.txt and commands.txt in OUT_DIR. --page puts tables and machine into
# a page, between its lines "<!-- tables -->" and "<!-- end of tables -->". Ends after so many rounds
# (default 5); on the CPU device before the first that would not fit into ten minutes, else when eight are
# over, within a round if need be. The large plates are in the first round alone. A program that fails, or
# takes too long, is noted in machine.txt, and leaves no figure; the script's status is 1 then.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
. "$here/support/gpu.sh"
gpus=$(gpu_count) || true
device=$([ "$gpus" -gt 0 ] && echo cuda || echo cpu)
if [ "${1:-}" = -d ]; then
    device=${2:-}
    shift 2
fi
[[ $device =~ ^(cpu|cuda|fake)$ ]] || { echo "bench/pgas.sh: -d $device is not cpu, cuda or fake" >&2; exit 2; }
. "$here/support/page.sh"
[ "${1:-}" = --rounds ] || set -- --rounds 5 "$@"
needs=(weftrun bench_alloc bench_get bench_tasks stencil2d stencil2d_dart uts cholesky)
[ "$device" = cpu ] || needs+=(cuda_memory stencil2d_cuda cholesky_cuda uts_cuda)
. "$here/support/begin.sh"

weftrun=(taskset -c "$cores" "$bin/weftrun" -n)
one=(taskset -c "${cores%%,*}")
ompi=("$(command -v mpirun.openmpi || command -v mpirun || echo none)" --cpu-list "$cores" --bind-to cpu-list:ordered -n 2)
export WEFT_DEVICE=cpu WEFT_STALL_S=${WEFT_STALL_S:-20} WEFT_TIMEOUT_S=${WEFT_TIMEOUT_S:-60}
limit=570
[ "$device" = cpu ] || limit=450

note() {
    echo "bench: $*" >&2
    echo "note: $*" >>"$out/notes.txt"
}

# go COMMAND...: its output in $out/last.txt. False: it failed, which is noted, or the time is over.
go() {
    local status=0 command="${*//"$bin"/BIN}" most=120
    [ "$round" -gt 1 ] || echo "$command" >>"$out/commands.txt"
    [ "$device" = cpu ] || most=$((limit + 25 - SECONDS < 60 ? limit + 25 - SECONDS : 60))
    [ "$device" = cpu ] || [ $SECONDS -lt $limit ] || return 1
    printf '%4d s, round %d: %s\n' $SECONDS "$round" "$command" >&2
    timeout -k 2 $most "$@" >"$out/last.txt" 2>"$out/last.err" </dev/null || status=$?
    [ $status -eq 0 ] || note "status $status: $command: $(grep -m 1 . "$out/last.err" | cut -c 1-160)"
    return $status
}
# measure KIND SERIES COMMAND...: lines of size, repetitions, value; also those before its time was over.
measure() {
    go "${@:3}" || [ $? -eq 124 ] || return 0
    awk -v start="$1,$2,$round," -F, '/^[0-9]+,[0-9]+,/ { print start $1 "," $3 }' "$out/last.txt" >>"$out/raw.csv"
}
# figure KIND SERIES X PATTERN COMMAND...: the number that the pattern of sed finds.
figure() {
    local value
    go "${@:5}" || return 0
    value=$(sed -n "s/$4/\1/p" "$out/last.txt")
    [ -z "$value" ] || echo "$1,$2,$round,$3,$value" >>"$out/raw.csv"
}
# iteration KIND SERIES X COMMAND...: milliseconds of an iteration.
iteration() {
    figure "$1" "$2" "$3" '.*[:,] \([0-9.]*\) ms an iteration.*' "${@:4}"
}
# empty FORM COMMAND...: microseconds of a task that does nothing.
empty() {
    figure task weft "$1" '^[0-9]*,[0-9]*,\([0-9.e-]*\)$' "${@:2}"
}

cpu_memory() {
    local n form
    for n in 1 2 4 8 16; do
        measure local $n env WEFT_HEAP=64M "${weftrun[@]}" $n "$bin/bench_alloc" --form local --from 64 --to 16777216 --repeats 20000
        measure team $n env WEFT_HEAP=64M "${weftrun[@]}" $n "$bin/bench_alloc" --form team --from 64 --to 16777216 --repeats 200
    done
    measure local kernel env WEFT_RANKS=16 "${weftrun[@]}" 1 "$bin/bench_alloc" --form kernel --from 64 --to 4194304 --repeats 2000
    measure local malloc "$bin/bench_alloc" --form malloc --from 64 --to 16777216 --repeats 2000
    for form in local malloc weft_malloc; do
        measure native $form "$bin/bench_alloc" --form $form --from 64 --to 16777216 --repeats 500
    done
}

cpu_access() {
    local form sizes=(--from 8 --to 16777216 --repeats 2000)
    for form in rank_get rank_put host_get host_put handle_get handle_put memcpy; do
        measure direct $form env WEFT_PATH=direct "${weftrun[@]}" 2 "$bin/bench_get" --form $form "${sizes[@]}"
    done
    for form in host_get host_put; do
        measure direct "$form own" "${one[@]}" "$bin/bench_get" --form $form "${sizes[@]}"
    done
    for form in rank_get rank_put host_get host_put; do
        measure proxy $form env WEFT_PATH=proxy "${weftrun[@]}" 2 "$bin/bench_get" --form $form "${sizes[@]}"
    done
    [ ! -x "$bin/mpi_rma" ] || for form in get put; do
        measure direct "mpi $form" "${ompi[@]}" "$bin/mpi_rma" --form $form "${sizes[@]}"
    done
    # Figure 12: the same puts, of rows of N doubles.
    awk -F, -v OFS=, -v r="$round" '$3 == r && $4 >= 4096 && $4 <= 262144 && $2 ~ /^host_put/ {
        if ($1 == "direct") print "row", $2, r, $4 / 8, $5
        if ($1 == "proxy") print "row", "proxy", r, $4 / 8, $5 }' "$out/raw.csv" >"$out/last.txt"
    cat "$out/last.txt" >>"$out/raw.csv"
}

cpu_tasks() {
    local form n way times variant
    for form in indexed host spawn recorded; do
        empty $form "$bin/bench_tasks" --form $form --repeats 200000
    done
    [ ! -x "$bin/stencil2d_starpu" ] ||
        figure task starpu host '^empty starpu: \([0-9.]*\).*' env STARPU_SILENT=1 "$bin/stencil2d_starpu" --empty 100000
    for n in 500 1000 2000 4000; do
        iteration plate omp $n "$bin/stencil2d" --variant omp -N $n --iterations 40
        iteration plate ranks $n "$bin/stencil2d" --variant ranks -N $n --iterations 40
        iteration plate tasks $n "$bin/stencil2d" --variant tasks -N $n --iterations 40
        iteration plate rows $n "$bin/stencil2d" --variant tasks -N $n --way 40 --iterations 40
        [ ! -x "$bin/stencil2d_starpu" ] ||
            iteration plate starpu $n env STARPU_SILENT=1 "$bin/stencil2d_starpu" -N $n --way 40 --iterations 40
        iteration plate dart $n env WEFT_HEAP=1G "$bin/stencil2d_dart" --N $n --calls 40 --iterations 40
    done
    for n in 32 64 256; do
        iteration factor weft $n "$bin/cholesky" --order 2048 --tile $n --iterations 3
        [ ! -x "$bin/cholesky_starpu" ] ||
            iteration factor starpu $n env STARPU_SILENT=1 "$bin/cholesky_starpu" --order 2048 --tile $n --iterations 3
    done
    n=4000
    for times in 4 9; do
        iteration slow even $times env WEFT_CPU_WORKERS=1 "${weftrun[@]}" 2 "$bin/stencil2d" --variant static -N $n --way 40 --iterations 40
        for variant in static dynamic plan; do
            iteration slow $variant $times env WEFT_CPU_WORKERS=1 "${weftrun[@]}" 2 "$bin/stencil2d" --variant $variant -N $n --way 40 --slow 1:$times --iterations 40
        done
    done
    for n in 1000 4000; do
        for way in 5 10 20; do
            iteration imbalance alone "$n-$way" env WEFT_STEAL=off WEFT_CPU_WORKERS=1 "${weftrun[@]}" 2 "$bin/stencil2d" --variant imbalance -N $n --way $way --iterations 40
            iteration imbalance imbalance "$n-$way" env WEFT_CPU_WORKERS=1 "${weftrun[@]}" 2 "$bin/stencil2d" --variant imbalance -N $n --way $way --iterations 40
        done
    done
}

# On one GPU. gpu: the device of its processes; units of a mixed job: the GPU's place is the first.
gpu=cuda
order=8192 small=(500 1000 2000 4000 8000) large=14000 largest=20000 together=(4000 8000) uneven=(1000 4000 8000)
workers=$(($(nproc) > 4 ? $(nproc) - 3 : 1)) # the GPU's process has the others
if [ "$device" = fake ]; then
    gpu=cpu order=600 small=(500 1000) large=1400 largest=2000 together=(800) uneven=(600)
fi
units=("$bin/weftrun" --units)
on_gpu=(env WEFT_DEVICE=$gpu)
mixed=(env WEFT_CPU_WORKERS=$workers "${units[@]}" $gpu:1,cpu:1)

# cuda PROGRAM ARGUMENTS...: the command line of one of CUDA's own programs.
cuda() {
    command=("$bin/$1" "${@:2}")
    [ "$device" = cuda ] || command+=(--help)
}

cuda_memory() {
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
    measure team 1 "${units[@]}" $gpu:1 "$bin/bench_alloc" --form team "${sizes[@]}" --repeats 200
    for n in 1 3 15; do
        measure team $((n + 1)) env WEFT_CPU_WORKERS=1 "${units[@]}" $gpu:1,cpu:$n "$bin/bench_alloc" --form team "${sizes[@]}" --repeats 200
    done
}

# reach SERIES UNITS FORM...: the first place's gets and puts at the last one's memory.
reach() {
    local form
    for form in "${@:3}"; do
        measure access "$1 $form" env WEFT_CPU_WORKERS=1 "${units[@]}" "$2" "$bin/bench_get" --form "$form" --from 8 --to 16777216 --repeats 1000
    done
}

cuda_access() {
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

cuda_tasks() {
    local n tree=("$bin/uts" --tree geometric)
    empty indexed "${on_gpu[@]}" "$bin/bench_tasks" --form indexed --repeats 4000000
    empty host "${on_gpu[@]}" "$bin/bench_tasks" --form host --repeats 100000
    empty spawn "${on_gpu[@]}" "$bin/bench_tasks" --form spawn --repeats 1000000
    empty recorded "${on_gpu[@]}" "$bin/bench_tasks" --form recorded --repeats 4000000
    cuda cuda_memory --form launch --from 8 --to 8 --repeats 100000
    figure task cuda host '^[0-9]*,[0-9]*,\([0-9.e-]*\)$' "${command[@]}"
    for n in 128 256; do
        cuda cholesky_cuda --order "$order" --tile $n --iterations 3
        iteration factor cuda $n "${command[@]}"
        iteration factor gpu $n "${on_gpu[@]}" "$bin/cholesky" --order "$order" --tile $n --iterations 3
        iteration factor cpu $n env WEFT_CPU_WORKERS=$workers "$bin/cholesky" --order "$order" --tile $n --iterations 1
    done
    figure uts gpu geometric '.*, \([0-9.]*\) ms$' "${on_gpu[@]}" "${tree[@]}" --verify
    cuda uts_cuda --tree geometric
    figure uts cuda geometric '.*, \([0-9.]*\) ms$' "${command[@]}"
    figure uts cpu geometric '.*, \([0-9.]*\) ms$' "${tree[@]}"
    figure uts both geometric '.*, \([0-9.]*\) ms$' "${mixed[@]}" "${tree[@]}" --verify
}

# plate N ITERATIONS: one place, without tasks and with them.
plate() {
    local app=("$bin/stencil2d" -N "$1" --iterations "$2")
    iteration plate omp "$1" "${app[@]}" --variant omp
    cuda stencil2d_cuda -N "$1" --iterations "$2"
    iteration plate cuda "$1" "${command[@]}"
    iteration plate ranks "$1" "${on_gpu[@]}" "${app[@]}" --variant ranks
    iteration plate tasks "$1" "${on_gpu[@]}" "${app[@]}" --variant tasks
    iteration plate cpu "$1" env WEFT_CPU_WORKERS=$workers "${app[@]}" --variant tasks
    iteration plate cpu4 "$1" env WEFT_CPU_WORKERS=4 "${app[@]}" --variant tasks --way 64
    iteration plate rows "$1" "${app[@]}" --variant tasks --way 64
    iteration plate dart "$1" "${on_gpu[@]}" WEFT_HEAP=8G "$bin/stencil2d_dart" --N "$1" --iterations "$2" --calls 256
}

# both N ITERATIONS: the GPU and CPUs, rows halved, and shared by what each place took alone (plate).
both() {
    local app=("$bin/stencil2d" -N "$1" --iterations "$2") variant ratio
    ratio=$(awk -F, -v n="$1" '$1 == "plate" && $4 == n { ms[$2] = $5 }
        END { if (ms["cpu"] > 0 && ms["tasks"] > 0) printf "%.3f", ms["cpu"] / (ms["cpu"] + ms["tasks"]) }' "$out/raw.csv")
    for variant in static dynamic tasks; do
        iteration both even-$variant "$1" "${mixed[@]}" "${app[@]}" --variant $variant --ratio 0.5
        [ -z "$ratio" ] || iteration both tuned-$variant "$1" "${mixed[@]}" "${app[@]}" --variant $variant --ratio "$ratio"
    done
    iteration both plan "$1" "${mixed[@]}" "${app[@]}" --variant plan
    [ -z "$ratio" ] || echo "both,ratio,$round,$1,$ratio" >>"$out/raw.csv"
}

# imbalance N ITERATIONS WAY...: all rows at a CPU's place with one worker, as in the paper.
imbalance() {
    local way app
    for way in "${@:3}"; do
        app=(env WEFT_CPU_WORKERS=1 "${units[@]}" $gpu:1,cpu:1 "$bin/stencil2d" --variant imbalance --home 1 -N "$1" --iterations "$2")
        [ "$way" = tiles ] || app+=(--way "$way")
        iteration imbalance alone "$1-$way" env WEFT_STEAL=off "${app[@]}"
        iteration imbalance both "$1-$way" "${app[@]}"
        iteration imbalance plan "$1-$way" "${app[@]}" --variant plan --ratio 0
    done
}

cuda_round() {
    local n
    cuda_memory
    cuda_tasks
    for n in "${small[@]}"; do plate "$n" 40; done
    for n in "${together[@]}"; do both "$n" 40; done
    cuda_access
    for n in "${uneven[@]}"; do imbalance "$n" 20 5 10 20 tiles; done
    [ "$round" -eq 1 ] || return 0
    plate "$largest" 20
    both "$largest" 20
    imbalance "$largest" 8 20 tiles
    plate "$large" 20
}

cpu_round() {
    cpu_memory
    cpu_access
    cpu_tasks
}

trap mps_down EXIT
: >"$out/notes.txt"
{
    machine_lines
    case $device in
    cuda) nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | sort | uniq -c | xargs ;;
    fake) echo "the CPU device in a GPU's place: NOT a GPU; the times say nothing of one" ;;
    cpu)
        echo "Open MPI: $([ ! -x "$bin/mpi_rma" ] && echo 'not built' || "${ompi[0]}" --version | head -n 1)"
        echo "StarPU: $([ ! -x "$bin/stencil2d_starpu" ] && echo 'not built' || pkg-config --modversion starpu-1.3)"
        echo "cores used: $cores of $allowed"
        ;;
    esac
    [ "$device" = cpu ] || echo "processors: $(nproc), $workers of them work beside a GPU"
    "$bin/stencil2d" --variant omp -N 10 --iterations 1 | sed -n 's/.*N = 10, \(.*threads\).*/OpenMP: \1/p'
    echo "load average at the start: $(cut -d ' ' -f 1 /proc/loadavg)"
} >"$out/machine.txt"
echo "kind,series,round,x,value" >"$out/raw.csv"
: >"$out/commands.txt"
longest=0 tables=$here/pgas.awk
[ "$device" = cpu ] || tables=$here/pgas_cuda.awk
for ((round = 1; round <= rounds && SECONDS + longest < limit; round++)); do
    began=$SECONDS
    "${device/fake/cuda}_round"
    # Only on the CPU device must a round fit.
    [ "$device" != cpu ] || [ $((SECONDS - began)) -le $longest ] || longest=$((SECONDS - began))
done
: >"$out/last.txt"
[ "$device" != cpu ] || go "${weftrun[@]}" 2 "$bin/uts" --tree geometric --verify || true
{
    awk -f "$here/median.awk" -f "$here/rows.awk" -f "$here/tables.awk" -f "$tables" "$out/raw.csv"
    [ ! -s "$out/last.txt" ] || printf '\n### An unbalanced tree\n\n```\n%s\n```\n' "$(cat "$out/last.txt")"
} >"$out/tables.md"
{
    echo "rounds: $((round - 1)), in $SECONDS s"
    echo "load average at the end: $(cut -d ' ' -f 1 /proc/loadavg)"
    cat "$out/notes.txt"
} >>"$out/machine.txt"
failed=$(grep -c . "$out/notes.txt" || true)
rm "$out/last.txt" "$out/last.err" "$out/notes.txt"
cat "$out/machine.txt" "$out/tables.md"
into_page "$out"
[ "$failed" -eq 0 ]
