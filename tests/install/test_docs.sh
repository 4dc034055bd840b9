#!/usr/bin/env bash
# The program of docs/queues.md, as it stands there, is built with the installed library and says
# the same with queues and without. The installed examples are built where they lie; one runs.
# usage: test_docs.sh BIN-FOLDER
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/install/installed.sh
source "$here/installed.sh"
export PKG_CONFIG_PATH=$HOME/opt/weft/$libdir/pkgconfig

sed -n '/^```c$/,/^```$/p' "${here%/tests/install}/docs/queues.md" | grep -v '^```' >queues.c
# shellcheck disable=SC2046 # the flags are words
"$compiler" -std=gnu17 -Wall -Wextra -Werror ${sanitizers:+-fsanitize="$sanitizers"} queues.c \
    $(pkg-config --cflags --libs weft) -o queues || fail "the program was not compiled"
WEFT_DEVICE=nothing ./queues >out 2>err && fail "it succeeds without a job"
for settings in WEFT_GDA=off "WEFT_GDA=softnic WEFT_PATH=queue"; do
    # shellcheck disable=SC2086
    env $settings WEFT_DEVICE=cpu "$HOME/opt/weft/bin/weftrun" -n 2 ./queues >out 2>err ||
        fail "$settings: status $?: $(cat err)"
    for me in 0 1 2 3 4 5 6 7; do
        grep -qx "rank $me: rank $me has $((100 + (me + 7) % 8))" out || fail "$settings: $(cat out)"
    done
done

cmake -G Ninja -S "$HOME/opt/weft/share/doc/weft/examples" -B examples -DCMAKE_PREFIX_PATH="$HOME/opt/weft" \
    -DCMAKE_C_COMPILER="$compiler" -DCMAKE_CUDA_ARCHITECTURES=90 \
    ${sanitizers:+-DCMAKE_C_FLAGS=-fsanitize=$sanitizers} >cmake.log 2>&1 &&
    cmake --build examples --target gradient host_window >>cmake.log 2>&1 || fail "examples: $(cat cmake.log)"
env WEFT_DEVICE=cpu "$HOME/opt/weft/bin/weftrun" -n 2 examples/gradient >out 2>err
grep -qx "8 ranks added 1001 gradients: right" out || fail "gradient: $(cat out err)"

[ $failures -eq 0 ]
