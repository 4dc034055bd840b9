#!/usr/bin/env bash
# ./run: every verb has help, and refuses what it does not know, in one line, before it does anything.
# It runs as a copy beside which there is nothing to build.
# usage: test_run.sh BIN-FOLDER
set -u
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
cp "$root/run" .
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}
# helps ARGUMENT...
helps() {
    ./run "$@" >out 2>err || fail "$*: status $?"
    grep -q '^usage: ' out && [ ! -s err ] || fail "$*: no usage"
}
# refuses ARGUMENT...: one line, with the last of them.
refuses() {
    local got
    ./run "$@" >out 2>err
    got=$?
    [ $got -eq 2 ] || fail "$*: status $got, not 2"
    [ "$(cat out err | wc -l)" -eq 1 ] && grep -q -- "${!#}: see" err || fail "$*: $(head -3 out err)"
}

helps
helps --help
for verb in demo build test check bench install wheel; do
    helps $verb --help
    [ $verb = bench ] || refuses $verb --bogus # that one's are bench/run.sh's
done
helps test --full --help
refuses build all
refuses test --full --bogus
refuses test --rdma --bogus
refuses install --prefix /nowhere --bogus
./run bogus >out 2>err
[ $? -eq 2 ] || fail "a verb that there is not"

[ $failures -eq 0 ] && echo "all passed"
exit $((failures > 0))
