# weftrun_checks.sh - what the tests of weftrun share; sourced with the build's folder of programs as argument. They
# run in a folder of their own, and end by `finish`.
bin=$(cd "$1" && pwd)
weftrun="$bin/weftrun"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0

# check NAME WANTED-STATUS COMMAND...: stdout and stderr go to files out and err.
check() {
    name=$1 wanted=$2
    shift 2
    timeout -k 5 300 "$@" >out 2>err </dev/null
    got=$?
    [ "$got" -eq "$wanted" ] || fail "status $got, not $wanted: $(head -3 err)"
}
fail() {
    echo "FAILED: $name: $*"
    failures=$((failures + 1))
}
# has FILE TEXT: a line of the file contains the text.
has() {
    grep -qF -- "$2" "$1" || fail "no \"$2\" in $1: $(head -3 "$1")"
}
one_line() {
    [ "$(wc -l <err)" -eq 1 ] || fail "not one line: $(cat err)"
}
# wrote COUNT TEXT: waits until so many lines of `out` have the text.
wrote() {
    for _ in $(seq 1200); do
        grep -c "$2" out | grep -qx "$1" && return
        sleep 0.05
    done
    fail "not $1 lines with $2: $(cat out err)"
}
# nobody TEXT [SECONDS]: no process whose arguments end with this text is left, or will be within a minute
# or so many. The text has this run's own number, $run, in it: others may run at the same time.
export run=$$
nobody() {
    for _ in $(seq $((${2:-60} * 10))); do
        pgrep -f -- "$1\$" >/dev/null || return
        sleep 0.1
    done
    fail "still running: $(pgrep -af -- "$1\$")"
}
finish() {
    [ "$failures" -eq 0 ] && echo "all passed"
    exit $((failures != 0))
}
