#!/bin/bash
# bench/mpi.sh [--page FILE] [--limit SECONDS] [--processes "N..."] --mpi NAME=PREFIX... [--rounds N] BIN_DIR OUT_DIR -
# weft's MPI beside others, each of which lies in a PREFIX with bin/mpicc and bin/mpiexec: the programs of
# peers/mpi, compiled by each. 8 B to 64 KiB by shared memory: latency and windows of 64 between two
# processes, windows between all pairs at once and collectives with N processes (default 2 4 8 16); over
# TCP (loopback) latency and windows of two. Each process on a core of its own, all series in turns.
#
# What fails or takes more than an eighth of the limit (default 190) is told and left out from then on.
# Ends after so many rounds (default 7), or at the limit, with what it has until then. Leaves raw.csv,
# summary.csv, tables.md, machine.txt and failed.txt in OUT_DIR.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
. "$here/support/page.sh"
limit=190 processes="2 4 8 16"
declare -A prefix=()
names=("weft MPI")
while [ $# -ge 2 ]; do
    case $1 in
    --limit) limit=$2 ;;
    --processes) processes=$2 ;;
    --mpi) names+=("${2%%=*}") prefix[${2%%=*}]=$(cd "${2#*=}" && pwd) ;;
    *) break ;;
    esac
    shift 2
