#!/usr/bin/env bash
# weft-gpud and weft-cuda with two servers over the fake driver: unchanged programs, refusals,
# strangers, lost clients and lost servers.
set -u
build=$1
bin=$build/bin
tests=$bin/tests
data=$(cd "$(dirname "$0")/../../data" && pwd)/debian-depends.mtx
here=$(mktemp -d)
pids=()
trap 'kill -9 "${pids[@]}" 2>/dev/null; rm -rf "$here"' EXIT
program=$tests/vector_add_shared
[ -x "$program" ] || {
    echo "skipped: no nvcc"
    exit 77
}
failures=0

# expect NAME STATUS TEXT COMMAND... - ends with that status and says that text.
expect() {
    local name=$1 status=$2 text=$3 out got
    shift 3
    out=$(timeout 60 "$@" 2>&1)
    got=$?
    if [ $got -ne "$status" ] || ! grep -qF -- "$text" <<<"$out"; then
        printf 'FAILED %s: status %s, not %s and "%s":\n%s\n' "$name" $got "$status" "$text" "$out"
        failures=$((failures + 1))
    fi
}

# server NAME OPTIONS... - starts a daemon; its address is in $address, its process in $server.
server() {
    local name=$1
    shift
    "$bin/weft-gpud" --driver "fake:devices=1,memory=1G,kernels=$tests/remote_kernels.so,kernels=$tests/remote_bench_kernels.so${fault-}" --listen 127.0.0.1:0 \
        --secret-file "$here/secret" "$@" >"$here/$name.out" 2>"$here/$name.err" &
    server=$!
    pids+=("$server")
    for _ in $(seq 100); do
        grep -q listening "$here/$name.out" && break
        sleep 0.05
    done
    address=$(sed 's/.* on \([^,]*\),.*/\1/' "$here/$name.out")
}

# until TEXT COMMAND... - within ten seconds the command says it.
until_says() {
    local text=$1
    shift
    for _ in $(seq 100); do
        "$@" 2>&1 | grep -qF -- "$text" && return 0
        sleep 0.1
    done
    echo "FAILED: not \"$text\" within 10 s: $*"
    failures=$((failures + 1))
}

umask 077
echo a-secret-of-the-tests >"$here/secret"
echo another >"$here/other"
server one
a=$address
server two --clients 1
b=$address
two=$server
grep -qE "^weft-gpud: listening on $a, 1 device \(fake\), 16 clients$" "$here/one.out" ||
    { echo "FAILED: $(cat "$here/one.out")" && failures=$((failures + 1)); }
export WEFT_REMOTE_SECRET_FILE=$here/secret
cuda=$bin/weft-cuda

expect list 0 "1  $b  device 0  fake GPU  1024 MiB" "$cuda" list -s "$a,$b"
expect shared 0 '2 devices: Test PASSED' "$cuda" run -s "$a,$b" -- "$program"
expect static 0 '2 devices: Test PASSED' "$cuda" run -s "$a,$b" -- "$tests/vector_add_static"
expect sync 0 '2 devices: Test PASSED' env WEFT_REMOTE_SYNC=on "$cuda" run -s "$a,$b" -- "$program"
expect ofi 0 '2 devices: Test PASSED' env WEFT_NET=ofi "$cuda" run -s "$a,$b" -- "$program"
expect triangles 0 '384212 triangles' "$cuda" run -s "$a,$b" -- "$tests/remote_triangles" "$data"
expect samples 0 'peer: passed' "$cuda" run -s "$a,$b" -- "$tests/remote_samples"
expect suite 0 ' 0 failed' env WEFT_REMOTE_SERVERS="$a,$b" "$tests/test_remote_suite" remote "$tests/suite_kernels.fatbin"
expect 'suite, sync' 0 ' 0 failed' env WEFT_REMOTE_SYNC=on WEFT_REMOTE_SERVERS="$a,$b" "$tests/test_remote_suite" remote "$tests/suite_kernels.fatbin"
expect check 0 '0 of them refused' "$cuda" check "$program"

# who may not come in
expect secret 1 'the program has another secret' \
    env WEFT_REMOTE_SECRET_FILE="$here/other" "$cuda" run -s "$a" -- "$program"
expect nobody 1 'Connection refused' "$cuda" run -s 127.0.0.1:1 -- "$program"
expect twice 1 "server $a is named twice" "$cuda" run -s "$a,$a" -- "$program"
expect port 1 'is not HOST:PORT' "$cuda" run -s "127.0.0.1:99999" -- "$program"
many=$a
for port in $(seq 40000 40024); do many=$many,127.0.0.1:$port; done # longer than other settings may be
expect 'many servers' 1 'Connection refused' "$cuda" run -s "$many" -- "$program"
expect pipe 1 'WEFT_REMOTE_PIPE=9x: not auto, once:NxSIZE or each:NxSIZE' \
    env WEFT_REMOTE_PIPE=9x "$cuda" run -s "$a" -- "$program"
