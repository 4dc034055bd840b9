# The tests of the case studies: what they share. Sourced with the test's own arguments, BIN; gives it
# $bin, $data and $work, a folder that goes at the end, and the functions below. It ends with `finish`.

bin=$(cd "${1:?usage: $0 BIN}" && pwd)
data=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../data" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail()
{
    echo "FAILED: $1"
    sed 's/^/    /' "$work/out" "$work/err" | tail -20
    failures=$((failures + 1))
}

finish()
{
    [ $failures = 0 ] && echo "all passed"
    exit $((failures > 0))
}

# run COMMAND...: for $limit seconds at most, a program of the build, on this process alone or under weftrun; the output is in
# $work/out and $work/err.
run()
{
    timeout "${limit:-120}" "$bin/$1" "${@:2}" >"$work/out" 2>"$work/err"
}

# judge WHAT STATUS: the run went well, and every check that it printed was passed.
judge()
{
    if [ "$2" != 0 ] || ! grep -q '^check: passed' "$work/out" || grep -q '^check: FAILED' "$work/out"; then
        fail "$1: status $2"
    fi
}

# passes N PROGRAM ARGS...: runs on N processes and verifies.
passes()
{
    run weftrun -n "$1" "$bin/$2" --verify "${@:3}"
    judge "$2 on $1 processes: ${*:3}" $?
}

# The same under mpirun; where the build has no MPI, it says so once.
mpi_passes()
{
    local n=$1 program=$2
    shift 2
    if [ ! -x "$bin/$program" ]; then
        [ "$n" != 1 ] || echo "left out: $program, which this build does not have"
        return 0
    fi
    env TMPDIR="$work" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 300 \
        mpirun --bind-to none --oversubscribe --mca mpi_yield_when_idle 1 -n "$n" \
        "$bin/$program" --verify "$@" >"$work/out" 2>"$work/err"
    judge "$program on $n processes: $*" $?
}

# forms APP ARGS...: its three forms, on 1 to 9 processes; $own holds what weft's alone is given.
own=(--ranks 3)
forms()
{
    local app=$1 n
    shift
    for n in 1 2 4 6 9; do
        passes "$n" "$app" "$@" "${own[@]}"
        passes "$n" "${app}_net" "$@"
        mpi_passes "$n" "${app}_mpi" "$@"
    done
}

# paths N PROGRAM ARGS...: passes, on each path between the processes.
paths()
{
    local path
    for path in direct proxy; do
        WEFT_PATH=$path passes "$@"
    done
}

# fails PATTERN PROGRAM ARGS...: ends with an error, which a line of the program says.
fails()
{
    run "${@:2}" && fail "accepted: ${*:2}"
    grep -Eq -- "$1" "$work/err" || fail "no line '$1': ${*:2}"
}

# rejects PROGRAM PATTERN ARGS...: fails on 3 processes, and exactly one line of the program says why.
rejects()
{
    fails "$2" weftrun -n 3 "$bin/$1" "${@:3}"
    [ "$(grep -c "^$1: " "$work/err")" = 1 ] || fail "not one line of $1: ${*:3}"
}

# helps PROGRAM TEXT: --help succeeds, once for the job, with the program's name and this.
helps()
{
    if ! run weftrun -n 2 "$bin/$1" --help || [ "$(grep -ciE "^usage: .*\b$1\b" "$work/out")" != 1 ] ||
        ! grep -q -- "$2" "$work/out"; then
        fail "$1 --help"
    fi
}
