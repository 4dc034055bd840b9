# support/gpu.sh - GPUs of this machine and what shares them; sourced.

# gpu_count - how many programs see: those of CUDA_VISIBLE_DEVICES, or all.
gpu_count() {
    if [ -n "${CUDA_VISIBLE_DEVICES+set}" ]; then
        tr , '\n' <<<"$CUDA_VISIBLE_DEVICES" | grep -c .
    else
        nvidia-smi -L 2>/dev/null | grep -c '^GPU'
    fi
}

# mps_up: an MPS server of this script's own, for all that it starts from here on; it fails where there is
# none, and processes of one GPU then take turns. mps_down ends it; so must the script's trap.
mps_up() {
    command -v nvidia-cuda-mps-control >/dev/null || return 1
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
