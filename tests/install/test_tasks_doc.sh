#!/usr/bin/env bash
# The programs of docs/tasks.md, as they stand there, are built on what was installed, and print what
# the text says.
# usage: test_tasks_doc.sh BIN-FOLDER
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
doc=${here%/tests/install}/docs/tasks.md
# shellcheck source=tests/install/installed.sh
source "$here/installed.sh"

export PKG_CONFIG_PATH=$HOME/opt/weft/$libdir/pkgconfig

# program NUMBER NAME COMMAND... - the page's program of that number; what `COMMAND` prints by it.
program() {
    local number=$1 name=$2 said
    shift 2
    awk -v wanted="$number" '$0 == "```" { inside = 0 } inside && n == wanted; $0 == "```c" { inside = 1; n++ }' \
        "$doc" >"$name.cu"
    # shellcheck disable=SC2046 # the flags are words
    gcc -xc -O2 -Wall -Werror $(pkg-config --cflags weft) "$name.cu" -xnone -o "$name" $(pkg-config --libs weft) ||
        fail "program $number of docs/tasks.md"
    said=$(sed -n "s|.*\`$*\` prints \`\(.*\)\`\.\$|\1|p" "$doc")
    [ -n "$said" ] || fail "what docs/tasks.md says that $name prints"
    [ "$(WEFT_DEVICE=cpu PATH=$HOME/opt/weft/bin:$PATH timeout 300 "$@" 2>&1)" = "$said" ] || fail "$*"
}
program 1 tasks weftrun -n 2 ./tasks
program 2 ring ./ring
exit $((failures > 0))
