#!/bin/bash
# shellcheck disable=SC2016 # the processes expand what stands in single quotes
# weftrun with small shell programs as processes: environment, output, units, errors of its command line, limits of
# files. How jobs end: test_weftrun_ends.sh.
# usage: test_weftrun.sh BIN-FOLDER
set -u
source "$(dirname "$0")/weftrun_checks.sh"

check "environment" 0 "$weftrun" -n 3 -x "A=b c" -l -- sh -c \
    'echo "$WEFT_PROCESS of $WEFT_PROCESSES at $WEFT_ROOT fd ${WEFT_ROOT_FD-none} A=$A ${#WEFT_SECRET} $LOCAL_RANK $MPI_LOCALRANKID"'
for k in 1 2; do
    grep -Eq "^\[$k\] $k of 3 at 127\.0\.0\.1:[0-9]+ fd none A=b c 32 $k $k$" out || fail "process $k"
done
grep -Eq '^\[0\] 0 of 3 at 127\.0\.0\.1:[0-9]+ fd [0-9]+ A=b c 32 0 0$' out || fail "process 0"

WEFT_STALL_S=3 WEFT_ROOT_FD=99 check "inherited variables" 0 "$weftrun" -n 2 -l sh -c \
    'echo "$WEFT_STALL_S ${WEFT_ROOT_FD-none}"'
has out "[1] 3 none"
check "the root's socket is there" 0 "$weftrun" sh -c 'test -e /proc/$$/fd/$WEFT_ROOT_FD'
check "an option of the program" 0 "$weftrun" -n 1 echo -n x --help
[ "$(cat out)" = "x --help" ] || fail "$(cat out)"

# A process that ends before weft_open, with status 0: the others do not wait for it. Nor do they take
# one for lost that ends in order while they go on.
WEFT_CONNECT_S=300 check "one never comes" 1 "$weftrun" -n 3 sh -c \
    '[ $WEFT_PROCESS = 1 ] && exit 0; exec "$0"' "$bin/ring"
has err "process 1 was lost while the job started"
has err "weftrun: process 1 had ended before, with status 0"
WEFT_CONNECT_S=300 check "process 0 never comes" 1 "$weftrun" -n 3 sh -c \
    '[ $WEFT_PROCESS = 0 ] && exit 0; sleep 0.2; exec "$0"' "$bin/ring"
has err "refused this process: it came when process 0 had ended"
has err "weftrun: process 0 had ended before, with status 0"
for first in 0 1; do
    check "process $first ends first" 0 "$weftrun" -n 3 sh -c \
        '"$0" >/dev/null && { [ $WEFT_PROCESS = $1 ] || sleep 0.5; }' "$bin/ring" $first
    [ ! -s err ] || fail "$(cat err)"
done

# Where nobody can connect, that is said at once.
if unshare -rn true 2>/dev/null; then
    WEFT_CONNECT_S=300 check "the loopback interface is down" 125 unshare -rn "$weftrun" -n 2 "$bin/ring"
    has err "nobody can connect to this host's loopback interface: Network is unreachable"
    WEFT_CONNECT_S=300 check "the same, with a helper" 125 unshare -rn "$weftrun" -H localhost -n 2 "$bin/ring"
    has err "nobody can connect to this host's loopback interface: Network is unreachable"
    WEFT_CONNECT_S=300 WEFT_PROCESS=0 WEFT_PROCESSES=2 WEFT_ROOT=127.0.0.1:47654 check \
        "the same, without weftrun" 1 unshare -rn "$bin/ring"
    has err "nobody can connect to this host's loopback interface: Network is unreachable"
    WEFT_CONNECT_S=300 check "it is down for one process" 1 "$weftrun" -n 2 --grace 0.2 sh -c \
        '[ $WEFT_PROCESS = 0 ] || exec unshare -rn "$0"; exec "$0"' "$bin/ring"
    has err "process 0 cannot be reached at WEFT_ROOT 127.0.0.1:"
fi

# Processes of one host that cannot map each other's memory, since their namespaces differ.
in_namespaces=()
if unshare -Ur true 2>/dev/null && "$bin/weft-info" | grep -Eq '^ +ofi +between'; then
    in_namespaces+=("-Ur" "-Urpf --mount-proc")
    ! unshare -pf true 2>/dev/null || in_namespaces+=("-pf")
