#!/usr/bin/env bash
# The README keeps its promises: its C block, saved as hello.cu, is built and run by the commands of
# its console blocks, exactly as they stand there, and each prints what the README says (lines in any
# order, both streams). `./run install` is replaced by an install of this build; of other `./run`
# commands, anywhere in the text, only the verb is checked. Links must lead somewhere.
# usage: test_readme.sh BIN-FOLDER
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=${here%/tests/install}
readme=$root/README.md
# shellcheck source=tests/install/installed.sh
source "$here/installed.sh"

[ "$libdir" = lib ] || {
    echo "this build installs into $libdir, the README speaks of lib"
    exit 77
}

# blocks LANGUAGE: the contents of all code blocks in that language.
blocks() {
    awk -v fence="\`\`\`$1" '$0 == "```" { inside = 0 } inside; $0 == fence { inside = 1 }' "$readme"
}

# ---- commands, and what they print -------------------------------------------------------------------
command="" wanted="" commands=0 # the command under way, and its lines in the README

finish() {
    [ -n "$command" ] || return
    commands=$((commands + 1))
    case $command in
    "./run install --prefix ~/weft") ;; # done: installed.sh
    *)
        eval "$command" >out 2>&1 </dev/null
        if [ "$(sort out)" != "$(printf '%s' "$wanted" | sort)" ]; then
            fail "$command"
            diff <(printf '%s' "$wanted" | sort) <(sort out)
        fi
        ;;
    esac
    command="" wanted=""
}

blocks c >hello.cu
while IFS= read -r line; do
    case $line in
    '$ '*)
        finish
        command=${line#'$ '}
        ;;
    *) wanted+=$line$'\n' ;;
    esac
done < <(blocks console)
finish
[ $commands -ge 5 ] || fail "only $commands commands were found in $readme"

# ---- with CMake, and by nvcc -----------------------------------------------------------------------------
mkdir project
blocks cmake >project/CMakeLists.txt
cp hello.cu project
if cmake -S project -B project/build -DCMAKE_PREFIX_PATH="$HOME/weft" -DCMAKE_C_COMPILER="$compiler" \
    ${sanitizers:+-DCMAKE_C_FLAGS=-fsanitize=$sanitizers} >cmake.log 2>&1 &&
    cmake --build project/build >>cmake.log 2>&1; then
    [ "$(project/build/hello | sort | head -n 1)" = "rank 0: of 2, received 101" ] || fail "hello, built by CMake"
else
    cat cmake.log
    fail "the README's CMakeLists.txt"
fi
if command -v nvcc >/dev/null; then
    nvcc -c -x cu -arch=sm_90 -std=c++17 -Werror all-warnings -I"$HOME/weft/include" hello.cu \
        -o hello.o || fail "nvcc does not take hello.cu"
fi

# ---- verbs and links -----------------------------------------------------------------------------------
while read -r verb; do
    "$root/run" help | grep -q "^  $verb " || fail "./run has no verb $verb"
done < <(grep -o '\./run [a-z]\+' "$readme" | cut -d' ' -f2 | sort -u)
for link in $(tr '\n' ' ' <"$readme" | grep -o ']([^)#]*' | cut -c3- | grep -v ://); do
    [ -e "$root/$link" ] || fail "the link $link leads nowhere"
done

[ $failures -eq 0 ]
