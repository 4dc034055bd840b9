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

# blocks LANGUAGE [MOST]: the contents of all code blocks in that language, or of the first ones.
blocks() {
    awk -v fence="\`\`\`$1" -v most="${2:-1000}" '
        $0 == "```" { inside = 0 } inside; $0 == fence { inside = ++count <= most }' "$readme"
}

# ---- commands, and what they print -------------------------------------------------------------------
command="" wanted="" commands=0 # the command under way, and its lines in the README

finish() {
    [ -n "$command" ] || return
    commands=$((commands + 1))
    case $command in
    "./run install --prefix ~/opt/weft") ;; # done: installed.sh
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
# project FOLDER BLOCKS ARGUMENT...: the first blocks of CMake's are a project, which builds hello.
project() {
    local folder=$1
    mkdir "$folder"
    blocks cmake "$2" >"$folder/CMakeLists.txt"
    cp hello.cu "$folder"
    if cmake -S "$folder" -B "$folder/build" -DCMAKE_PREFIX_PATH="$HOME/opt/weft" -DCMAKE_C_COMPILER="$compiler" \
        "${@:3}" >cmake.log 2>&1 && cmake --build "$folder/build" >>cmake.log 2>&1; then
        [ "$("$folder/build/hello" | sort | head -n 1)" = "rank 0: of 2, received 101" ] ||
            fail "hello, built by CMake in $folder"
    else
        cat cmake.log
        fail "the README's CMakeLists.txt, in $folder"
    fi
}
project cpu 1 ${sanitizers:+-DCMAKE_C_FLAGS=-fsanitize=$sanitizers}
if command -v nvcc >/dev/null; then
    if [ -z "$sanitizers" ]; then # which the host compiler of nvcc would have to know
        project gpu 2 -DCMAKE_CUDA_ARCHITECTURES=90
        nm gpu/build/hello | grep -q " [RD] hello_cuda$" || fail "hello, built by CMake, has no kernel for GPUs"
    fi
    nvcc -c -x cu -arch=sm_90 -std=c++17 -Werror all-warnings -I"$HOME/opt/weft/include" hello.cu \
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
