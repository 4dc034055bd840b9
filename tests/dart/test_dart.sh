#!/usr/bin/env bash
# Programs of DART on 1, 2 and 4 units, over shared memory, through the hosts' networks, on units of
# both kinds; dartrun; the library's symbols, each function in C++14; the example of docs/dart.md,
# installed.
# usage: test_dart.sh BIN-FOLDER
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=${here%/tests/dart}
# shellcheck source=tests/install/installed.sh
source "$root/tests/install/installed.sh"
weftrun=$bin/weftrun
programs=(onesided memalloc collectives teams locks 2014 tapi)
total=0

# passes NAME COMMAND...: it says that the checks passed.
passes() {
    local name=$1 line
    shift
    timeout 300 "$@" >out 2>err || fail "$name: status $?: $(grep -v DART_ERR_INVAL err | tail -5)"
    line=$(grep -oE '[0-9]+ units, [0-9]+ checks in each passed' out) || fail "$name: $(tail -3 out)"
    total=$((total + $(cut -d' ' -f3 <<<"${line:-0 0 0}")))
}

# What libfabric leaks when a connection is made while the job ends is not weft's.
echo leak:libfabric >leaks
export LSAN_OPTIONS=suppressions=$PWD/leaks:print_suppressions=0
for program in "${programs[@]}"; do
    for n in 1 2 4; do
        passes "$program on $n" "$weftrun" -n $n "$bin/tests/dart_$program"
    done
    WEFT_PATH=proxy passes "$program through the host" "$weftrun" -n 3 "$bin/tests/dart_$program"
    if "$bin/weft-info" 2>/dev/null | grep -qE '^  ofi +between'; then
        WEFT_LOG=info WEFT_PATH=proxy WEFT_NET=ofi passes "$program over ofi" "$weftrun" -n 2 "$bin/tests/dart_$program"
        grep -q 'network ofi carried' err || fail "$program did not go over ofi"
    fi
    passes "$program on units of both kinds" "$weftrun" --units cuda:1,cpu:2 "$bin/tests/far_dart_$program"
done

# ---- reports of waits: stderr is the file that the program reads ------------------------------------
STALLS=$PWD/err WEFT_STALL_S=0.05 passes "names in reports" "$weftrun" -n 2 "$bin/tests/dart_stall"
for kinds in cuda:1,cpu:1 cpu:1,cuda:1; do
    STALLS=$PWD/err WEFT_STALL_S=0.05 passes "names in reports, $kinds" "$weftrun" --units $kinds "$bin/tests/far_dart_stall"
done

# ---- dartrun -------------------------------------------------------------------------------------
ln -sf "$weftrun" weftrun
PATH=$HOME:$PATH
dartrun=$root/tools/dartrun
passes "dartrun" "$dartrun" --cpu 3 --segment 8M "$bin/tests/dart_tapi"
[ "$(grep -c 'unit [0-2]: cpu' out)" -eq 3 ] || fail "dartrun --cpu 3: $(cat out)"
passes "dartrun, both kinds" "$dartrun" --cpu 2 --gpu 1 "$bin/tests/far_dart_tapi"
[ "$(grep '^unit' out | sort | tr '\n' ,)" = "unit 0: cuda,unit 1: cpu,unit 2: cpu," ] || fail "kinds: $(cat out)"
# shellcheck disable=SC2016 # the shell of each process
[ "$(timeout 300 "$dartrun" --segment 5M --timeout 20 -np 1 sh -c 'echo $WEFT_HEAP')" = 5M ] || fail "dartrun --segment"
for wrong in "" "--cpu x true" "--gpu" "--cpu 0 --gpu 0 true" "-n" "--timeout" "--processes 1"; do
    # shellcheck disable=SC2086 # words
    timeout 300 "$dartrun" $wrong >/dev/null 2>err
    [ $? -eq 125 ] || fail "dartrun $wrong: $(cat err)"
    grep -q '^dartrun: ' err || fail "dartrun $wrong: $(cat err)"
done

# ---- symbols: those of the list, each of which a C++ program may name ------------------------------
library=$HOME/opt/weft/$libdir/libweft-dart.a
nm --defined-only "$library" 2>/dev/null | awk '$2 == "T" && $3 ~ /^dart_/ { print $3 }' | sort >symbols
diff "$here/functions.txt" symbols >difference || fail "symbols: $(cat difference)"
nm --defined-only "$library" 2>/dev/null |
    awk '$2 ~ /[TWDB]/ && $3 !~ /^(dart_|weftdart|__odr_asan\.)/ { print $3 }' | grep . && fail "other symbols"
export PKG_CONFIG_PATH=$HOME/opt/weft/$libdir/pkgconfig
cxx=$(cached CMAKE_CXX_COMPILER)
headers=$HOME/opt/weft/$(cached CMAKE_INSTALL_INCLUDEDIR)/weft-dart
# FILE...: the functions that headers declare.
declared() {
    grep -ohP '\bdart_\w+(?=\()' "$@" | grep -vE '^dart_(global|local)_unit$' | sort -u
}
declared "$headers"/dash/dart/if/*.h "$headers/dart_tapi.h" >typed
declared "$headers/dart_2014.h" "$headers/dart_tapi.h" >bytes
while read -r name; do
    case $name in
    dart_2014_*) grep -qx "dart_${name#dart_2014_}" bytes ;;
    *) grep -qx "$name" typed bytes ;;
    esac || fail "$name is in no header"
done <symbols
sed -n 's/^X(\(dart_[a-z0-9_]*\), .*/\1/p' "$here/prototypes.inc" | sort >prototypes
declared "$headers"/dash/dart/if/*.h | diff prototypes - >difference || fail "prototypes: $(cat difference)"
for interface in typed bytes; do
    sed 's/.*/USE(&)/' $interface >functions.inc
    # shellcheck disable=SC2046 # words
    "$cxx" -std=c++14 -Wall -Werror ${sanitizers:+-fsanitize="$sanitizers"} -I. -DDART_$interface \
        "$here/functions.cpp" $(pkg-config --cflags --libs weft-dart) -o functions || fail "C++14: $interface"
    [ "$(./functions)" -ge "$(wc -l <$interface)" ] || fail "C++14: $interface"
done

# ---- installed: the document's example, by pkg-config --------------------------------------------
awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' "$root/docs/dart.md" >example.c
# shellcheck disable=SC2046 # words
gcc -std=c11 -Wall -Wextra -Werror example.c $(pkg-config --cflags --libs weft-dart) -o example ||
    fail "the example of docs/dart.md"
timeout 300 "$HOME/opt/weft/bin/dartrun" --cpu 3 ./example >out 2>err || fail "the example: $(cat err)"
[ "$(sort out | tr '\n' ,)" = "unit 0 has 42 from unit 2,unit 1 has 42 from unit 0,unit 2 has 42 from unit 1," ] ||
    fail "the example: $(cat out)"

echo "$(wc -l <symbols) functions, $total checks"
[ $failures -eq 0 ]
