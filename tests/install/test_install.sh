#!/usr/bin/env bash
# An installed weft, moved to another place, serves programs that find it through CMake and through
# pkg-config; its tools run; its headers need nothing that was not installed.
# usage: test_install.sh BIN-FOLDER
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/install/installed.sh
source "$here/installed.sh"

mv opt/weft moved
prefix=$HOME/moved
export LD_LIBRARY_PATH=$prefix/$libdir PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig

# prints_42 NAME COMMAND...
prints_42() {
    local name=$1 out
    shift
    out=$("$@" 2>&1) || fail "$name: status $?"
    [ "$out" = 42 ] || fail "$name: printed '$out', not 42"
}

# ---- pkg-config, as C17 without extensions ---------------------------------------------------------
# shellcheck disable=SC2046 # the flags are words
gcc -std=c17 -pedantic-errors -Wall -Wextra -Werror "$here/hello.c" \
    $(pkg-config --cflags --libs weft) -o hello || fail "pkg-config: not compiled"
prints_42 "pkg-config" ./hello
# Words that nvcc takes as a linker, and nothing that only weft itself is made of.
pkg-config --libs weft | grep -qE -e '-pthread|-Wl' && fail "nvcc refuses $(pkg-config --libs weft)"
[ -z "$(pkg-config --print-requires weft)" ] || fail "users need $(pkg-config --print-requires weft)"
[ "$(pkg-config --modversion weft)" = "$("$prefix/bin/weft-info" --version | cut -d' ' -f2)" ] ||
    fail "pkg-config and weft-info disagree about the version"

# ---- CMake -------------------------------------------------------------------------------------------
mkdir project
version=$(pkg-config --modversion weft)
cat >project/CMakeLists.txt <<CMAKE
cmake_minimum_required(VERSION 3.22)
project(user LANGUAGES C)
find_package(weft ${version%.*} REQUIRED)
add_executable(hello hello.c)
target_link_libraries(hello weft::weft)
CMAKE
cp "$here/hello.c" project
if cmake -S project -B project/build -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$compiler" \
    ${sanitizers:+-DCMAKE_C_FLAGS=-fsanitize=$sanitizers} >cmake.log 2>&1 &&
    cmake --build project/build >>cmake.log 2>&1; then
    prints_42 "find_package" project/build/hello
else
    cat cmake.log
    fail "find_package: not built"
fi

if command -v c++ >/dev/null; then
    printf '%s\n' 'cmake_minimum_required(VERSION 3.22)' 'project(user CXX)' 'find_package(weft REQUIRED)' \
        'weft_add_program(hello hello.cu)' >project/CMakeLists.txt
    cmake -S project -B project/cxx -DCMAKE_PREFIX_PATH="$prefix" >cmake.log 2>&1 && fail "a kernel without C"
    grep -q 'hello: its kernels are C on' cmake.log || fail "$(cat cmake.log)"
fi

# ---- what is there -----------------------------------------------------------------------------------
prints_42 "weftrun" "$prefix/bin/weftrun" -n 1 ./hello
"$prefix/bin/weft-info" >/dev/null || fail "weft-info: status $?"

# Every header alone, and with it only installed headers of weft.
for header in "$prefix"/include/weft/*.h; do
    name=weft/${header##*/}
    case $name in weft/kernel.h | weft/lines.h | weft/log_args.h) name=weft/device.h ;; esac # they are parts of that
    echo "#include <$name>" >header.c
    gcc -std=c17 -I"$prefix/include" -M header.c >header.d || fail "$name does not compile alone"
    tr -s ' ' '\n' <header.d | grep weft | grep -v "^$prefix/include/weft/" |
        grep -v '^header' && fail "$name includes what was not installed"
done
[ -f "$prefix/include/weft/device.h" ] || fail "there is no weft/device.h"

# No installed file names the place it was built in, or was installed in first.
cd "$prefix" || exit 1
grep -rlF -e "$build" -e "$HOME/opt/weft" include "$libdir/cmake" "$libdir/pkgconfig" &&
    fail "these files name a folder that users do not have"

# Into a folder whose name has spaces and letters that ASCII lacks.
cd "$HOME" || exit 1
DESTDIR="$HOME/a löwe" cmake --install "$build" --prefix /usr >install.log 2>&1 || fail "$(cat install.log)"
printf '#include <mpi.h>\n#include <weft/device.h>\nint main(void) { return MPI_SUCCESS; }\n' >spaces.c
"a löwe/usr/bin/weftmpicc" spaces.c -o spaces && ./spaces || fail "weftmpicc in a folder with spaces"

# Not into the sources, where installed headers would be compiled in place of the tree's own.
cmake --install "$build" --prefix "$(cached CMAKE_HOME_DIRECTORY)" >install.log 2>&1 && fail "installed into the sources"
grep -q "cannot be installed into its own sources" install.log || fail "$(cat install.log)"

[ $failures -eq 0 ]
