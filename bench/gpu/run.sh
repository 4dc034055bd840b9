# gpu/run.sh - how tools/gpu-bench, which sources it, runs a program: with a time limit, its figures in raw.csv.

export WEFT_DEVICE=cuda WEFT_STALL_S=5 WEFT_TIMEOUT_S=20
# Nothing may use multicast; there is no network.
export NVSHMEM_REMOTE_TRANSPORT=none NVSHMEM_DISABLE_NVLS=1 NCCL_NVLS_ENABLE=0
export LD_LIBRARY_PATH=$nvshmem/lib:$nccl/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
LIMIT=40
echo "where,round,name,kind,bytes,threads,value,unit,ranks" >"$out/raw.csv"

# limited LABEL COMMAND... - its output in LABEL.log; a failure is noted.
limited() {
    local label=$1 status
    shift
    timeout -k 2 $LIMIT "$@" >"$out/$label.log" 2>"$out/$label.err.log"
    status=$?
    [ $status -eq 0 ] ||
        note "$label: status $status$([ $status -ne 124 ] || echo " (time limit)"):" \
            "$(grep -m 1 . "$out/$label.err.log" | cut -c1-160)"
    return $status
}

# run WHERE LABEL COMMAND... - its lines go to raw.csv, also those before a failure.
run() {
    local where=$1 label=$1-$2 status
    shift 2
    [ -n "$(command -v "$1")" ] || return
    limited "$label" "$@"
    status=$?
    grep -v '^name,' "$out/$label.log" | sed "s/^weft,/${build:-weft},/; s/^/$where,$round,/" >>"$out/raw.csv"
    return $status
}

processes=2 # of the two below

# weft_job WHERE LABEL PATH COMMAND...
weft_job() {
    local where=$1 label=$2 path=$3
    shift 3
    run "$where" "$label" env WEFT_PATH="$path" $bin/weftrun -n "$processes" "$@"
}

# builds COMMAND... - with the programs of this build, and with those of -b, in turns.
builds() {
    "$@"
    [ -z "$before" ] || bin=$before build=before "$@"
}

# nvshmem WHERE LABEL PROGRAM OPTIONS... - the other processes beside process 0.
nvshmem() {
    local where=$1 label=$2 program=$peers/$3 id process others=()
    shift 3
    [ -x "$program" ] || return
    id=$out/id.$round.$where.$label
    for ((process = 1; process < processes; process++)); do
        timeout -k 2 $LIMIT "$program" "$process/$processes" "$id" "$@" \
            >"$out/$where-$label.$process.log" 2>&1 &
        others+=($!)
    done
    run "$where" "$label" "$program" "0/$processes" "$id" "$@"
    wait "${others[@]}"
    rm -f "$id"
}
