#!/usr/bin/env bash
# Unchanged programs of nvcc, with its shared and its static runtime, over the fake driver.
set -u
build=$1
tests=$build/bin/tests
lib=$build/lib/weft-cuda
here=$(mktemp -d)
trap 'rm -rf "$here"' EXIT
[ -x "$tests/vector_add_static" ] || {
    echo "skipped: no nvcc"
    exit 77
}
export WEFT_REMOTE_DRIVER=$tests/fake_driver.so FAKE_DRIVER=devices=2,kernels=$tests/remote_kernels.so
failures=0

# expect NAME STATUS TEXT COMMAND... - ends with that status and says that text.
expect() {
    local name=$1 status=$2 text=$3 out
    shift 3
    out=$(timeout 300 "$@" 2>&1)
    if [ $? -ne "$status" ] || ! grep -qF -- "$text" <<<"$out"; then
        printf 'FAILED %s: not status %s and "%s":\n%s\n' "$name" "$status" "$text" "$out"
        failures=$((failures + 1))
    fi
}

expect shared 0 'Test PASSED' env LD_LIBRARY_PATH="$lib" "$tests/vector_add_shared"
expect static 0 'Test PASSED' env LD_PRELOAD="$lib/libweft_redirect.so" "$tests/vector_add_static"
"$tests/remote_texts" >"$here/theirs" # NVIDIA's runtime says its errors without a GPU
expect texts 0 'cudaErrorUnknown: unknown error' env LD_PRELOAD="$lib/libweft_redirect.so" "$tests/remote_texts"
LD_PRELOAD=$lib/libweft_redirect.so "$tests/remote_texts" | diff "$here/theirs" - || {
    echo "FAILED: errors are called otherwise than by NVIDIA's runtime"
    failures=$((failures + 1))
}
strip -o "$here/stripped" "$tests/vector_add_static"
expect stripped 1 "holds NVIDIA's runtime without symbols; link it with -cudart shared" \
    env LD_PRELOAD="$lib/libweft_redirect.so" "$here/stripped"
expect library 0 'libremote_static.so, a library, holds NVIDIA'\''s runtime' \
    env LD_PRELOAD="$lib/libweft_redirect.so:$tests/libremote_static.so" true
expect other 0 hello env LD_PRELOAD="$lib/libweft_redirect.so" echo hello
expect fault 1 'an illegal memory access' \
    env FAKE_DRIVER="$FAKE_DRIVER,fault=launch:2:700" LD_LIBRARY_PATH="$lib" "$tests/vector_add_shared"
if nm -D --defined-only "$lib/libcudart.so.13" | awk '{print $3}' | grep -vE '^(__)?cuda|^libcudart.so.13@|^libcudart.so.13$'; then
    echo "FAILED: libcudart.so.13 shows more than CUDA's functions"
    failures=$((failures + 1))
fi
[ "$failures" -eq 0 ] && echo "all good"
exit $((failures != 0))
