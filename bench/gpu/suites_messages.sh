# gpu/suites_messages.sh - the suite messages of tools/gpu-bench, beside UCX and MPI; sourced after run.sh.

# message_app KIND SETTING COMMAND... - microseconds a step of an application, at both presets.
message_app() {
    local kind=$1 setting=$2 preset
    shift 2
    [ -x "${*: -1}" ] || return
    for preset in thesis small; do
        limited "messages-$kind-$preset-$setting" "$@" --preset $preset --iterations 1000 --csv
        awk -F, -v lines="messages,$round,$setting,${kind}_$preset,0,0" \
            'NR > 1 { print lines "," $9 / $7 * 1e3 ",us,1" }' \
            "$out/messages-$kind-$preset-$setting.log" >>"$out/raw.csv"
    done
}

# message_form FORM SETTING OPTIONS VARIABLES... - what bench_msg says of it, with words of options.
message_form() {
    local form=$1 setting=$2 log=$out/messages-$1-$2.log options=(--to 4194304 --repeats 2000)
    [[ $form != *_rate ]] || options=(--to 1048576 --repeats 1000)
    [ -z "$3" ] || read -ra options <<<"${options[*]} $3"
    shift 3
    limited "messages-$form-$setting" env "$@" $bin/weftrun -n 2 $bin/bench_msg --form "$form" "${options[@]}"
    awk -F, -v lines="messages,$round,$setting,$form" 'NR > 1 {
        print lines "," $1 ",0," $3 "," (lines ~ /_rate$/ ? "M/s" : "us") ",1"
        if (lines ~ /_rate$/)
            print lines "," $1 ",0," $3 * $1 * 1e-3 ",GB/s,1"
    }' "$log" >>"$out/raw.csv"
}

# Collectives of 4 and 8 processes on GPU memory, which may share GPUs; VARIABLES as above.
message_teams() {
    local setting=$1 form n
    shift
    for form in gather allgather alltoall; do
        for n in 4 8; do
            limited "messages-$form-$n-$setting" env "$@" $bin/weftrun -n $n $bin/bench_team --form $form --to 65536 --repeats 500
            awk -F, -v lines="messages,$round,$setting,$form$n" 'NR > 1 { print lines "," $1 ",0," $3 ",us,1" }' \
                "$out/messages-$form-$n-$setting.log" >>"$out/raw.csv"
        done
    done
}

# ucx_pair LABEL TEST KINDS BYTES REPEATS VARIABLES... - UCX's own test between two processes; KINDS: memory
# of sends, and of receives.
ucx_port=13337
ucx_pair() {
    local label=$1 test=$2 kinds=$3 bytes=$4 repeats=$5 server
    local -x LD_LIBRARY_PATH=$UCX_HOME/lib:$LD_LIBRARY_PATH
    shift 5
    timeout -k 2 $LIMIT env "$@" "$UCX_HOME/bin/ucx_perftest" -p $ucx_port >"$out/ucx-server.log" 2>&1 &
    server=$!
    until grep -qi "$(printf ':%04x .* 0a ' $ucx_port)" /proc/net/tcp /proc/net/tcp6; do # it listens
        kill -0 $server 2>/dev/null || break
        sleep 0.05
    done
    limited "$label" env "$@" "$UCX_HOME/bin/ucx_perftest" localhost -p $ucx_port -t $test -m "$kinds" \
        -s "$bytes" -n "$repeats" -w 1000 -O 64 -f -v
    kill $server 2>/dev/null
    wait $server
    ucx_port=$((ucx_port + 1)) # the last one's end may hold it a while
}

