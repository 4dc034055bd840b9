#!/usr/bin/env bash
# weft-info: what it lists, and that a wrong configuration gives one line and a status that says so.
# usage: test_weft_info.sh BIN-FOLDER
set -u
bin=$(cd "$1" && pwd)
info=$bin/weft-info
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}
# check WANTED-STATUS COMMAND...: stdout and stderr land in files out and err.
check() {
    local wanted=$1 got
    shift
    "$@" >out 2>err
    got=$?
    [ $got -eq "$wanted" ] || fail "$*: status $got, not $wanted: $(head -3 err)"
}
# has FILE TEXT: a line of the file contains the text.
has() {
    grep -qF -- "$2" "$1" || fail "no \"$2\" in $1: $(head -3 "$1")"
}

check 0 "$info"
grep -Eq '^weft [0-9]+\.[0-9]+\.[0-9]+$' out || fail "no version: $(head -1 out)"
for line in "  cpu " "  cuda " "  shm " "queues of ranks: softnic"; do has out "$line"; done
[ ! -s err ] || fail "weft-info complains: $(cat err)"
# A test that asks whether a network is there must not be answered no where it is.
[ -z "$(find "$bin/.." -maxdepth 3 -name 'libweft-mpi-*.so')" ] || ! command -v mpirun >/dev/null ||
    has out "  mpi    between hosts, for jobs that its own launcher has started"
check 0 "$info" --help
check 0 "$info" --version
[ "$(cat out)" = "$("$info" | head -1)" ] || fail "two versions: $(cat out)"

# A network that is not there is an error where it is asked for.
if "$info" | grep -Eq '^  ofi +between'; then
    check 1 env WEFT_NET=ofi WEFT_OFI_PROVIDER=nothing "$info"
    has err "weft-info: WEFT_NET=ofi cannot be used here"
    has out "  ofi    cannot be used here: "
    check 0 env WEFT_OFI_PROVIDER=nothing "$info"
    has out "  ofi    cannot be used here: "
    [ ! -s err ] || fail "weft-info complains of what nobody asked for: $(cat err)"
fi

check 64 "$info" --tune --config

# Every setting of the table, with the value that it has now.
check 0 env WEFT_RANKS=31 WEFT_SECRET=xyzzy "$info" --config
has out "WEFT_RANKS = 31"
! grep -q xyzzy out || fail "the secret is told"
settings=$(find "$root/src" -name '*settings.def' -exec cat {} + | grep -cE "^WEFT_CONFIG_[A-Z]+\(")
printed=$(grep -cE '^WEFT_[A-Z_]+ = ' out)
[ "$settings" -eq "$printed" ] || fail "$printed of $settings settings are listed"

# In groups, each with a setting; those of experts are marked.
grep -A1 '^---- ' out | grep -c '^WEFT_' >count
[ "$(cat count)" -eq "$(grep -c '^---- ' out)" ] && [ "$(cat count)" -gt 5 ] || fail "groups: $(grep '^----' out)"
grep -A1 '^WEFT_COUNTER_START = ' out | grep -q '^    test: ' || fail "WEFT_COUNTER_START is for everybody"
grep -A1 '^WEFT_RANKS = ' out | grep -q 'expert' && fail "WEFT_RANKS is for experts"

# Measured values: printed, and written as lines that a shell takes.
check 0 "$info" --tune="$folder/tuned"
has tuned "export WEFT_SHM_RING="
has out "not measured: it takes two processes"
check 0 sh -c ". '$folder/tuned' && exec '$info' --config"
grep -A4 '^WEFT_SHM_RING = ' out | grep -q "set by the environment" || fail "the file's values: $(cat out)"
check 1 "$info" --tune=/proc/nowhere/tune
has err "cannot write /proc/nowhere/tune"
far=$bin/tests/far_weft_info # as where there is a GPU
if [ -x "$far" ]; then
    check 0 env WEFT_DEVICE=cuda "$far" --tune="$folder/far"
    has out "pieces of 65536"
    has out "into device memory"
    has far "export WEFT_SHM_RING="
fi
# Between two processes: the limits of eager channels and of messages.
brief=$bin/tests/brief_weft_info # the figures do not matter
[ -x "$brief" ] || brief=$info
export WEFT_DEVICE=cpu
check 0 "$bin/weftrun" -n 2 "$brief" --tune="$folder/tuned"
has out "bytes   channel  directly"
grep -Eq '^export WEFT_EAGER=(0|4|8|16|32|64|128|256|512|1024) # for WEFT_DEVICE=cpu$' tuned ||
    fail "no eager limit: $(cat tuned)"
has out "bytes   at once   offered"
grep -Eq '^export WEFT_MSG_EAGER=(0|64|128|256|512|1024|2048|4096|8192|16384|32768)$' tuned ||
    fail "no eager limit of messages: $(cat tuned)"
check 0 env WEFT_PATH=proxy "$bin/weftrun" -n 2 "$brief" --tune="$folder/tuned"
has out "not measured: the processes reach each other through the host"
! grep -q WEFT_EAGER tuned || fail "a limit that was not measured"
has tuned "export WEFT_MSG_EAGER_NET="
# Processes that differ in channels are refused.
differ='[ "$WEFT_PROCESS" = 0 ] || export WEFT_EAGER=64; exec "$0"'
check 1 "$bin/weftrun" -n 2 sh -c "$differ" "$bin/ring"
has err "WEFT_EAGER 0 nowhere or everywhere"
unset WEFT_DEVICE

# One line each, and nothing on standard output that looks like an answer.
for wrong in WEFT_RNAKS=4 WEFT_RANKS=many WEFT_RANKS=-1 WEFT_DEVICE=gpu WEFT_SHM_RING=5000; do
    check 1 env "$wrong" "$info"
    if [ "$(wc -l <err)" -ne 1 ] || [ -s out ]; then
        fail "$wrong: $(cat out err)"
    fi
    check 1 env "$wrong" "$info" --config
done
if ! nvidia-smi >/dev/null 2>&1; then
    check 1 env WEFT_DEVICE=cuda "$info"
    has err "WEFT_DEVICE=cuda: "
fi
check 64 "$info" argument
check 64 "$info" --no-such-option
if [ -c /dev/full ]; then
    "$info" >/dev/full 2>err && fail "a full disk is no error"
fi

[ $failures -eq 0 ]