fi
for namespaces in "${in_namespaces[@]}"; do
    for k in 0 1; do
        for program in test_mixed test_message; do
            check "process $k: unshare $namespaces, $program" 0 "$weftrun" -n 2 sh -c \
                '[ $WEFT_PROCESS != $0 ] || exec unshare $1 "$2"; exec "$2"' $k "$namespaces" "$bin/tests/$program"
            grep -Eq '^weft: \[p0\] network ofi: processes of one node are of different users, or in different' err ||
                fail "$(cat err)"
        done
    done
    WEFT_NET=shm check "the same, over shm" 1 "$weftrun" -n 2 sh -c \
        '[ $WEFT_PROCESS = 0 ] || exec unshare $0 "$1"; exec "$1"' "$namespaces" "$bin/ring"
    grep -Eq 'shm: cannot map .* of process . \(pid [0-9]+\): (permission denied: it is another user|not in /proc: |that number of)' err ||
        fail "$(cat err)"
done

name="input goes to process 0 only"
echo thread | timeout 300 "$weftrun" -n 3 -l sh -c 'read x; echo "($x)"' >out 2>err
[ "$(sort out | tr '\n' ' ')" = "[0] (thread) [1] () [2] () " ] || fail "$(cat out)"

name="no pipe without --prefix and --output-dir"
"$weftrun" -n 2 sh -c 'readlink /proc/$$/fd/1' >out
[ "$(sort -u out)" = "$folder/out" ] || fail "$(cat out)"

# 4 processes write pieces of lines; every line must come out whole, with the right prefix.
check "whole lines" 0 "$weftrun" -n 4 -l sh -c \
    'i=0; while [ $i -lt 300 ]; do printf "a%s" $WEFT_PROCESS; printf "b%s\n" $WEFT_PROCESS; i=$((i+1)); done; printf end'
[ "$(sort out | uniq -c | awk '{print $1 $2 $3}' | tr '\n' ' ')" = \
    "300[0]a0b0 1[0]end 300[1]a1b1 1[1]end 300[2]a2b2 1[2]end 300[3]a3b3 1[3]end " ] ||
    fail "$(sort out | uniq -c | head -3)"
check "standard error stays apart" 0 "$weftrun" -n 2 -l sh -c 'echo good; echo bad >&2'
[ "$(sort out | tr '\n' ' ')" = "[0] good [1] good " ] || fail "$(cat out)"
has err "[1] bad"
check "a line of 3 MB" 0 "$weftrun" -l sh -c 'head -c 3000000 /dev/zero | tr "\0" x'
[ "$(tr -cd x <out | wc -c)" -eq 3000000 ] || fail "$(wc -c <out) bytes"

check "logs" 0 "$weftrun" -n 2 -o logs/new sh -c 'echo out $WEFT_PROCESS; echo err >&2; printf tail'
[ ! -s out ] || fail "output on the terminal"
has logs/new/process-0.log "out 0"
has logs/new/process-1.log "out 1"
[ "$(wc -c <logs/new/process-1.log)" -eq 14 ] || fail "$(cat logs/new/process-1.log)"
check "whose log says why" 3 "$weftrun" -n 2 -o logs sh -c 'exit 3'
grep -Eq 'ended with status 3; see logs/process-[01].log$' err || fail "$(cat err)"
check "logs and prefix" 0 "$weftrun" -n 2 -l -o logs sh -c 'echo both'
has out "[1] both"
has logs/process-1.log "both"
touch file
check "no directory" 125 "$weftrun" -o file/x true
has err "cannot make directory"
if [ -c /dev/full ]; then
    mkdir -p full && ln -sf /dev/full full/process-1.log
    check "a full disk" 1 "$weftrun" -n 2 -o full sh -c 'echo data'
    has err "the log of process 1: No space left on device"
    name="full standard output"
    "$weftrun" -l echo data >/dev/full 2>err && fail "no error"
    has err "standard output: No space left on device"
fi

check "no such program" 127 "$weftrun" -n 3 ./no-such-program
has err "cannot run ./no-such-program: No such file or directory"
one_line
check "not executable" 126 "$weftrun" ./file
has err "cannot run ./file: Permission denied"
for wrong in "-n 0" "-n 2x" "-n 99999" "-t -1" "-t x" "-x A" "--grace nan"; do
    # shellcheck disable=SC2086 # an option and its value
    check "option $wrong" 125 "$weftrun" $wrong true
done
check "no program" 125 "$weftrun" -n 2

