#!/usr/bin/env bash
# bench/pgas.sh [-d cpu|cuda|fake] [-b BUILD] [-t SECONDS] [-r ROUNDS] [-o FOLDER] [-p PAGE] [EXPERIMENT...] -
# figures 4 to 13 of Zhou and Fürlinger (DART-CUDA, ISPDC 2015) in this library's own form: blocks and segments
# beside the system's calls and CUDA's; gets and puts beside copies and MPI; the plate of apps/stencil2d beside
# OpenMP, plain CUDA and StarPU; tasks that do nothing; two places of which one is slow, or a GPU, or has all
# data; a factorisation beside StarPU and plain CUDA; an unbalanced tree.
#
# -d cuda, the default where nvidia-smi shows a GPU: one GPU and all processors, also a second GPU where there is
# one. -d cpu: the CPU device on two processors. -d fake: the command lines of cuda with the CPU device in the
# GPU's place, small; CUDA's own programs show their help alone. Its times say nothing of GPUs.
#
# With a GPU the experiments are, what says most first: plate both imbalance factor tasks dart team memory access
# (default: all). They run round by round, up to -r (5), and end after -t seconds (450); what did not run is said.
# It prints a table of what is wanted, with its peers. On the CPU device rounds run as long as the next one fits
# into ten minutes.
#
# Programs are in BUILD/bin (build). FOLDER (BUILD/pgas) gets raw.csv, tables.md, machine.txt, commands.txt; with a GPU
# targets.md, too.
# -p puts tables and machine into a page, between its lines "<!-- tables -->" and "<!-- end of tables -->".
# StarPU's programs are built where Debian's libstarpu-dev is; where they do not start its figures are "not run". A
# program that fails, or takes too long, is noted in machine.txt, and leaves no figure; the script's status is 1 then.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
. "$here/support/gpu.sh"
gpus=$(gpu_count) || true
device=$([ "$gpus" -gt 0 ] && echo cuda || echo cpu)
build=$here/../build rounds=5 limit=450 out= page=
while getopts "d:b:t:r:o:p:h" option; do
    case $option in
    d) device=$OPTARG ;;
    b) build=$OPTARG ;;
    t) limit=$OPTARG ;;
    r) rounds=$OPTARG ;;
    o) out=$OPTARG ;;
    p) page=$OPTARG ;;
    *) sed -n '2,22s/^# \{0,1\}//p' "$0" && exit "$([ "$option" = h ] && echo 0 || echo 2)" ;;
    esac
done
shift $((OPTIND - 1))
[[ $device =~ ^(cpu|cuda|fake)$ ]] || { echo "bench/pgas.sh: -d $device is not cpu, cuda or fake" >&2; exit 2; }
[[ $limit =~ ^[1-9][0-9]{0,4}$ && $rounds =~ ^[1-9][0-9]{0,3}$ ]] || {
    echo "bench/pgas.sh: -t $limit or -r $rounds is no number" >&2
    exit 2
}
all=(plate both imbalance factor tasks dart team memory access)
for experiment in "$@"; do
    [[ " ${all[*]} " == *" $experiment "* ]] || { echo "bench/pgas.sh: $experiment is none of: ${all[*]}" >&2; exit 2; }
