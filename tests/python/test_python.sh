#!/usr/bin/env bash
# The wheel, in a bare virtual environment: every call on 1, 2 and 3 processes, under weftrun and in the environment
# that torchrun makes; how jobs end; the example; the program of docs/ccl.md. With numpy and torch where they are.
# PYTHON: which python, else one that has numpy.
# usage: test_python.sh BIN-FOLDER
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
wheel=$(realpath -e "$1"/../python/*.whl 2>/dev/null) || {
    echo "there is no wheel: no python3 was found, or sanitizers are in"
    exit 77
}
HOME=$(mktemp -d) && export HOME
trap 'rm -rf "$HOME"' EXIT
cd "$HOME" || exit 1
export WEFT_DEVICE=cpu OMP_NUM_THREADS=1
unset PYTHONUNBUFFERED # with it print() writes a line and its end apart, and the lines of two processes mix
failures=0
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}
# has MODULE: the python has it.
has() {
    "$python" -c "import $1" 2>/dev/null
}

for python in ${PYTHON:-python3 /usr/bin/python3}; do
    has numpy && break
done
if "$python" -m venv bare >log 2>&1; then
    bare/bin/pip install --no-index --no-deps --quiet "$wheel" >log 2>&1 || fail "pip: $(cat log)"
    site=$(echo "$HOME"/bare/lib/python*/site-packages) bare=$HOME/bare/bin/python
    export PATH=$HOME/bare/bin:$PATH
else # Debian's without python3-venv
    echo "not installed, but unpacked, since there is no venv: $(head -1 log)"
    "$python" -m zipfile -e "$wheel" unpacked && chmod +x unpacked/*/scripts/weftrun
    site=$HOME/unpacked bare=$python
    PATH=$(echo "$site"/*/scripts):$PATH
    export PATH PYTHONPATH=$site
fi

# as_torchrun N COMMAND...: its status is that of one that failed.
as_torchrun() {
    local n=$1 rank status=0 pids=() port
    shift
    port=$("$python" "$here/free_port.py")
    for ((rank = 0; rank < n; rank++)); do
        RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=$n MASTER_ADDR=localhost MASTER_PORT=$port timeout 300 "$@" &
        pids+=($!)
    done
    for rank in "${pids[@]}"; do
        wait "$rank" || status=$?
    done
    return $status
}
# right NAME TIMES WANTED COMMAND...: prints the line so often, and succeeds.
right() {
    local name=$1 times=$2 wanted=$3
    shift 3
    "$@" >out 2>err || fail "$name: status $?: $(cat out err)"
    [ "$(grep -cE "$wanted" out)" -eq "$times" ] || fail "$name: $(cat out err)"
}

right alone 1 "^right: array, ctypes, interface$" timeout 300 "$bare" "$here/calls.py" "$root/include"
for n in 1 2 3; do
    right weftrun.$n $n "^right: " timeout 300 weftrun -n $n "$bare" "$here/calls.py"
    right torchrun.$n $n "^right: " as_torchrun $n "$bare" "$here/calls.py"
done
export PYTHONPATH=$site
if has numpy; then
    right numpy 3 "^right: array, ctypes, interface, numpy$" timeout 300 weftrun -n 3 "$python" "$here/calls.py"
    right example 1 "^the mean of 3 numbers is 2.0$" timeout 300 weftrun -n 3 "$python" "$root/apps/examples/python/mean.py"
else
    echo "skipped: numpy, and the example, which needs it"
fi

# A part of torchrun's environment alone; a rank that is none.
lacks() {
    local words=$1
    shift
    env "$@" timeout 300 "$bare" "$here/calls.py" >out 2>&1 && fail "$*: it succeeds"
    grep -q "$words" out || fail "$*: $(cat out)"
}
lacks "environment is not whole: 'MASTER_ADDR'" RANK=0 WORLD_SIZE=2
lacks "environment is not whole: 'MASTER_PORT'" RANK=0 WORLD_SIZE=2 MASTER_ADDR=localhost
lacks "environment is not whole: 'RANK'" WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=1234
lacks "environment is not whole: invalid literal" RANK=0 WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=x
lacks "WEFT_PROCESS" RANK=x WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=1234

# ends HOW STATUS LINE: what others print, or all. Nobody ends them when process 0 fails, as weftrun would.
ends() {
    as_torchrun 3 "$bare" "$here/ends.py" "$1" >out 2>err
    local status=$?
    [ $status -eq "$2" ] || fail "ends.py $1: status $status, not $2: $(cat out err)"
    grep -qE "$3" out || fail "ends.py $1: $(cat out err)"
}
ends raise 1 "^status 21: WEFT_ERR_USER: process 0: KeyError: 'no luck'"
ends exit 3 "^status 11: WEFT_ERR_MISMATCH: .*weft_ccl_barrier"
ends kill 137 "^status 16: WEFT_ERR_PEER_LOST: process 0"
ends within 0 "^Error WEFT_ERR_USER: process 0: KeyError: 'no luck'"
for how in plain late fork stopped; do
    ends $how 0 "^the end"
    [ ! -s err ] || fail "ends.py $how: $(cat err)"
done

if has torch; then
    right torch 2 "^right" timeout 300 "$python" -m torch.distributed.run --standalone --nproc-per-node 2 "$here/with_torch.py"
    sed -n '/^```python$/,/^```$/p' "$root/docs/ccl.md" | grep -v '^```' >program.py
    right docs/ccl.md 3 "3\.0" timeout 300 "$python" -m torch.distributed.run --standalone --nproc-per-node 3 program.py
else
    echo "skipped: torch, and the program of docs/ccl.md, which needs it"
fi

[ $failures -eq 0 ] && echo "all passed"
exit $((failures > 0))
