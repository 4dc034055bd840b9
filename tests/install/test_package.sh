#!/usr/bin/env bash
# The Debian package, unpacked into an empty root: programs of weft, MPI, GASPI, DART and dCUDA are compiled
# against what is in there alone, and run; each tool has a man page, which groff accepts.
# usage: test_package.sh BIN-FOLDER
set -u
build=$(cd "${1:?usage: $0 BIN}/.." && pwd) here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
sources=$(cd "$here/../.." && pwd)
command -v dpkg-shlibdeps >/dev/null || {
    echo "there is no dpkg-shlibdeps (dpkg-dev)"
    exit 77
}
grep -q '^WEFT_SANITIZE:STRING=.' "$build/CMakeCache.txt" && {
    echo "no package is made with sanitizers"
    exit 77
}
HOME=$(mktemp -d) && export HOME
trap 'rm -rf "$HOME"' EXIT
cd "$HOME" || exit 1
failures=0
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

"$sources/tools/package" "$build" . || exit 1
dpkg -x weft_*.deb root || exit 1
usr=$HOME/root/usr
PKG_CONFIG_PATH=$(dirname "$(find "$usr" -name weft.pc)")
export PKG_CONFIG_PATH PATH=$usr/bin:/usr/bin:/bin LD_LIBRARY_PATH=${PKG_CONFIG_PATH%/pkgconfig}
dpkg-deb -f weft_*.deb Depends | grep -q 'libc6' || fail "depends on $(dpkg-deb -f weft_*.deb Depends)"
[ "$(dpkg-deb -f weft_*.deb Version)" = "$(pkg-config --modversion weft)" ] || fail "versions differ"

# runs NAME WANTED COMMAND...
runs() {
    local name=$1 wanted=$2 out
    shift 2
    out=$(timeout 300 "$@" 2>&1) || fail "$name: status $?: $out"
    [ "$out" = "$wanted" ] || fail "$name: printed '$out', not '$wanted'"
}
# only_root FILE: of weft's headers a program saw those of the package.
only_root() {
    tr -s ' \\' '\n' <"$1" | grep '/weft' | grep -v -e "^$usr/" -e '^[^/]' && fail "$1: headers from elsewhere"
}
# shellcheck disable=SC2046 # flags are words
flags() {
    pkg-config "$@"
}

# shellcheck disable=SC2046
gcc -std=c17 -MD "$here/hello.c" $(flags --cflags --libs weft) -o hello || fail "weft: not compiled"
only_root hello.d
runs weft 42 ./hello
runs weftrun 42 weftrun -n 1 ./hello

cat >mpi.c <<'C'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    int me, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (me == 0)
        printf("%d\n", sum);
    return MPI_Finalize();
}
C
weftmpicc -MD mpi.c -o mpi || fail "MPI: not compiled"
only_root mpi.d
runs MPI 3 weftrun -n 3 ./mpi

cat >gaspi.c <<'C'
#include <GASPI.h>
#include <stdio.h>
int main(void)
{
    gaspi_rank_t me, all;
    if (gaspi_proc_init(GASPI_BLOCK) != GASPI_SUCCESS)
        return 1;
    gaspi_proc_rank(&me);
    gaspi_proc_num(&all);
    gaspi_barrier(GASPI_GROUP_ALL, GASPI_BLOCK);
    if (me == 0)
        printf("%d\n", (int)all);
    return gaspi_proc_term(GASPI_BLOCK) != GASPI_SUCCESS;
}
C
# shellcheck disable=SC2046
gcc -MD gaspi.c $(flags --cflags --libs weft-gaspi) -o gaspi || fail "GASPI: not compiled"
only_root gaspi.d
runs GASPI 2 gaspi_run -n 2 ./gaspi

cat >dart.c <<'C'
#include <dash/dart/if/dart.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    size_t units;
    dart_global_unit_t me;
    if (dart_init(&argc, &argv) != DART_OK)
        return 1;
    dart_size(&units);
    dart_myid(&me);
    if (me.id == 0)
        printf("%d\n", (int)units);
    return dart_exit() != DART_OK;
}
C
# shellcheck disable=SC2046
gcc -MD dart.c $(flags --cflags --libs weft-dart) -o dart || fail "DART: not compiled"
only_root dart.d
runs DART 2 dartrun --cpu 2 ./dart

if command -v g++ >/dev/null; then
    # shellcheck disable=SC2046
    g++ -std=c++17 -O1 -MD -x c++ "$sources/apps/examples/dcuda_reduction/reduction.cu" $(flags --cflags --libs weft-dcuda) \
        -x none -o dcuda || fail "dCUDA: not compiled"
    only_root dcuda.d
    timeout 300 weftrun -n 2 ./dcuda >dcuda.txt || fail "dCUDA: $(cat dcuda.txt)"
fi

for tool in "$usr"/bin/*; do
    page=$usr/share/man/man1/${tool##*/}.1.gz
    [ -f "$page" ] || fail "no man page of ${tool##*/}"
    other=$(zcat "$page" | sed -n 's/^\.so //p')
    [ -z "$other" ] || [ -f "$usr/share/man/$other.gz" ] || fail "${tool##*/}: no $other"
    [ -z "$other" ] && command -v groff >/dev/null || continue
    (cd "$usr/share/man" && zcat "$page" | groff -man -Tascii -ww -z) 2>groff.txt && [ ! -s groff.txt ] ||
        fail "${tool##*/}: $(cat groff.txt)"
done
zcat "$usr/share/man/man1/weftrun.1.gz" | grep -q '^\.B .*processes=N' || fail "the page of weftrun has no --processes"
[ $failures -eq 0 ]
