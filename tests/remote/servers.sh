# servers.sh - sourced by tests of weft-gpud: starting daemons over the fake driver, and checks. $bin and
# $tests are set; $here is a new folder, which goes at the end, as do all processes in `pids`.
here=$(mktemp -d)
pids=()
trap 'kill -9 "${pids[@]}" 2>/dev/null; rm -rf "$here"' EXIT
failures=0

# expect NAME STATUS TEXT COMMAND... - ends with that status and says that text.
expect() {
    local name=$1 status=$2 text=$3 out got
    shift 3
    out=$(timeout 300 "$@" 2>&1)
    got=$?
    if [ $got -ne "$status" ] || ! grep -qF -- "$text" <<<"$out"; then
        printf 'FAILED %s: status %s, not %s and "%s":\n%s\n' "$name" $got "$status" "$text" "$out"
        failures=$((failures + 1))
    fi
}

# server NAME OPTIONS... - starts a daemon; its address is in $address, its process in $server.
# $libraries: where it finds those of CUDA, for the fake ones.
server() {
    local name=$1
    shift
    FAKE_DRIVER=devices=1,memory=1G,kernels=${folder-$tests}/remote_kernels.so,kernels=${folder-$tests}/remote_bench_kernels.so${fault-} \
        LD_LIBRARY_PATH=${libraries-$tests/fake_libraries} FAKE_BLAS_DRIVER=$tests/fake_driver.so \
        "$bin/weft-gpud" --driver "${folder-$tests}/fake_driver.so" --listen 127.0.0.1:0 \
        --secret-file "$here/secret" "$@" >"$here/$name.out" 2>"$here/$name.err" &
    server=$!
    pids+=("$server")
    for _ in $(seq 1200); do
        grep -qs listening "$here/$name.out" && break
        sleep 0.05
    done
    address=$(sed 's/.* on \([^,]*\),.*/\1/' "$here/$name.out")
}

# until_says TEXT COMMAND... - the command says it before long.
until_says() {
    local text=$1
    shift
    for _ in $(seq 400); do
        "$@" 2>&1 | grep -qF -- "$text" && return 0
        sleep 0.1
    done
    fail "not \"$text\" after 400 times: $*"
}

# fail TEXT...
fail() {
    echo "FAILED $*"
    failures=$((failures + 1))
}

# Two secrets, and the first as the one that programs know.
umask 077
echo a-secret-of-the-tests >"$here/secret"
echo another >"$here/other"
export WEFT_REMOTE_SECRET_FILE=$here/secret
unset CUDA_VISIBLE_DEVICES
cuda=$bin/weft-cuda
