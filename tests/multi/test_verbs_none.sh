#!/usr/bin/env bash
# WEFT_NET=verbs where there is no RDMA device, and where it cannot be meant: one clear line, at once.
# usage: test_verbs_none.sh BIN-FOLDER
set -u
bin=$(cd "$1" && pwd)
failures=0
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# says TEXT COMMAND...: the command fails, soon, and says so.
says() {
    local text=$1
    shift
    timeout 300 "$@" >"$out" 2>&1
    local status=$?
    if [ $status -eq 0 ] || [ $status -eq 124 ] || ! grep -qF -- "$text" "$out"; then
        echo "FAILED: $*: status $status, and it says:"
        cat "$out"
        failures=$((failures + 1))
    fi
}

"$bin/weft-info" | grep -q '^  verbs ' || { echo "skipped: this weft was built without verbs" && exit 77; }
says "there are no random schedules over it" env WEFT_NET=verbs "$bin/tests/test_put" --seeds 1:1 --local 2 --path proxy
says 'WEFT_VERBS_TRANSPORT=dcx: not one of auto|rc|dc' env WEFT_VERBS_TRANSPORT=dcx "$bin/weft-info"
ls /sys/class/infiniband/* >/dev/null 2>&1 && { [ $failures -eq 0 ]; exit; }
says "verbs: this host has no RDMA device" env WEFT_NET=verbs "$bin/weftrun" -n 2 "$bin/tests/test_put" --path proxy
says "verbs: this host has no RDMA device" env WEFT_NET=verbs WEFT_VERBS_DEVICE=mlx5_0 "$bin/tests/test_put"
[ $failures -eq 0 ]