# units: what each process drives
check "units" 0 "$weftrun" --units cpu:1,cuda:2,cpu:1 -l sh -c \
    'echo "$WEFT_DEVICE ${WEFT_DEVICE_ID-none}"'
[ "$(sort out | tr '\n' ' ')" = "[0] cpu none [1] cuda none [2] cuda none [3] cpu none " ] ||
    fail "$(cat out)"
WEFT_DEVICE_ID=1 check "units and a GPU's number" 0 "$weftrun" -n 2 --units cuda:1,cpu:1 -l sh -c \
    'echo "$WEFT_DEVICE ${WEFT_DEVICE_ID-none}"'
[ "$(sort out | tr '\n' ' ')" = "[0] cuda 1 [1] cpu none " ] || fail "$(cat out)"
for wrong in gpu:1 cuda cuda: cuda:0 cpu:-1 cpu:1x cpu:1, ,cpu:1 cpu:99999 cpu:65536,cpu:1; do
    check "units $wrong" 125 "$weftrun" --units "$wrong" true
    has err "\"$wrong\" is not KIND:N,..."
done
check "units and another number" 125 "$weftrun" -n 4 --units cuda:1,cpu:2 true
has err "--units cuda:1,cpu:2: 3 processes on each of 1 host(s), which is not --processes 4"
one_line

check "-np without a number" 125 "$weftrun" -np
check "-np as mpirun has it" 0 "$weftrun" -np 2 sh -c 'echo "$WEFT_PROCESSES"'
[ "$(tr '\n' ' ' <out)" = "2 2 " ] || fail "$(cat out)"
check "help" 0 "$weftrun" --help
has out "--output-dir"
check "version" 0 "$weftrun" --version
grep -Eq '^weftrun [0-9]+\.[0-9]+\.[0-9]+$' out || fail "$(cat out)"

# limited OPTION NUMBER COMMAND...: under a limit of ulimit.
printf '#!/bin/bash\nulimit "$1" "$2" && shift 2 && exec "$@"\n' >limited
chmod +x limited
check "more processes than files may be open" 0 ./limited -n 64 "$weftrun" -n 40 sleep 0.5
check "pipes beyond the soft limit, which processes get back" 0 ./limited -Sn 32 "$weftrun" -n 40 -l sh -c 'ulimit -n'
[ "$(grep -c ' 32$' out)" -eq 40 ] || fail "$(head -3 out)"
# Which file is one too many depends on how many this shell has open: weftrun's pipe, or a child's.
name="pipes beyond the hard limit"
for spare in "" 7 7,8; do
    (
        [ -z "$spare" ] || exec 7</dev/null
        [ "$spare" != 7,8 ] || exec 8</dev/null
        timeout -k 5 300 ./limited -n 32 "$weftrun" -n 40 -l sleep 98767.$run >out 2>err </dev/null
    )
    case $? in 125 | 126) ;; *) fail "with $spare open: $(cat err)" ;; esac
    has err "Too many open files"
    one_line
done
nobody "sleep 98767.$run"
check "only what is open is watched, in process 0 too" 0 ./limited -n 48 "$weftrun" -n 2 "$bin/tests/test_barrier"
check "too few files for process 0" 1 ./limited -n 20 "$weftrun" -n 30 "$bin/tests/test_barrier"
has err "process 0 needs 31 sockets, and may have 20 files open"
check "too few files besides its own" 1 ./limited -n 12 "$weftrun" -n 8 "$bin/tests/test_barrier"
has err "process 0 needs 9 sockets, and may have 12 files open (ulimit -n), of which it has "
check "one node though files run out" 1 ./limited -n 16 "$weftrun" -n 8 "$bin/tests/test_barrier"
! grep -q nodes err || fail "$(cat err)"
check "a small limit of stacks" 0 ./limited -s 64 "$weftrun" -n 2 "$bin/ring"
# The files out and err are of that size already, so it needs a pipe to say something.
name="no file may grow"
timeout -k 5 300 ./limited -f 0 "$weftrun" -n 2 "$bin/tests/test_barrier" 2>&1 </dev/null | cat >err
grep -q "File too large (ulimit -f)" err || fail "$(cat err)"
name="no file may grow, and nobody ignores the signal for the program"
timeout -k 5 300 ./limited -f 0 "$bin/ring" 2>&1 </dev/null | cat >err
grep -q "File too large (ulimit -f)" err || fail "$(cat err)"

finish
