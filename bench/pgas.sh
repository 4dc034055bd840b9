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

. "$here/support/pgas_cpu.sh"
. "$here/support/pgas_cuda.sh"

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
