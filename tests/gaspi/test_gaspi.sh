#!/usr/bin/env bash
# Every procedure of GASPI with its errors on 1, 2 and 4 processes, over shared memory and through the
# hosts' networks, in kernels, and on 4 hosts (network namespaces, where this machine gives them); lost and
# dismissed processes; gaspi_run; the library's symbols; the example of docs/gaspi.md, installed.
# With sanitizers it takes few numbers of processes and few repetitions; the build without has all.
# usage: test_gaspi.sh BIN-FOLDER
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=${here%/tests/gaspi}
# shellcheck source=tests/install/installed.sh
source "$root/tests/install/installed.sh"
weftrun=$bin/weftrun
all=$bin/tests/test_gaspi
lost=$bin/tests/gaspi_lost
total=0
jobs="1 2 4" times=8
[ -z "$sanitizers" ] || jobs=2 times=2

# passes NAME COMMAND...: it says that the checks passed.
passes() {
    local name=$1 line
    shift
    timeout 300 "$@" >out 2>err || fail "$name: status $?: $(tail -5 err)"
    line=$(grep -oE 'GASPI on [0-9]+ processes: [0-9]+ checks in each passed' out) ||
        fail "$name: $(tail -3 out)"
    echo "$name: $line"
    total=$((total + $(cut -d' ' -f5 <<<"${line:-0 0 0 0 0}")))
}

for n in $jobs; do
    passes "$n processes" "$weftrun" -n $n "$all"
done
GASPI_SET_NUMA_SOCKET=1 passes "bound to nodes" "$weftrun" -n 2 "$all" texts
WEFT_PATH=proxy passes "through the host" "$weftrun" -n 2 "$all"
grep -qE '^\[ Rank    1\]: long 0{1999}1 end$' out || fail "a long line: $(grep -c long out)"
grep -qx 'weft-gaspi: rank 1: gaspi_write: outside the remote segment: 8 bytes at 2097145 of segment 0 of rank 1, which has 2097152' err &&
    [ "$(grep -c 'rank 1: gaspi_write: outside the remote' err)" -eq 1 ] || fail "a wrong write is not said once"
grep -q 'gaspi_write: called before gaspi_proc_init' err || fail "a write before gaspi_proc_init is not named"
if "$bin/weft-info" 2>/dev/null | grep -qE '^  ofi +between'; then
    WEFT_LOG=info WEFT_PATH=proxy WEFT_NET=ofi passes "over ofi" "$weftrun" -n 2 "$all"
    grep -q 'network ofi carried' err || fail "nothing went over ofi"
fi
for field in sn_port network queue_size_max queue_num group_max segment_max transfer_size_max notification_num \
    passive_queue_size_max passive_transfer_size_max allreduce_elem_max rw_list_elem_max build_infrastructure; do
    grep -q "gaspi_config_set: $field is " err || fail "a refused configuration does not name $field"
done

# ---- in kernels ----------------------------------------------------------------------------------
kernel=$bin/tests/test_gaspi_kernel
far=$bin/tests/test_far_gaspi_kernel
for n in $jobs; do
    passes "kernels, $n processes" "$weftrun" -n $n "$kernel"
done
WEFT_PATH=proxy passes "kernels, through the host" "$weftrun" -n 2 "$kernel"
WEFT_CPU_THREADS=4 passes "kernels, ranks of four threads" "$weftrun" -n 2 "$kernel"
WEFT_GDA=softnic WEFT_PATH=queue passes "kernels, through queues" "$weftrun" -n 2 "$kernel"
passes "kernels, memory that the host cannot reach" "$weftrun" --units cuda:1,cpu:1 "$far"
for n in 1 3; do
    timeout 300 "$weftrun" -n $n "$bin/gaspi_stencil" 100 50 3 >out 2>err
    grep -q 'to the last bit' out || fail "gaspi_stencil on $n processes: $(cat out err)"
done

if [ -x "$bin/bench_gaspi_pingpong" ]; then # a build without benchmarks has none
    for form in latency bulk blocks host; do
        WEFT_GDA=softnic WEFT_PATH=queue timeout 300 "$weftrun" -n 2 "$bin/bench_gaspi_pingpong" --form $form \
            --from 65536 --to 262144 --repeats 100 >out 2>err || fail "ping-pong, $form: $(cat err)"
    done
fi

# ---- four hosts ----------------------------------------------------------------------------------
hosts=$root/tests/multi/hosts
if [ -n "$sanitizers" ]; then
    echo "4 hosts: in the build without sanitizers"
elif [ "$(id -u)" -eq 0 ] && "$hosts" up net 4 >/dev/null 2>&1; then
    trap '"$hosts" down "$HOME/net"; rm -rf "$HOME"' EXIT
    printf 'host%d\n' 0 1 2 3 >machines
    export WEFT_RSH="$hosts rsh $HOME/net"
    PATH=$bin:$PATH passes "gaspi_run on 4 hosts" "$root/tools/gaspi_run" -m machines "$all"
    unset WEFT_RSH
else
    echo "4 hosts: left out, this machine gives no network namespaces"
fi

# ---- the end -------------------------------------------------------------------------------------
for how in exit kill reads; do
    timeout 300 "$weftrun" -n 3 "$lost" $how >out 2>err
    status=$?
    [ $status -ne 124 ] || fail "$how: the others wait"
    [ "$(grep -c 'rank 2 is CORRUPT' out)" -eq 2 ] || fail "$how: $(cat out err)"
    [ $status -eq $([ $how = exit ] && echo 3 || echo 0) ] || fail "$how: status $status"
