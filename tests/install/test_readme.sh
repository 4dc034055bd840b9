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
# received_101 PROGRAM WHAT
received_101() {
    [ "$(WEFT_DEVICE=cpu "$1" | sort | head -n 1)" = "rank 0: of 2, received 101" ] || fail "$2"
}
# has_kernel PROGRAM WHAT
has_kernel() {
    nm "$1" | grep -q " [RD] hello_cuda$" || fail "$2 has no kernel for GPUs"
}
gpus=no # in the programs that are made here: a host compiler of nvcc would have to know sanitizers
[ "$(cached WEFT_CUDA)" = OFF ] || [ -n "$sanitizers" ] || ! command -v nvcc >/dev/null || gpus=yes

mkdir project
blocks cmake >project/CMakeLists.txt
cp hello.cu project
if cmake -S project -B project/build -DCMAKE_PREFIX_PATH="$HOME/opt/weft" -DCMAKE_C_COMPILER="$compiler" \
    -DCMAKE_CUDA_ARCHITECTURES=90 ${sanitizers:+-DCMAKE_C_FLAGS=-fsanitize=$sanitizers} >cmake.log 2>&1 &&
    cmake --build project/build >>cmake.log 2>&1; then
    received_101 project/build/hello "hello, built by CMake"
    [ $gpus = no ] || has_kernel project/build/hello "hello, built by CMake,"
else
    cat cmake.log
    fail "the README's CMakeLists.txt"
fi
if [ $gpus = yes ]; then
    # The README's own lines; there may be no GPU here that -arch=native could find.
    rm -f hello
    while IFS= read -r line; do
        eval "${line/-arch=native/-arch=sm_90 -Werror all-warnings}" || fail "$line"
    done < <(blocks sh | grep -A 2 '^nvcc -c')
    received_101 ./hello "hello, built by nvcc"
    has_kernel hello "hello, built by nvcc,"
    # What the table of symptoms says.
    # shellcheck disable=SC2046 # the flags are words
    gcc hello_cpu.o hello_gpu.o $(pkg-config --libs weft) -o refused 2>err && fail "gcc links what nvcc made for C++"
    grep -q __gxx_personality_v0 err || fail "the symptom: $(cat err)"
    line=$(blocks sh | grep '^nvcc -c')
    eval "${line/-arch=native/-arch=sm_90 -Xcompiler -fno-exceptions,-fno-threadsafe-statics}" || fail "$line"
    cuda=$(readlink -f "$(command -v nvcc)")
    # shellcheck disable=SC2046
    gcc hello_cpu.o hello_gpu.o $(pkg-config --libs weft) -L"${cuda%/bin/nvcc}/lib64" -lcudart_static -lrt -ldl \
        -o hello || fail "gcc does not link what nvcc made with the flags"
fi

# ---- verbs and links -----------------------------------------------------------------------------------
while read -r verb; do
    "$root/run" help | grep -q "^  $verb " || fail "./run has no verb $verb"
done < <(grep -o '\./run [a-z]\+' "$readme" | cut -d' ' -f2 | sort -u)
for link in $(tr '\n' ' ' <"$readme" | grep -o ']([^)#]*' | cut -c3- | grep -v ://); do
    [ -e "$root/$link" ] || fail "the link $link leads nowhere"
done

[ $failures -eq 0 ]
