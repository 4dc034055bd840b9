# Functions for the tests of the case studies (sourced): $bin, $work and $failures are the caller's.

fail()
{
    echo "FAILED: $1"
    sed 's/^/    /' "$work/out" "$work/err" | tail -20
    failures=$((failures + 1))
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
    local n=$1 program=$2
    shift 2
    timeout 60 "$bin/weftrun" -n "$n" "$bin/$program" --verify "$@" >"$work/out" 2>"$work/err"
    judge "$program on $n processes: $*" $?
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
    env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 60 \
        mpirun --bind-to none --oversubscribe --mca mpi_yield_when_idle 1 -n "$n" \
        "$bin/$program" --verify "$@" >"$work/out" 2>"$work/err"
    judge "$program on $n processes: $*" $?
}

# rejects PROGRAM TEXT ARGS...: fails, and exactly one line of the program says what is expected.
rejects()
{
    local program=$1 text=$2
    shift 2
    timeout 60 "$bin/weftrun" -n 3 "$bin/$program" "$@" >"$work/out" 2>"$work/err" &&
        fail "accepted: $program $*"
    if [ "$(grep -c "^${program%%_*}: " "$work/err")" != 1 ] || ! grep -qF -- "$text" "$work/err"; then
        fail "not one line '$text': $program $*"
    fi
}

# helps PROGRAM TEXT: --help succeeds, once for the job, and names this.
helps()
{
    if ! timeout 60 "$bin/weftrun" -n 2 "$bin/$1" --help >"$work/out" 2>"$work/err" ||
        [ "$(grep -c '^usage: ' "$work/out")" != 1 ] || ! grep -q -- "$2" "$work/out"; then
        fail "$1 --help"
    fi
}