# ucx FORM SETTING VARIABLES...
ucx() {
    local form=$1 setting=$2 kinds=host,cuda bytes test=tag_lat repeats=2000 label=messages-$1-$2
    local sizes=(8 64 512 1024 4096 8192 32768 65536 524288 1048576 4194304)
    shift 2
    case $form in
    device_host_rate) kinds=cuda,host ;;
    device*) kinds=cuda,cuda ;;
    esac
    [[ $form != *_rate ]] || { test=tag_bw repeats=3200 sizes=(8 1024 8192 65536 1048576); }
    for bytes in "${sizes[@]}"; do
        [ $setting = ucx ] || [ "$bytes" -ge 8192 ] || continue
        ucx_pair "$label-$bytes" $test $kinds "$bytes" $repeats "$@"
        awk -F, -v line="messages,$round,$setting,$form,$bytes,0" '
            $1 + 0 > 0 && line !~ /_rate,/ { print line "," $4 ",us,1" }
            $1 + 0 > 0 && line ~ /_rate,/ { # MiB, and messages, a second
                print line "," $8 * 1e-6 ",M/s,1"
                print line "," $6 * 1.048576e-3 ",GB/s,1"
            }' "$out/$label-$bytes.log" >>"$out/raw.csv"
    done
    [ $form = host_device ] || return
    # By which of its protocols the largest go.
    ucx_pair "$label-ways" $test $kinds 1048576 100 UCX_PROTO_INFO=y "$@"
    awk -F '|' -v setting=$setting '
        NF == 3 && /[a-z]/ { title = $2 }
        title !~ /^ tagged.*\(/ && $2 ~ /inf *$/ { print setting ":" title "," $2 "bytes:" $3 "," $4 }
    ' "$out/$label-ways.log" | tr -s ' ' | sort -u | head -n 3 | while read -r way; do note "$way"; done
}

# message_setting NAME - its forms, and applications.
message_setting() {
    local setting=$1 form app words='' variables=() forms=({host_device,device_host}_rate host_device)
    case $setting in
    weft | ucx) forms+=(device device_rate) ;;
    rendezvous) forms+=(device device_rate) variables=(WEFT_MSG_EAGER=0 WEFT_MSG_EAGER_NET=0) ;;
    engine | block) forms=(host_device device) variables=(WEFT_MSG_COPIER=$setting) ;;
    kept) variables=(WEFT_CUDA_KEEP=512M) ;;
    registered) words="--memory registered" ;;
    part) forms=(host_device) words="--memory part --from 8192" ;;
    ucx_heap) variables=("UCX_ALLOC_PRIO=heap,md:*") ;; # the GPU's memory by its own module
    ucx_bare) variables=("UCX_ALLOC_PRIO=heap,md:*" UCX_REG_NONBLOCK_MEM_TYPES=host UCX_REG_NONBLOCK_FALLBACK=n) ;;
    esac
    for form in "${forms[@]}"; do
        if [[ $setting != ucx* ]]; then
            message_form $form $setting "$words" "${variables[@]}"
        elif [ -x "${UCX_HOME:-}/bin/ucx_perftest" ]; then
            ucx $form $setting "${variables[@]}"
        else
            note "UCX was not found (UCX_HOME, or the package libucx of python3)"
        fi
    done
    [[ $setting == @(weft|rendezvous) ]] || return
    for app in lbm md; do
        message_app $app $setting env "${variables[@]}" $bin/weftrun -n 2 $bin/${app}_msg_cuda
    done
}

# Two processes, on one GPU under MPS if that is there. A GPU that has done nothing is slower: the first run
# is not counted, and each round begins elsewhere.
messages() {
    local settings=(weft registered part kept engine block rendezvous ucx ucx_heap ucx_bare) i app
    trap mps_down EXIT
    [ "$gpus" -gt 1 ] || mps_up || note "messages: no MPS: the two processes take turns on the GPU"
    limited messages-first $bin/weftrun -n 2 $bin/bench_msg --form device --from 1048576 --to 4194304
    for ((i = 0; i < ${#settings[@]}; i++)); do
        message_setting "${settings[(i + 7 * round) % ${#settings[@]}]}"
    done
    for app in lbm md; do
        message_app $app mpi env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun -n 2 $bin/${app}_mpi_cuda
    done
    mps_down
    mps_up || note "messages: no MPS: processes of a GPU take turns"
    message_teams weft
    message_teams rendezvous WEFT_MSG_EAGER=0 WEFT_MSG_EAGER_NET=0
    mps_down
}