expect unknown 1 'WEFT_REMOTE_PIPES' env WEFT_REMOTE_PIPES=1 "$cuda" run -s "$a" -- "$program"
expect 'no secret file' 1 'secret-file is missing' "$bin/weft-gpud" --driver fake:
chmod 644 "$here/other"
expect 'open secret' 1 'others can read it' "$bin/weft-gpud" --driver fake: --secret-file "$here/other"
expect 'no secret' 1 'for a loopback address alone' "$bin/weft-gpud" --driver fake: --no-secret --listen 0.0.0.0:0

# strangers: some silent, some noisy
port=${a##*:}
for i in $(seq 150); do
    exec {fd}<>"/dev/tcp/127.0.0.1/$port" || break
    [ $((i % 2)) -eq 0 ] && head -c 400 /dev/urandom >&"$fd"
done 2>/dev/null
expect strangers 0 'Test PASSED' "$cuda" run -s "$a" -- "$program"

# places, a client that is killed, and one whose server is
"$cuda" run -s "$a,$b" -- "$tests/remote_endless" >"$here/endless.out" 2>&1 &
client=$!
pids+=("$client")
until_says ready cat "$here/endless.out"
expect full 1 "server $b refuses: all 1 places are taken" "$cuda" run -s "$b" -- "$program"
expect status 0 "$b  1 clients of 1" "$cuda" status -s "$b"
kill -9 "$client"
until_says "$b  0 clients of 1" "$cuda" status -s "$b"
"$cuda" run -s "$a,$b" -- "$tests/remote_endless" >"$here/endless.out" 2>&1 &
client=$!
pids+=("$client")
until_says ready cat "$here/endless.out"
pkill -9 -P "$two"
until_says "server $b is lost" cat "$here/endless.out"
until_says "ended with 46" cat "$here/endless.out"
kill "$two"
until_says 'sessions ended' cat "$here/two.err"

# a warm session is the program's, and another one comes in its place
server warm --warm 1
expect warm 0 'Test PASSED' "$cuda" run -s "$address" -- "$program"
until_says 1 pgrep -cP "$server"
ready=$(pgrep -P "$server")
"$cuda" run -s "$a,$address" -- "$tests/remote_endless" >"$here/endless.out" 2>&1 &
pids+=($!)
until_says ready cat "$here/endless.out"
until_says 2 pgrep -cP "$server"
kill -9 "$ready"
until_says "server $address is lost" cat "$here/endless.out"
kill "$server"
until_says 'sessions ended' cat "$here/warm.err"

# shares: the third allocation is too much, and the other program goes on
server three --memory 8M
c=$address
three=$server
"$cuda" run -s "$a,$c" -- "$tests/remote_endless" >"$here/endless.out" 2>&1 &
client=$!
pids+=("$client")
until_says ready cat "$here/endless.out"
expect share 0 'allocation 3: cudaErrorMemoryAllocation' "$cuda" run -s "$c" -- "$tests/remote_quota"
expect child 0 'child 0, then cudaSuccess' "$cuda" run -s "$c" -- "$tests/remote_quota"
grep -q 'the program would hold 12 MiB of device 0, its share is 8 MiB' "$here/three.err" ||
    { echo "FAILED: $(cat "$here/three.err")" && failures=$((failures + 1)); }

# a server that is stopped for a while is not lost
pkill -STOP -P "$three"
sleep 1
pkill -CONT -P "$three"
expect stopped 0 "$c  1 clients of 16" "$cuda" status -s "$c"
kill "$three"
until_says '1 sessions ended' cat "$here/three.err"
until_says "ended with 46" cat "$here/endless.out"

# a program that asks for nothing for longer than it may
server idle --idle-s 1
expect idle 1 'then cudaErrorDevicesUnavailable' "$cuda" run -s "$address" -- "$tests/remote_quota" 3
grep -qF 'the program has asked for nothing for 1 s' "$here/idle.err" ||
    { echo "FAILED: $(cat "$here/idle.err")" && failures=$((failures + 1)); }

# a GPU that fails ends what one program does there, with its own error
fault=,fault=launch:1:719 server four
expect failure 1 'unspecified launch failure' "$cuda" run -s "$address" -- "$program"
expect others 0 'Test PASSED' "$cuda" run -s "$a" -- "$program"

[ "$failures" -eq 0 ] && echo "all good"
exit $((failures != 0))
