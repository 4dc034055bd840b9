#!/usr/bin/env bash
# weft-gpud and weft-cuda with two servers over the fake driver: unchanged programs, refusals,
# strangers, lost clients and lost servers.
set -u
build=$1
bin=$build/bin
tests=$bin/tests
data=$(cd "$(dirname "$0")/../../data" && pwd)/debian-depends.mtx
# shellcheck source=tests/remote/servers.sh
. "$(dirname "$0")/servers.sh"
program=$tests/vector_add_shared
[ -x "$program" ] || {
    echo "skipped: no nvcc"
    exit 77
}
server one
a=$address
server two --clients 1
b=$address
two=$server
grep -qE "^weft-gpud: listening on $a, 1 device \(.*/fake_driver.so\), 16 clients$" "$here/one.out" ||
    fail "$(cat "$here/one.out")"

expect list 0 "1  $b  device 0  fake GPU  1024 MiB" "$cuda" list -s "$a,$b"
expect shared 0 '2 devices: Test PASSED' "$cuda" run -s "$a,$b" -- "$program"
expect static 0 '2 devices: Test PASSED' "$cuda" run -s "$a,$b" -- "$tests/vector_add_static"
expect 'own streams' 0 '2 devices: Test PASSED' "$cuda" run -s "$a,$b" -- "$tests/vector_add_own"
expect sync 0 '2 devices: Test PASSED' env WEFT_REMOTE_SYNC=on "$cuda" run -s "$a,$b" -- "$program"
expect ofi 0 '2 devices: Test PASSED' env WEFT_NET=ofi "$cuda" run -s "$a,$b" -- "$program"
expect triangles 0 '384212 triangles' "$cuda" run -s "$a,$b" -- "$tests/remote_triangles" "$data"
expect 'peer access' 0 ' 0 wrong' "$cuda" run -s "$a,$b" -- "$tests/remote_peers" 1
expect samples 0 'peer: passed' "$cuda" run -s "$a,$b" -- "$tests/remote_samples"
expect suite 0 ' 0 failed' env WEFT_REMOTE_SERVERS="$a,$b" "$tests/test_remote_suite" remote "$tests/suite_kernels.fatbin"
expect reach 0 ' 0 failed' env WEFT_REMOTE_SERVERS="$a,$b" "$tests/test_remote_reach" servers 2 1
expect 'suite, sync' 0 ' 0 failed' env WEFT_REMOTE_SYNC=on WEFT_REMOTE_SERVERS="$a,$b" "$tests/test_remote_suite" remote "$tests/suite_kernels.fatbin"
# speaks NAME COMMAND... - kernels' lines stand between the host's, in the order of their numbers.
speaks() {
    local name=$1 wrong
    shift
    wrong=$(timeout 300 "$@" 2>"$here/speak.err" | awk '$2 != NR - 1 { print NR, $0 } END { if (NR != '"$lines"') print NR " lines" }' | head -n 3)
    [ -z "$wrong" ] || fail "$name: $wrong"
    [ "$(grep -c "a kernel's own error" "$here/speak.err")" -eq 8 ] || fail "$name: $(cat "$here/speak.err")"
}
lines=40027 speaks 'output of kernels' "$cuda" run -s "$a,$b" -- "$tests/remote_speak"
if [ -x "$tests/remote_blas" ]; then
    expect blas 0 'blas: 2 devices, 0 wrong' "$cuda" run -s "$a,$b" -- "$tests/remote_blas" fake
    expect 'blas, sync' 0 'blas: 2 devices, 0 wrong' env WEFT_REMOTE_SYNC=on "$cuda" run -s "$a,$b" -- "$tests/remote_blas" fake
    mkdir "$here/broken"
    cp "$tests"/fake_libraries/* "$here/broken"
    echo nothing >"$here/broken/libcufft.so.12"
    libraries=$here/broken server broken
    expect 'a library that is not there' 0 'cufft: not at the server' "$cuda" run -s "$address" -- "$tests/remote_blas" fake
    grep -q 'a program wants libcufft.so.12' "$here/broken.err" || fail "broken: $(cat "$here/broken.err")"
    for refused in cublasXtCreate cusolverSpCreateCsrluInfoHost cublasInit; do # of all headers
        nm -D --defined-only "$build"/lib/weft-cuda/libcu{blas,solver}.so.1? | grep -q " $refused" || fail "no $refused"
    done
    expect 'check a library' 1 'cublasUint8gemmBias                                  refused: docs/remote.md#libraries' "$cuda" check "$tests/remote_blas"
fi
expect 'check the driver' 1 'cuInit                                               refused: docs/remote.md#the-driver' \
    "$cuda" check "$tests/remote_driver_user.so"
said=$(sed -n 's/^\([0-9]*\) functions of the runtime, and.*/\1/p' "$(dirname "$0")/../../docs/remote.md")
[ "$("$cuda" functions | grep -c '^cuda[A-Z].* supported$')" = "$said" ] || fail "docs/remote.md says that $said functions are served"
expect functions 0 'cudaStreamBeginCapture                               refused: docs/remote.md#graphs' "$cuda" functions
expect check 0 '0 of them refused' "$cuda" check "$program"
expect 'check two' 1 "one program at a time; $tests/remote_refused is another" "$cuda" check "$program" "$tests/remote_refused"
for verb in functions "check $program" "list -s $a" "status -s $a"; do
    # shellcheck disable=SC2086
    [ ! -c /dev/full ] || expect "full: $verb" 1 'weft-cuda: standard output: No space left on device' \
        bash -c 'exec "$0" "$@" >/dev/full' "$cuda" $verb
done
expect 'check refuses' 1 '__cudaRegisterManagedVar                             refused: docs/remote.md#unified-memory' \
    "$cuda" check "$tests/remote_refused"
expect 'check static' 0 '0 of them refused' "$cuda" check "$tests/vector_add_static"
for function in cudaStreamBeginCapture cudaStreamEndCapture cudaGraphCreate; do
    for refused in remote_refused remote_refused_static; do
        expect "check $refused" 1 "$(printf '%-52s refused: docs/remote.md#graphs' $function)" "$cuda" check "$tests/$refused"
    done
done
expect refused 0 '0 not refused' "$cuda" run -s "$a" -- "$tests/remote_refused"
for said in 'cudaIpcGetMemHandle is not supported on remote GPUs (docs/remote.md#other-processes)' \
    "a pool's share of memory is not supported"; do
    expect "refused, said" 0 "$said" "$cuda" run -s "$a" -- "$tests/remote_refused"
done

# which of the servers' devices a program sees
for seen in '1:1' '1,0:2' '0,2,1:1' '1gpu:1' 'GPU-66616b65:0' '0,0:0' '-1:0' ':0'; do
    name="visible ${seen%:*}"
    if [ "${seen##*:}" = 0 ]; then
        expect "$name" 1 'no CUDA-capable device' env CUDA_VISIBLE_DEVICES="${seen%:*}" "$cuda" run -s "$a,$b" -- "$program"
    else
        expect "$name" 0 "${seen##*:} devices: Test PASSED" env CUDA_VISIBLE_DEVICES="${seen%:*}" "$cuda" run -s "$a,$b" -- "$program"
    fi
done
expect 'visible, by UUID' 0 '1 devices: Test PASSED' env CUDA_VISIBLE_DEVICES=GPU-66616b65 "$cuda" run -s "$b" -- "$program"
expect 'list prints all' 0 "1  $b" env CUDA_VISIBLE_DEVICES=0 "$cuda" list -s "$a,$b"

# who may not come in
expect secret 1 'the program has another secret' \
    env WEFT_REMOTE_SECRET_FILE="$here/other" "$cuda" run -s "$a" -- "$program"
expect nobody 1 'Connection refused' "$cuda" run -s 127.0.0.1:1 -- "$program"
expect twice 1 "server $a is named twice" "$cuda" run -s "$a,$a" -- "$program"
expect port 1 'is not HOST:PORT' "$cuda" run -s "127.0.0.1:99999" -- "$program"
many=$a
for port in $(seq 40000 40024); do many=$many,127.0.0.1:$port; done # longer than other settings may be
expect 'many servers' 1 'Connection refused' "$cuda" run -s "$many" -- "$program"
for port in $(seq 41000 41006); do many=$many,127.0.0.1:$port; done
expect 'too many servers' 1 'more than 32 servers' "$cuda" run -s "$many" -- "$program"
expect pipe 1 'WEFT_REMOTE_PIPE=9x: not direct, auto, once:NxSIZE or each:NxSIZE' \
    env WEFT_REMOTE_PIPE=9x "$cuda" run -s "$a" -- "$program"
expect unknown 1 'WEFT_REMOTE_PIPES' env WEFT_REMOTE_PIPES=1 "$cuda" run -s "$a" -- "$program"
expect 'no program' 1 'run: no program is named' "$cuda" run -s "$a"
expect 'no servers' 1 'no servers: WEFT_REMOTE_SERVERS is empty' "$cuda" run -- "$program"
expect verb 1 'none of run, list, status, check and functions' "$cuda" runs -s "$a" -- "$program"
expect 'port taken' 1 'Address already in use' "$bin/weft-gpud" --driver "$tests/fake_driver.so" --secret-file "$here/secret" --listen "$a"
expect 'no device' 1 'there is no device 3: the driver has 1' "$bin/weft-gpud" --driver "$tests/fake_driver.so" --secret-file "$here/secret" --devices 3
expect 'no secret file' 1 'secret-file is missing' "$bin/weft-gpud" --driver "$tests/fake_driver.so"
chmod 644 "$here/other"
expect 'open secret' 1 'others can read it' "$bin/weft-gpud" --driver "$tests/fake_driver.so" --secret-file "$here/other"
expect 'no secret' 1 'for a loopback address alone' "$bin/weft-gpud" --driver "$tests/fake_driver.so" --no-secret --listen 0.0.0.0:0

expect 'no secret, a name like an address' 1 'for a loopback address alone' "$bin/weft-gpud" --driver "$tests/fake_driver.so" --no-secret --listen 127.example:0
# limited OPTION NUMBER COMMAND... - under a limit of ulimit
limited() { bash -c 'ulimit "$1" "$2" && shift 2 && exec "$@"' sh "$@"; }
export -f limited
expect 'few files' 1 'it needs 97 files, and may have 64 open (ulimit -n)' \
    bash -c 'limited "$@"' sh -n 64 "$bin/weft-gpud" --driver "$tests/fake_driver.so" --secret-file "$here/secret"
was=$(ulimit -Sn)
ulimit -Sn 40
server few
ulimit -Sn "$was"
expect 'few files, and more may be' 0 'Test PASSED' "$cuda" run -s "$address" -- "$program"
echo wrong >"$here/wrong"
for _ in $(seq 20); do
    WEFT_REMOTE_SECRET_FILE=$here/wrong "$cuda" status -s "$address" 2>/dev/null
done
[ "$(grep -c refused "$here/few.err")" -eq 8 ] || fail "refusals: $(cat "$here/few.err")"
kill "$server"
until_says '12 more refusals were not logged' cat "$here/few.err"

# strangers: some silent, some noisy
port=${a##*:}
for i in $(seq 300); do
    exec {fd}<>"/dev/tcp/127.0.0.1/$port" || break
    [ $((i % 2)) -eq 0 ] && head -c 400 /dev/urandom >&"$fd"
done 2>/dev/null
expect strangers 0 'Test PASSED' "$cuda" run -s "$a" -- "$program"

# endless SERVERS - begins a program that goes on until one of them is lost; its process is $client.
endless() {
    rm -f "$here/endless.out" # of an earlier one, which has said that it is ready, too
    "$cuda" run -s "$1" -- "$tests/remote_endless" >"$here/endless.out" 2>&1 &
    client=$!
    pids+=("$client")
    until_says ready cat "$here/endless.out"
}

# places, a client that is killed, and one whose server is
endless "$a,$b"
expect full 1 "server $b refuses: all 1 places are taken" "$cuda" run -s "$b" -- "$program"
expect status 0 "$b  1 clients of 1" "$cuda" status -s "$b"
kill -9 "$client"
until_says "$b  0 clients of 1" "$cuda" status -s "$b"
endless "$a,$b"
pkill -9 -P "$two"
until_says "server $b is lost" cat "$here/endless.out"
until_says "ended with 46" cat "$here/endless.out"
kill "$two"
until_says 'sessions ended' cat "$here/two.err"

# a warm session is the program's, and another one comes in its place
server warm
expect warm 0 'Test PASSED' "$cuda" run -s "$address" -- "$program"
until_says 1 pgrep -cP "$server"
ready=$(pgrep -P "$server")
endless "$a,$address"
until_says 2 pgrep -cP "$server"
kill -9 "$ready"
until_says "server $address is lost" cat "$here/endless.out"
kill "$server"
until_says 'sessions ended' cat "$here/warm.err"

# sessions of another user end with the daemon, too
if [ "$(id -u)" -eq 0 ] && getent passwd nobody >/dev/null; then
    folder=$(mktemp -d)
    cp "$tests/fake_driver.so" "$tests/remote_kernels.so" "$tests/remote_bench_kernels.so" "$folder"
    chmod -R a+rX "$folder"
    folder=$folder server user --user nobody --warm 0
    endless "$a,$address"
    session=$(pgrep -P "$server")
    [ "$(stat -c %U "/proc/$session")" = nobody ] || fail "user: $(ps -o user,args -p "$session")"
    kill -9 "$server"
    until_says "server $address is lost" cat "$here/endless.out"
    until_says gone sh -c 'kill -0 "$1" || echo gone' sh "$session"
    rm -rf "$folder"
    unset folder
fi

# shares: the third allocation is too much, and the other program goes on
server three --memory 8M
c=$address
three=$server
endless "$a,$c"
expect share 0 'allocation 3: cudaErrorMemoryAllocation' "$cuda" run -s "$c" -- "$tests/remote_quota"
expect child 0 'child 0, then cudaSuccess' "$cuda" run -s "$c" -- "$tests/remote_quota"
grep -q 'the program would hold 12 MiB of device 0, its share is 8 MiB' "$here/three.err" ||
    fail "$(cat "$here/three.err")"

# two at once: each has its share
for i in 1 2; do
    "$cuda" run -s "$c" -- "$tests/remote_quota" 2 >"$here/share$i.out" 2>&1 &
    shares[i]=$!
done
wait "${shares[@]}"
for i in 1 2; do
    grep -qF 'allocation 2: cudaSuccess' "$here/share$i.out" &&
        grep -qF 'allocation 3: cudaErrorMemoryAllocation' "$here/share$i.out" &&
        grep -qF 'then cudaSuccess' "$here/share$i.out" || fail "share $i: $(cat "$here/share$i.out")"
done

# programs that end while their threads, or callbacks, are in the runtime
for net in shm ofi; do
    for how in thread callback blocked; do
        expect "leave, $how, $net" 0 '' env WEFT_NET=$net "$cuda" run -s "$a" -- "$tests/remote_leave" $how
    done
done

# a server that is stopped for a while is not lost (test_stopped.sh: for longer)
pkill -STOP -P "$three"
sleep 1
pkill -CONT -P "$three"
expect stopped 0 "$c  1 clients of 16" "$cuda" status -s "$c"
kill "$three"
until_says '1 sessions ended' cat "$here/three.err"
until_says "0 wrong, ended with 46" cat "$here/endless.out"

# a program that asks for nothing for longer than it may
server idle --idle-s 1
expect idle 1 'then cudaErrorDevicesUnavailable' "$cuda" run -s "$address" -- "$tests/remote_quota" 3
grep -qF 'the program has asked for nothing for 1 s' "$here/idle.err" ||
    fail "$(cat "$here/idle.err")"

# a GPU that fails ends what one program does there, with its own error
fault=,fault=launch:1:719 server four
expect failure 1 'unspecified launch failure' "$cuda" run -s "$address" -- "$program"
expect others 0 'Test PASSED' "$cuda" run -s "$a" -- "$program"

[ "$failures" -eq 0 ] && echo "all good"
exit $((failures != 0))
