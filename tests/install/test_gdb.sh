#!/usr/bin/env bash
# gdb with an installed weft-gdb.py lists what each rank of a hanging program waits for, with the line
# of the program where it does: in the living process, and in its core. One thread a rank, and three.
# usage: test_gdb.sh BIN-FOLDER
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
command -v gdb >/dev/null || {
    echo "there is no gdb"
    exit 77
}
if grep -q '^WEFT_SANITIZE:.*=.' "$1/../CMakeCache.txt"; then
    echo "the core of a sanitized program has all of its shadow memory"
    exit 77
fi
# shellcheck source=tests/install/installed.sh
source "$here/installed.sh"
export PKG_CONFIG_PATH=$HOME/opt/weft/$libdir/pkgconfig
script=$HOME/opt/weft/share/weft/weft-gdb.py
# shellcheck disable=SC2046 # the flags are words
gcc -x c -g -O1 "$here/hangs.cu" $(pkg-config --cflags --libs weft) -o hangs || exit 1

line_of() {
    grep -n "$1" "$here/hangs.cu" | cut -d: -f1
}

# lists FILE: each rank with its wait, and the line of its call in a stack that ends in the kernel.
lists() {
    local rank waits
    for rank in 0 1 2; do
        case $rank in
        0) waits="in weft_wait for tag 7: has 0 of 2 notifications" ;;
        1) waits="in a barrier of WEFT_COMM_WORLD" ;;
        2) waits="in weft_leave" ;;
        esac
        sed -n "/^rank $rank: waits $waits$/,/^[a-z]/p" "$1" |
            grep -q " at .*hangs.cu:$(line_of "/\* rank $rank \*/")$" || fail "rank $rank of $1"
    done
    sed -n '/^host program: /,$p' "$1" | grep -q "main at .*hangs.cu:$(line_of 'the host program')$" ||
        fail "the host program of $1"
}

for threads in 1 3; do
    : >hangs.log
    WEFT_CPU_THREADS=$threads WEFT_STALL_S=0.5 ./hangs 2>hangs.log &
    pid=$!
    until grep -q "rank 2 has waited" hangs.log; do
        kill -0 $pid || exit 1
        sleep 0.1
    done
    gdb -batch -p $pid -x "$script" -ex 'weft ranks' -ex 'generate-core-file core' >live.txt 2>gdb.log
    kill $pid
    wait $pid
    if grep -q 'ptrace: ' gdb.log; then
        cat gdb.log
        exit 77
    fi
    [ "$(sed '/^host program/,$d' live.txt | grep -c '^  thread ')" -eq $((threads == 3 ? 9 : 0)) ] || fail "threads of ranks"
    gdb -batch ./hangs core -x "$script" -ex 'weft ranks' >core.txt 2>>gdb.log
    lists live.txt
    lists core.txt
    grep -A1 'Python Exception' gdb.log && fail "the script"
done
gdb -batch "$(command -v true)" -x "$script" -ex 'weft ranks' 2>&1 | grep -q 'no process, and no core' || fail "no process"
[ $failures -eq 0 ] || cat live.txt core.txt gdb.log
[ $failures -eq 0 ]
