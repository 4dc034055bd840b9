#!/usr/bin/env bash
# weft-info: what it lists, and that a wrong configuration gives one line and a status that says so.
# usage: test_weft_info.sh BIN-FOLDER
set -u
info="$(cd "$1" && pwd)/weft-info"
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
for line in "  cpu " "  cuda " "  shm " "  null "; do has out "$line"; done
[ ! -s err ] || fail "weft-info complains: $(cat err)"
check 0 "$info" --help
check 0 "$info" --version
[ "$(cat out)" = "$("$info" | head -1)" ] || fail "two versions: $(cat out)"

# Every setting of the table, with the value that it has now.
check 0 env WEFT_RANKS=31 WEFT_SECRET=xyzzy "$info" --config
has out "WEFT_RANKS = 31"
! grep -q xyzzy out || fail "the secret is told"
settings=$(grep -cE '^WEFT_CONFIG_[A-Z]+\(' "$root/src/base/config.def")
printed=$(grep -cE '^WEFT_[A-Z_]+ = ' out)
[ "$settings" -eq "$printed" ] || fail "$printed of $settings settings are listed"

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
if [ -e /dev/full ]; then
    "$info" >/dev/full 2>err && fail "a full disk is no error"
fi

[ $failures -eq 0 ]
