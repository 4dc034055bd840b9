#!/bin/bash
# bench/waiting.sh [--rounds N] [--seconds N] OUT_DIR NAME=BIN_DIR[,SETTING=VALUE...]... -
# what many ranks of a GPU that wait for their host cost: two processes, a GPU each, which reach each
# other through their hosts over shm. Each NAME is a build, with settings of its own; all take turns:
#
#   bench/waiting.sh out before=../before/build/bin after=build/bin stream=build/bin,WEFT_CUDA_LOTS=0
#
#   latency     8 bytes from the first rank of one GPU to that of the other, us one way, while no other,
#               29 and 131 others of each GPU wait for a notification
#   flush       weft_put of 8 bytes and weft_flush by 1, 30 and 132 ranks of each GPU at once, us
#   studies     the rows of overlap.sh --gpu over shm at the thesis' sizes, ms; two_model: of the first build
#
# Leaves raw.csv, table.txt (medians, and of how many) and errors.txt in OUT_DIR. Ends after so many rounds
# (default 5), or when so many seconds are over (default 420). What fails leaves no figure, and status 1.
set -euo pipefail

rounds=5 seconds=420
while :; do
    case ${1:-} in
    --rounds) rounds=$2 ;;
    --seconds) seconds=$2 ;;
    *) break ;;
    esac
    shift 2
done
[ $# -ge 2 ] && [[ $rounds,$seconds =~ ^[1-9][0-9]*,[1-9][0-9]*$ ]] || {
    sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//p}' "$0" >&2
    exit 2
}
out=$1
shift
mkdir -p "$out"
export WEFT_DEVICE=${WEFT_DEVICE:-cuda} WEFT_PATH=proxy WEFT_NET=shm WEFT_STALL_S=5 WEFT_TIMEOUT_S=20
status=0
echo "what,size,variant,round,value" >"$out/raw.csv"
: >"$out/errors.txt"

# run WHAT SIZE VARIANT BIN_DIR[,SETTING=VALUE...] FIELD PROGRAM ARGUMENTS... - a figure: that field of line 2.
run() {
    local what=$1 size=$2 variant=$3 field=$5 settings bin
    IFS=, read -ra settings <<<"$4"
    bin=${settings[0]}
    shift 5
    if ! timeout -k 2 60 env "${settings[@]:1}" "$bin/weftrun" -n 2 "$bin/$1" "${@:2}" \
        >"$out/last.txt" 2>"$out/last.err" </dev/null; then
        status=1
        { echo "$what $size $variant, round $round:" && tail -n 5 "$out/last.err"; } | tee -a "$out/errors.txt" >&2
        return
    fi
    awk -F, -v line="$what,$size,$variant,$round" -v field="$field" 'NR == 2 { print line "," $field }' \
        "$out/last.txt" >>"$out/raw.csv"
}

for ((round = 1; round <= rounds; round++)); do
    for more in 0 29 131; do
        for variant in "$@"; do
            [ $SECONDS -lt "$seconds" ] || break 3
            run latency "$((more + 1)) ranks" "${variant%%=*}" "${variant#*=}" 3 bench_latency \
                --from 8 --to 8 --more $more
            run flush "$((more + 1)) ranks" "${variant%%=*}" "${variant#*=}" 3 bench_flush \
                --from 8 --to 8 --repeats 2000 --more $more
        done
    done
    for study in stencil planes particles spmv power_iteration; do
        program=${study/planes/stencil}
        sizes=(--preset thesis --csv)
        [ $study != planes ] || sizes+=(--message-a-plane 1)
        for variant in "$@"; do
            [ $SECONDS -lt "$seconds" ] || break 3
            run $study thesis "${variant%%=*}" "${variant#*=}" 9 "$program" "${sizes[@]}"
        done
        [ ! -x "${1#*=}/${program}_net_cuda" ] || run $study thesis two_model "${1#*=}" 9 "${program}_net_cuda" "${sizes[@]}"
    done
done
rm -f "$out"/last.*
tail -n +2 "$out/raw.csv" | sort -t, -k1,1 -k2,2V -k3,3 -k5,5g | awk -F, '
    function done() {
        if (n)
            printf "%-16s %-10s %-14s %8.4g  of %d, %.4g to %.4g\n", name[1], name[2], name[3],
                n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2, n, v[1], v[n]
        n = 0
    }
    $1 "," $2 "," $3 != key { done(); key = $1 "," $2 "," $3; split(key, name, ",") }
    { v[++n] = $5 }
    END { done() }' | tee "$out/table.txt"
exit $status