done
for how in term none; do
    timeout 300 "$weftrun" -n 3 "$lost" $how >out 2>err || fail "$how: $(cat err)"
    WEFT_PATH=proxy timeout 300 "$weftrun" -n 3 "$lost" $how >out 2>err || fail "$how, through the host: $(cat err)"
done
for _ in $(seq $times); do
    timeout 300 "$weftrun" -n 3 "$lost" leave >out 2>err || fail "leave: $(cat err)"
    WEFT_PATH=proxy timeout 300 "$weftrun" -n 3 "$lost" leave >out 2>err || fail "leave, through the host: $(cat err)"
done
timeout 300 "$weftrun" -n 3 "$lost" differ >out 2>err || fail "differ: $(cat err)"
grep -q "notification_num is 100 on rank 2, and 65536 on rank 0" err || fail "differ: $(cat err)"
for microseconds in 1000 2000 3000 4000 6000 8000 12000 20000; do
    timeout 300 "$weftrun" -n 3 "$lost" start $microseconds >out 2>err
    [ $? -eq 142 ] || fail "start: $(cat err)"
    grep 'signal 11' err && fail "start: $(cat err)"
done

# ---- gaspi_run -----------------------------------------------------------------------------------
ln -sf "$weftrun" weftrun
PATH=$HOME:$PATH
gaspi_run=$root/tools/gaspi_run
printf '# two\nlocalhost\n\nlocalhost\n' >machines
[ "$(timeout 300 "$gaspi_run" -m machines -n 2 sh -c 'echo $WEFT_PROCESS of $WEFT_PROCESSES' | sort | tr '\n' ,)" = \
    "0 of 2,1 of 2," ] || fail "gaspi_run -m"
[ "$(timeout 300 "$gaspi_run" -n 3 echo x | wc -l)" -eq 3 ] || fail "gaspi_run -n"
[ "$(timeout 300 "$gaspi_run" --machinefile machines --nodes 2 -p -N sh -c 'echo $GASPI_SET_NUMA_SOCKET' | tr '\n' ,)" = "1,1," ] ||
    fail "gaspi_run --machinefile --nodes -p -N"
printf '#!/bin/sh\necho "first $*"\n' >first
printf '#!/bin/sh\necho "gdb $*"\n' >gdb
chmod +x first gdb
[ "$(timeout 300 "$gaspi_run" -b ./first -n 3 echo "a b" c | sort | tr '\n' ,)" = "a b c,a b c,first a b c," ] || fail "gaspi_run -b"
[ "$(timeout 300 "$gaspi_run" -d -n 2 echo x | sort | tr '\n' ,)" = "gdb --args echo x,x," ] || fail "gaspi_run -d"
[ "$(timeout 300 "$gaspi_run" -n 2 --timeout 200 --env GIVEN=1 --grace 3 sh -c 'echo $GIVEN' | tr '\n' ,)" = "1,1," ] ||
    fail "gaspi_run with weftrun's options, whose values are words of their own"
timeout 300 "$gaspi_run" >/dev/null 2>err && fail "gaspi_run without a program"
timeout 300 "$gaspi_run" -n 2>err && fail "gaspi_run -n without a number"
grep -qx "gaspi_run: -n has no value" err || fail "gaspi_run -n: $(cat err)"
timeout 300 "$gaspi_run" -m nothing true 2>err && fail "gaspi_run takes a file that is not there"
grep -q 'nothing cannot be read' err || fail "gaspi_run: $(cat err)"

# ---- symbols: those of the list, each with its strong name ---------------------------------------
nm --defined-only "$HOME/opt/weft/$libdir/libweft-gaspi.a" 2>/dev/null |
    awk '$2 ~ /[TW]/ && $3 ~ /^p?gaspi_/ { print $2, $3 }' | sort >symbols
grep -oP '^GASPI_FUNCTION(_EXT|_THREADS)?\([a-z_ ]+, \K\w+' "$root/include/weft-gaspi/gaspi_functions.def" |
    while read -r name; do
        printf 'W gaspi_%s\nT pgaspi_%s\n' "$name" "$name"
    done | sort >listed
grep -oP '^(weft_job|gaspi_return_t) \*?\Kgaspi_\w+(?=\()' "$root/include/weft-gaspi/GASPI_GPU.h" |
    sed 's/^/T /' | sort - listed >more && mv more listed
[ -z "$(comm -3 listed symbols)" ] || fail "symbols and list differ: $(comm -3 listed symbols)"
nm --defined-only "$HOME/opt/weft/$libdir/libweft-gaspi.a" 2>/dev/null |
    awk '$2 ~ /[TWDB]/ && $3 !~ /^(p?gaspi_|weftgaspi|__odr_asan\.)/ { print $3 }' | grep . && fail "other symbols"

# ---- installed: the document's example, by pkg-config --------------------------------------------
awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' "$root/docs/gaspi.md" >example.c
export PKG_CONFIG_PATH=$HOME/opt/weft/$libdir/pkgconfig
# shellcheck disable=SC2046 # words
gcc -std=c11 -Wall -Wextra -Werror example.c $(pkg-config --cflags --libs weft-gaspi) -o example ||
    fail "the example of docs/gaspi.md"
timeout 300 "$HOME/opt/weft/bin/gaspi_run" -n 3 ./example >out 2>err || fail "the example: $(cat err)"
[ "$(grep -c 'has 42 from rank' out)" -eq 3 ] || fail "the example: $(cat out)"

echo "$(wc -l <symbols) names, $total checks"
[ $failures -eq 0 ]