done
[ $# -gt 0 ] || set -- "${all[@]}"
experiments=("$@")
set -- ${page:+--page "$page"}
. "$here/support/page.sh"
bin=$(cd "$build" && pwd)/bin
mkdir -p "${out:=$build/pgas}"
out=$(cd "$out" && pwd)
needs=(weftrun bench_alloc bench_get bench_tasks bench_dart stencil2d stencil2d_dart uts cholesky)
[ "$device" = cpu ] || needs+=(cuda_memory stencil2d_cuda cholesky_cuda uts_cuda)
. "$here/support/two.sh"
# Empty: there is none.
starpu=
! "$bin/cholesky_starpu" --help >/dev/null 2>&1 || starpu=$(pkg-config --modversion starpu-1.3 2>/dev/null || echo 1.3)

weftrun=(taskset -c "$cores" "$bin/weftrun" -n)
one=(taskset -c "${cores%%,*}")
ompi=("$(command -v mpirun.openmpi || command -v mpirun || echo none)" --cpu-list "$cores" --bind-to cpu-list:ordered -n 2)
export WEFT_DEVICE=cpu WEFT_STALL_S=${WEFT_STALL_S:-20} WEFT_TIMEOUT_S=${WEFT_TIMEOUT_S:-60}
[ "$device" != cpu ] || limit=570

note() {
    echo "bench: $*" >&2
    echo "note: $*" >>"$out/notes.txt"
}

# go COMMAND...: its output in $out/last.txt. False: it failed, which is noted, or the time is over.
go() {
    local status=0 command="${*//"$bin"/BIN}" most=120
    [ "$round" -gt 1 ] || echo "$command" >>"$out/commands.txt"
    if [ "$device" != cpu ]; then
        most=$((limit - SECONDS < 60 ? limit - SECONDS : 60))
        if [ $most -le 0 ]; then
            [ "$round" -gt 1 ] || left_out=$((left_out + 1))
            return 1
        fi
    fi
    printf '%4d s, round %d: %s\n' $SECONDS "$round" "$command" >&2
    timeout -k 2 $most "$@" >"$out/last.txt" 2>"$out/last.err" </dev/null || status=$?
    if [ $status -ne 0 ] && [ "$device" != cpu ] && [ $SECONDS -ge "$limit" ]; then
        [ "$round" -gt 1 ] || left_out=$((left_out + 1)) # it was ended, for the time was over
    elif [ $status -ne 0 ]; then
        note "status $status: $command: $(grep -m 1 . "$out/last.err" | cut -c 1-160)"
    fi
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
    [ -z "$starpu" ] ||
        figure task starpu host '^empty starpu: \([0-9.]*\).*' env STARPU_SILENT=1 "$bin/stencil2d_starpu" --empty 100000
    for n in 500 1000 2000 4000; do
        iteration plate omp $n "$bin/stencil2d" --variant omp -N $n --iterations 40
        iteration plate ranks $n "$bin/stencil2d" --variant ranks -N $n --iterations 40
        iteration plate tasks $n "$bin/stencil2d" --variant tasks -N $n --iterations 40
        iteration plate rows $n "$bin/stencil2d" --variant tasks -N $n --way 40 --iterations 40
        [ -z "$starpu" ] ||
            iteration plate starpu $n env STARPU_SILENT=1 "$bin/stencil2d_starpu" -N $n --way 40 --iterations 40
        iteration plate dart $n env WEFT_HEAP=1G "$bin/stencil2d_dart" --N $n --calls 40 --iterations 40
    done
    for n in 32 64 256; do
        iteration factor weft $n "$bin/cholesky" --order 2048 --tile $n --iterations 3
        [ -z "$starpu" ] ||
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

# On GPUs. gpu: the device of their processes; units of a mixed job: the GPU's place is the first.
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
        echo "cores used: $cores of $allowed"
        ;;
    esac
    [ "$device" = cpu ] || {
        echo "processors: $(nproc), $workers of them work beside a GPU"
        [ "$gpus" -ge 2 ] || echo "GPUs: $gpus: figures of two are not run"
    }
    echo "StarPU: ${starpu:-its programs were not built (libstarpu-dev), or do not start here: its figures are not run}"
    "$bin/stencil2d" --variant omp -N 10 --iterations 1 | sed -n 's/.*N = 10, \(.*threads\).*/OpenMP: \1/p'
    echo "load average at the start: $(cut -d ' ' -f 1 /proc/loadavg)"
} >"$out/machine.txt"
echo "kind,series,round,x,value" >"$out/raw.csv"
: >"$out/commands.txt"
longest=0 left_out=0
for ((round = 1; round <= rounds && SECONDS + longest < limit; round++)); do
    began=$SECONDS
    "${device/fake/cuda}_round"
    # Only on the CPU device must a round fit.
    [ "$device" != cpu ] || [ $((SECONDS - began)) -le $longest ] || longest=$((SECONDS - began))
done
: >"$out/last.txt"
[ "$device" != cpu ] || go "${weftrun[@]}" 2 "$bin/uts" --tree geometric --verify || true
awks=(-f "$here/median.awk" -f "$here/rows.awk" -f "$here/tables.awk")
shown=$out/tables.md
if [ "$device" = cpu ]; then
    awk "${awks[@]}" -f "$here/pgas.awk" "$out/raw.csv" >"$out/tables.md"
    [ ! -s "$out/last.txt" ] || printf '\n### An unbalanced tree\n\n```\n%s\n```\n' "$(cat "$out/last.txt")" >>"$out/tables.md"
else
    shown=$out/targets.md
    awk "${awks[@]}" -f "$here/pgas_targets.awk" "$out/raw.csv" >"$shown"
    { cat "$shown" && echo && awk "${awks[@]}" -f "$here/pgas_cuda.awk" "$out/raw.csv"; } >"$out/tables.md"
fi
{
    echo "rounds: $((round - 1)), in $SECONDS s"
    [ $left_out -eq 0 ] || echo "left out, for the time was over: $left_out commands of the first round"
    echo "load average at the end: $(cut -d ' ' -f 1 /proc/loadavg)"
    cat "$out/notes.txt"
} >>"$out/machine.txt"
failed=$(grep -c . "$out/notes.txt" || true)
rm -f "$out/last.txt" "$out/last.err" "$out/notes.txt"
cat "$out/machine.txt" "$shown"
into_page "$out"
[ "$failed" -eq 0 ]
