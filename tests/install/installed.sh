# shellcheck shell=bash
# For scripts that use weft as its users do: sourced with the build's bin folder as $1. Installs the
# build into $HOME/opt/weft, where HOME is a temporary folder and the current one, and gives
#   gcc, cc   the build's compiler, with its sanitizers     fail TEXT, failures
bin=$(cd "$1" && pwd) || exit 1
build=${bin%/bin}
HOME=$(mktemp -d) || exit 1
export HOME
trap 'rm -rf "$HOME"' EXIT
cd "$HOME" || exit 1
failures=0

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}
# cached NAME: a value of the build's configuration.
cached() {
    sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"
}

compiler=$(cached CMAKE_C_COMPILER)
sanitizers=$(cached WEFT_SANITIZE)
gcc() {
    "$compiler" ${sanitizers:+-fsanitize="$sanitizers"} "$@"
}
cc() {
    gcc "$@"
}

cmake --install "$build" --prefix "$HOME/opt/weft" >install.log 2>&1 || {
    cat install.log
    exit 1
}
libdir=$(cached CMAKE_INSTALL_LIBDIR)
# Where kernels cannot run, nvcc optimizes little, in a sixth of the time.
[ "$(cached WEFT_CUDA_TESTS)" = ON ] || ! nvcc --help 2>/dev/null | grep -q -- --Ofast-compile ||
    export NVCC_APPEND_FLAGS=--Ofast-compile=max
export LD_LIBRARY_PATH=$HOME/opt/weft/$libdir # for builds of a shared library
