#!/usr/bin/env bash
# A kernel in C++ runs on the CPU device, and so does a dCUDA program; every compiler finds logs whose arguments do not match their
# format, or are too many, and says so.
# usage: test_cxx.sh BIN-FOLDER
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/install/installed.sh
source "$here/installed.sh"
export PKG_CONFIG_PATH=$HOME/opt/weft/$libdir/pkgconfig

# The C++ compiler beside the build's C compiler.
case ${compiler##*/} in
*clang*) cxx=${compiler/clang/clang++} ;;
*gcc*) cxx=${compiler/gcc/g++} ;;
*) cxx=${compiler%/*}/c++ ;;
esac
command -v "$cxx" >/dev/null || {
    echo "there is no $cxx"
    exit 77
}
# shellcheck disable=SC2046 # the flags are words
"$cxx" -std=c++17 -Wall -Wextra -Wpedantic -Werror ${sanitizers:+-fsanitize="$sanitizers"} "$here/kernel.cpp" \
    $(pkg-config --cflags --libs weft) -o neighbours || fail "kernel.cpp was not compiled"
./neighbours >out 2>err || fail "status $?: $(cat err)"
grep -qx right out || fail "the neighbours: $(cat out err)"
grep -qx "rank 1: odd rank of 4: 100, 0.5, 0x0, x, 8" out || fail "rank 1's line: $(cat out)"
[ "$(grep -c "no arguments" out)" -eq 4 ] || fail "lines without arguments: $(cat out)"

# Templates in a library of kernels, by CMake; two processes of two ranks add up four times 2.
mkdir project
cp "$here"/templates* project
cat >project/CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.22)
project(templates LANGUAGES C CXX)
find_package(weft REQUIRED)
add_library(kernels STATIC)
weft_add_kernels(kernels CXX templates.cu NVCC_FLAGS -DWEIGHT=1 --use_fast_math)
weft_add_program(templates templates_main.cpp)
target_link_libraries(templates PRIVATE kernels)
weft_add_program(alone CXX templates.cu templates_main.cpp NVCC_FLAGS -DWEIGHT=1)
CMAKE
cmake -S project -B project/build -DCMAKE_PREFIX_PATH="$HOME/opt/weft" -DCMAKE_C_COMPILER="$compiler" \
    -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_CUDA_ARCHITECTURES=90 \
    ${sanitizers:+-DCMAKE_C_FLAGS=-fsanitize=$sanitizers -DCMAKE_CXX_FLAGS=-fsanitize=$sanitizers} >cmake.log 2>&1 &&
    cmake --build project/build >>cmake.log 2>&1 || fail "templates: $(cat cmake.log)"
for program in templates alone; do
    "$HOME/opt/weft/bin/weftrun" -n 2 env WEFT_DEVICE=cpu project/build/$program >out 2>err
    [ "$(cat out)" = $'8\n8' ] || fail "$program: status $?: $(cat out err)"
    grep -q "by .*nvcc" cmake.log && ! nm project/build/$program | grep -q " [RD] templates_cuda$" &&
        fail "$program has no kernel for GPUs"
done

# A dCUDA program, by pkg-config.
root=${here%/tests/install}
# shellcheck disable=SC2046
"$cxx" -x c++ -std=c++17 -Wall -Wextra -Werror ${sanitizers:+-fsanitize="$sanitizers"} \
    "$root/apps/examples/dcuda_reduction/reduction.cu" $(pkg-config --cflags --libs weft-dcuda) -o dcuda || fail "dCUDA: not compiled"
"$HOME/opt/weft/bin/weftrun" -n 3 ./dcuda >out 2>err || fail "dCUDA: status $?: $(cat err)"
grep -qx "rank 0: step 99: the sum of 48 ranks is 117600" out || fail "dCUDA: $(cat out)"

# shellcheck disable=SC2046
"$cxx" -x c++ -std=c++17 -Wall -Wextra -Werror ${sanitizers:+-fsanitize="$sanitizers"} \
    "$here/thesis.cu" $(pkg-config --cflags --libs weft-dcuda) -o thesis || fail "names of the thesis: not compiled"
WEFT_RANKS=2 "$HOME/opt/weft/bin/weftrun" -n 2 ./thesis >out 2>&1 || fail "names of the thesis: status $?"
[ "$(sort out)" = "$(printf 'rank %d: of 4 got %d.5\n' 0 3 1 0 2 1 3 2)" ] || fail "names of the thesis: $(cat out)"

# The example of docs/global.md, in C, on two processes.
awk '$0 == "```" { inside = 0 } inside; $0 == "```c" { inside = 1 }' "$root/docs/global.md" >pass.c
# shellcheck disable=SC2046
cc -std=c17 -Wall -Wextra -Werror pass.c $(pkg-config --cflags --libs weft) -o pass || fail "docs/global.md: not compiled"
"$HOME/opt/weft/bin/weftrun" -n 2 ./pass >out 2>err || fail "docs/global.md: status $?: $(cat err)"
WEFT_DEVICE=nothing ./pass >out.none 2>err && fail "docs/global.md: it succeeds without a job"
for line in "rank 0: got 3" "rank 1: got 0" "rank 2: got 1" "rank 3: got 2"; do
    grep -q "$line\$" out || fail "docs/global.md: no '$line' in $(cat out)"
done

# What compilers refuse is the same with sanitizers.
[ -z "$sanitizers" ] || exit $((failures > 0))

# refused WHAT TEXT COMMAND...: the compiler says the text, for logs that are wrong in this way.
refused() {
    local what=$1 text=$2
    shift 2
    "$@" -D"$what" "-I$HOME/opt/weft/include" -c -o refused.o >err 2>&1 && fail "$what: $1 takes it"
    grep -q "$text" err || fail "$what: $1 says $(cat err)"
}
refused MANY "takes up to 8 arguments" "$compiler" -std=c17 "$here/log_faults.c"
refused FORMAT "format '%d'\|format ‘%d’\|format specifies" "$compiler" -std=c17 -Wall -Werror "$here/log_faults.c"
refused MANY "takes up to 8 arguments" "$cxx" -std=c++17 "$here/kernel.cpp"
refused FORMAT "format '%d'\|format ‘%d’\|format specifies" "$cxx" -std=c++17 -Wall -Werror "$here/kernel.cpp"
refused OLD "need C11 or later" "$compiler" -std=gnu99 "$here/log_faults.c"
echo "#include <dcuda.h>" >dcuda.c
refused C "is for CUDA C++ and C++" "$compiler" "-I$HOME/opt/weft/include/weft-dcuda" dcuda.c
"$compiler" -std=c17 -pedantic-errors -Wall -Wextra -Werror "-I$HOME/opt/weft/include" -c "$here/log_faults.c" ||
    fail "the compiler refuses the right log"
if command -v nvcc >/dev/null; then
    refused MANY "takes up to 8 arguments" nvcc -arch=sm_90 -x cu "$here/log_faults.c"
    refused FORMAT "incompatible with corresponding format" nvcc -arch=sm_90 -Werror all-warnings -x cu "$here/log_faults.c"
fi

[ $failures -eq 0 ]