done
[[ $limit =~ ^[1-9][0-9]{1,4}$ && $processes =~ ^[0-9\ ]+$ && ${#names[@]} -gt 1 ]] || {
    echo "bench: needs --limit 10 or more, --processes with numbers, and --mpi NAME=PREFIX" >&2
    exit 2
}
programs=(latency_send bandwidth_send coll)
needs=(weftrun "${programs[@]/#/weftmpi_}")
. "$here/support/begin.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# One processor of each core that may be used; again from the first where there are fewer than processes.
one_a_core() {
    lscpu -p=CPU,CORE,SOCKET | awk -F, -v allowed="$allowed" '
        BEGIN {
            for (n = split(allowed, part, ","); n > 0; n--) {
                to = split(part[n], of, "-") > 1 ? of[2] : of[1]
                for (c = of[1]; c <= to; c++)
                    may[c] = 1
            }
        }
        /^#/ || !($1 in may) || (($2, $3) in seen) { next }
        { seen[$2, $3] = 1; core[++cores] = $1 }
        END {
            for (i = 0; i < 64; i++)
                printf "%s%d", i ? "," : "", core[i % cores + 1]
        }'
}
cores=$(one_a_core)

# launch SERIES N NET: the start of a command, into `command`; NET: shm or tcp.
launch() {
    if [ "$1" = "weft MPI" ]; then
        command=(env "$bin/weftrun" -n "$2" "$here/support/bound.sh" "$cores")
        [ "$3" = shm ] || command=(env WEFT_NET=ofi "WEFT_OFI_PROVIDER=tcp;ofi_rxm" WEFT_PATH=proxy "${command[@]:1}")
        return
    fi
    local mpiexec=${prefix[$1]}/bin/mpiexec
    if [ -n "${hydra[$1]}" ]; then
        command=(env "$mpiexec" -n "$2" -bind-to core -map-by core)
        [ "$3" = shm ] || command=(env MPIR_CVAR_NOLOCAL=1 MPIR_CVAR_CH4_NETMOD=ofi FI_PROVIDER=tcp FI_TCP_IFACE=lo "${command[@]:1}")
    else
        command=("$mpiexec" -n "$2" --map-by core:OVERSUBSCRIBE --bind-to core:overload-allowed)
        [ "$3" = shm ] || command+=(--mca pml ob1 --mca btl "self,tcp" --mca btl_tcp_if_include lo)
    fi
}

# Compiles the programs; `hydra` says whether an MPI is started by MPICH's hydra or by Open MPI's mpiexec.
declare -A hydra=() program_at=(["weft MPI"]="$bin/weftmpi_") lost=()
build() {
    local name program i=0
    for name in "${names[@]:1}"; do
        program_at[$name]=$work/$((++i))_
        hydra[$name]=$("${prefix[$name]}/bin/mpiexec" --version 2>&1 | grep -i hydra || true)
        for program in "${programs[@]}"; do
            "${prefix[$name]}/bin/mpicc" -O2 -D_GNU_SOURCE "-I$here" "$here"/peers/mpi/{"$program",peer}.c \
                "$here/support/bench.c" -o "${program_at[$name]}$program"
        done
    done
}

# turn KIND N NET PROGRAM ARGS...: each series once. A program's header may name another kind.
turn() {
    local name left
    for name in "${names[@]}"; do
        left=$((limit - SECONDS))
        [ $left -gt 0 ] || return 0
        [ $left -lt $((limit / 8 + 1)) ] || left=$((limit / 8 + 1))
        [ -z "${lost[$name $3 $2 $4]:-}" ] || continue
        launch "$name" "$2" "$3"
        if timeout -k 2 $left "${command[@]}" "${program_at[$name]}$4" "${@:5}" --to 65536 </dev/null >"$work/last" 2>"$work/err"; then
            awk -F, -v kind="$1" -v rest=" $2,$name,$round," '
                $1 !~ /^[0-9]/ { kind = $1 == "bytes" ? kind : $1; next }
                { print kind rest $1 "," $3 }' "$work/last" >>"$out/raw.csv"
        elif [ $((limit - SECONDS)) -gt 0 ]; then
            lost[$name $3 $2 $4]=1
            echo "$name, $2 processes, $3: this failed or took more than $left s: ${command[*]} $4 ${*:5}" | tee -a "$out/failed.txt"
            tail -n 5 "$work/err" | tee -a "$out/failed.txt"
        fi
    done
}

# Where the processes of each series run.
places() {
    local name
    for name in "${names[@]}"; do
        launch "$name" "$1" shm
        echo "$name, $1 processes on: $(timeout 20 "${command[@]}" awk '/^Cpus_allowed_list:/ { print $2 }' /proc/self/status 2>&1 |
            sort -n | paste -sd ' ')"
    done
}

build
{
    machine_lines
    echo "cores: $(lscpu -p=CORE,SOCKET | grep -v '^#' | sort -u | wc -l), of $(nproc --all) processors; used: $allowed"
    for name in "${names[@]:1}"; do
        echo "$name: $("${prefix[$name]}/bin/mpiexec" --version 2>&1 | awk '/[0-9]\.[0-9]/ { print $NF; exit }')"
    done
    places "${processes##* }"
    echo "load average at the start: $(cut -d ' ' -f 1 /proc/loadavg)"
} >"$out/machine.txt"
echo "kind,series,round,x,value" >"$out/raw.csv"
: >"$out/failed.txt"
longest=0
for ((round = 1; round <= rounds && SECONDS + longest < limit; round++)); do
    began=$SECONDS
    turn latency 2 shm latency_send --repeats 10000
    turn bandwidth 2 shm bandwidth_send --repeats 1000
    turn tcp_latency 2 tcp latency_send --repeats 2000
    turn tcp_bandwidth 2 tcp bandwidth_send --repeats 50
    for n in $processes; do
        turn coll "$n" shm coll --form all --repeats 500
        [ "$n" -eq 2 ] || turn pairs_bandwidth "$n" shm bandwidth_send --repeats 500
    done
    [ $((SECONDS - began)) -le $longest ] || longest=$((SECONDS - began))
done
echo "rounds: $((round - 1)), of at most $longest s" >>"$out/machine.txt"
echo "load average at the end: $(cut -d ' ' -f 1 /proc/loadavg)" >>"$out/machine.txt"
awk -v summary="$out/summary.csv" -v names="$(printf '%s|' "${names[@]}")" \
    -f "$here/median.awk" -f "$here/rows.awk" -f "$here/mpi.awk" "$out/raw.csv" >"$out/tables.md"
cat "$out/machine.txt"
sed '/^### /,$d' "$out/tables.md"
into_page "$out"
[ ! -s "$out/failed.txt" ] || exit 1
