# support/gpu.sh - GPUs of this machine and what shares them; sourced.

# gpu_count - how many programs see: those of CUDA_VISIBLE_DEVICES, or all.
gpu_count() {
    if [ -n "${CUDA_VISIBLE_DEVICES+set}" ]; then
        tr , '\n' <<<"$CUDA_VISIBLE_DEVICES" | grep -c .
    else
        nvidia-smi -L 2>/dev/null | grep -c '^GPU'
    fi
}

# by_uuid - GPUs of CUDA_VISIBLE_DEVICES that are numbers become UUIDs: MPS numbers those that it sees anew.
by_uuid() {
    local name uuids=() names=()
    [ -n "${CUDA_VISIBLE_DEVICES:-}" ] || return 0
    mapfile -t uuids < <(nvidia-smi --query-gpu=uuid --format=csv,noheader 2>/dev/null)
    IFS=, read -ra names <<<"$CUDA_VISIBLE_DEVICES"
    for name in "${!names[@]}"; do
        [[ ! ${names[name]} =~ ^[0-9]+$ ]] || names[name]=${uuids[${names[name]}]:-${names[name]}}
    done
    CUDA_VISIBLE_DEVICES=$(IFS=, && echo "${names[*]}")
}

# mps_up: an MPS server of this script's own, for all that it starts from here on; it fails where there is
# none, and processes of one GPU then take turns. mps_down ends it; so must the script's trap.
mps_up() {
    command -v nvidia-cuda-mps-control >/dev/null || return 1
    by_uuid
    CUDA_MPS_PIPE_DIRECTORY=$(mktemp -d)
    export CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY=$CUDA_MPS_PIPE_DIRECTORY
    nvidia-cuda-mps-control -d
}

mps_down() {
    [ -n "${CUDA_MPS_LOG_DIRECTORY:-}" ] || return 0
    echo quit | nvidia-cuda-mps-control
    rm -rf "$CUDA_MPS_LOG_DIRECTORY"
    unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
}
