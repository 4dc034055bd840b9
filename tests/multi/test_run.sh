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

# A build with two tests, of which one takes long.
mkdir -p bin build-asan/bin
printf '#!/bin/sh\necho ok installed\n' >bin/dpkg-query
printf '#!/bin/sh\n' >build-asan/bin/quick
cp build-asan/bin/quick build-asan/bin/slow
chmod +x bin/* build-asan/bin/*
echo 'build build.ninja quick slow: phony' >build-asan/build.ninja
printf 'add_test([=[%s]=] "%s")\n' quick "$PWD/build-asan/bin/quick" slow "$PWD/build-asan/bin/slow" >build-asan/CTestTestfile.cmake
echo 'set_tests_properties(slow PROPERTIES LABELS full)' >>build-asan/CTestTestfile.cmake
PATH=$PWD/bin:$PATH
# passes COUNT ARGUMENT...: so many of them run.
passes() {
    ./run test --asan "${@:2}" >out 2>err && grep -q "^$1 passed, 0 failed" out || fail "${*:2}: $(cat out err | tail -3)"
}
passes 1 --only .
passes 2 --only . --full
passes 1 --only slow --full
./run test --asan --only slow >out 2>err
[ $? -eq 2 ] && grep -q 'no test in build-asan matches slow (--full has more)' err || fail "a test that takes long: $(cat err)"
./run test --asan --only other --full >out 2>err
[ $? -eq 2 ] && grep -q 'no test in build-asan matches other: ' err || fail "no test: $(cat err)"

./run bogus >out 2>err
[ $? -eq 2 ] || fail "a verb that there is not"

[ $failures -eq 0 ] && echo "all passed"
exit $((failures > 0))
