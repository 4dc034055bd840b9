#!/usr/bin/env bash
# The program of docs/tasks.md, as it stands there, is built on what was installed, and prints what
# the text says.
# usage: test_tasks_doc.sh BIN-FOLDER
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
doc=${here%/tests/install}/docs/tasks.md
# shellcheck source=tests/install/installed.sh
source "$here/installed.sh"

awk '$0 == "```" { inside = 0 } inside; $0 == "```c" { inside = 1 }' "$doc" >tasks.cu
export PKG_CONFIG_PATH=$HOME/opt/weft/$libdir/pkgconfig
# shellcheck disable=SC2046 # the flags are words
gcc -xc -O2 -Wall -Werror $(pkg-config --cflags weft) tasks.cu -xnone -o tasks $(pkg-config --libs weft) ||
    fail "the program of docs/tasks.md"
said=$(sed -n 's/.*`weftrun -n 2 .\/tasks` prints `\(.*\)`\.$/\1/p' "$doc")
[ -n "$said" ] || fail "what docs/tasks.md says that it prints"
[ "$(WEFT_DEVICE=cpu timeout 60 "$HOME/opt/weft/bin/weftrun" -n 2 ./tasks 2>&1)" = "$said" ] ||
    fail "weftrun -n 2 ./tasks"
exit $((failures > 0))
