#!/usr/bin/env bash
# test_hosts BUILD - weft-gpud on two hosts and a program on a third (network namespaces): it runs, and
# a host whose link passes nothing any more is named within ten seconds, on both sides.
set -u
build=$1
bin=$build/bin
tests=$bin/tests
hosts=$(cd "$(dirname "$0")/../multi" && pwd)/hosts
skip() {
    echo "skipped: $*"
    exit 77
}
[ -x "$tests/vector_add_shared" ] || skip "no nvcc"
[ "$(id -u)" -eq 0 ] || skip "network namespaces need root"
for tool in ip unshare nsenter; do
    command -v $tool >/dev/null || skip "no $tool here"
done
work=$(mktemp -d)
pids=()
trap 'kill -9 "${pids[@]}" 2>/dev/null; "$hosts" down "$work/net"; rm -rf "$work"' EXIT
"$hosts" up "$work/net" 3 2>/dev/null || skip "no veth or bridge here"
failures=0
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# until_says SECONDS FILE TEXT
until_says() {
    for _ in $(seq $((10 * $1))); do
        grep -qF -- "$3" "$2" && return 0
        sleep 0.1
    done
    fail "not \"$3\" within $1 s in $2: $(tail -3 "$2")"
}

umask 077
echo a-secret-of-the-tests >"$work/secret"
servers=
export WEFT_SILENCE_S=6
for i in 1 2; do
    "$hosts" on "$work/net" host$i env FAKE_DRIVER="devices=1,kernels=$tests/remote_kernels.so" "$bin/weft-gpud" --driver "$tests/fake_driver.so" \
        --listen "10.77.0.$((i + 1)):7070" --secret-file "$work/secret" >"$work/$i.out" 2>"$work/$i.err" &
    pids+=($!)
    until_says 60 "$work/$i.out" listening
    servers=${servers:+$servers,}10.77.0.$((i + 1)):7070
done
export WEFT_REMOTE_SECRET_FILE=$work/secret
run=("$hosts" on "$work/net" host0 "$bin/weft-cuda" run -s "$servers" --)

timeout 300 "${run[@]}" "$tests/vector_add_shared" >"$work/add" 2>&1
grep -qF '2 devices: Test PASSED' "$work/add" || fail "$(cat "$work/add")"

"${run[@]}" "$tests/remote_endless" >"$work/endless" 2>&1 &
pids+=($!)
until_says 60 "$work/endless" ready
"$hosts" part "$work/net" host2
until_says 60 "$work/endless" 'server 10.77.0.3:7070 is lost'
until_says 60 "$work/endless" 'ended with 46'
for _ in $(seq 600); do # the session of the host that was cut off ends, too
    "$hosts" on "$work/net" host2 "$bin/weft-cuda" status -s 10.77.0.3:7070 2>&1 | grep -qF ' 0 clients' && break
    sleep 0.1
done
"$hosts" on "$work/net" host2 "$bin/weft-cuda" status -s 10.77.0.3:7070 2>&1 | grep -qF ' 0 clients' ||
    fail "the session stays: $(cat "$work/2.err")"
[ "$failures" -eq 0 ] && echo "all good"
exit $((failures != 0))
