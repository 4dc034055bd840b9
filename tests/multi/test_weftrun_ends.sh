#!/bin/bash
# shellcheck disable=SC2016,SC2217 # a reader that rests does not read; the processes expand what stands in single quotes
# How a job of weftrun ends: whose status it has, by signals, by time, when weftrun is killed, and while the reader
# of its output rests.
# usage: test_weftrun_ends.sh BIN-FOLDER
set -u
source "$(dirname "$0")/weftrun_checks.sh"

# The others fail as soon as they are asked to end.
check "the first failure's status" 7 "$weftrun" -n 3 --grace 0.2 sh -c \
    'test $WEFT_PROCESS = 1 && exit 7; trap "exit 9" TERM; sleep 30 & wait'
has err "weftrun: process 1 (pid "
has err "ended with status 7"
one_line
# Process 1 fails when weftrun has collected them.
check "others ended before" 7 "$weftrun" -n 3 sh -c \
    'test $WEFT_PROCESS = 1 || { echo $$ >ended$WEFT_PROCESS; exit 0; }
    for k in 0 2; do
        until test -s ended$k && ! test -e /proc/$(cat ended$k); do sleep 0.05; done
    done; exit 7'
has err "weftrun: process 0 and 1 more had ended before, with status 0"
check "quiet" 7 "$weftrun" -q sh -c 'exit 7'
[ ! -s err ] || fail "$(cat err)"
check "verbose" 0 "$weftrun" -v -n 2 true
has err "process 1 is pid"
check "a signal's status" 137 "$weftrun" -n 2 --grace 0.2 sh -c \
    'test $WEFT_PROCESS = 1 && kill -9 $$; exec sleep 98761.$run'
has err "ended by signal 9 (Killed)"
nobody "sleep 98761.$run"
check "one that ignores SIGTERM" 3 "$weftrun" -n 2 --grace 0.2 bash -c \
    'test $WEFT_PROCESS = 1 && exit 3; trap "" TERM; while :; do sleep 0.1; done' 98762.$run
nobody "98762.$run"
check "no standard streams" 1 sh -c 'exec "$@" >&- <&-' sh "$weftrun" -n 2 "$bin/ring"
has err "standard output could not be written"
check "no standard output" 1 sh -c 'exec "$@" >&-' sh "$weftrun" -n 2 "$bin/ring"
check "time is over" 124 "$weftrun" -n 2 -t 0.3 sleep 98763.$run
has err "not over after 0.3 s"
nobody "sleep 98763.$run"
check "what processes leave behind" 0 "$weftrun" -n 2 -l sh -c \
    'setsid sleep 98764.$run & sleep 98764.$run & echo gone'
nobody "sleep 98764.$run"

# together WANTED-STATUS TEXT FIRST SECOND: two processes end by these commands while weftrun is stopped:
# it finds both at once, the first one first. The text is what it says of the one that it names.
together() {
    name="two end together: $3; $4"
    FIRST=$3 SECOND=$4 "$weftrun" -t 280 -n 2 sh -c 'echo $$ >pid$WEFT_PROCESS
        until test -e go; do sleep 0.02; done
        test $WEFT_PROCESS = 1 || eval "$FIRST"; eval "$SECOND"' >out 2>err </dev/null &
    local pid=$! k
    until [ -s pid0 ] && [ -s pid1 ]; do sleep 0.02; done
    kill -STOP $pid
    touch go
    for k in 0 1; do
        until grep -q '^State:.Z' "/proc/$(cat pid$k)/status"; do sleep 0.02; done
    done
    kill -CONT $pid
    wait $pid
    local got=$?
    rm go pid?
    [ $got -eq "$1" ] || fail "status $got, not $1: $(cat err)"
    has err "$2"
    one_line
}
together 137 "process 1 (pid " "exit 3" 'kill -9 $$'
together 137 "process 1 (pid " "exit 16" 'kill -9 $$'
together 3 "process 1 (pid " "exit 16" "exit 3" # 16: WEFT_ERR_PEER_LOST
together 3 "process 0 (pid " "exit 3" "exit 16"
together 137 "process 0 (pid " 'kill -9 $$' 'kill -11 $$'
check "who has lost another one does not say why, however late it ends" 137 "$weftrun" --grace 60 -n 2 sh -c \
    '[ $WEFT_PROCESS = 1 ] || exit 16; sleep 1; kill -9 $$'
one_line
check "the signal that it sends is no reason" 16 "$weftrun" -n 2 --grace 0 sh -c \
    '[ $WEFT_PROCESS = 1 ] || exit 16; exec sleep 98768.$run'
has err "process 0 (pid "
# Some process is killed at some moment among messages.
for i in $(seq 12); do
    name="process $((i % 3)) of 3 is killed, number $i"
    : >out
    "$weftrun" -t 280 -n 3 sh -c 'echo $$ >pid$WEFT_PROCESS; exec "$0"' "$bin/tests/test_cut_off" >out 2>err </dev/null &
    pid=$!
    wrote "[1-9][0-9]*" ready
    sleep 0.0$((RANDOM % 10))
    kill -9 "$(cat pid$((i % 3)))"
    wait $pid
    got=$?
    rm pid?
    [ $got -eq 137 ] || fail "status $got: $(cat err)"
    has err "weftrun: process $((i % 3)) (pid "
done

for signal in INT TERM HUP USR1 USR2 QUIT; do
    name="SIG$signal is passed on"
    : >out
    # A shell starts background jobs with SIGINT and SIGQUIT ignored, nohup a program with SIGHUP, and a
    # shell cannot trap what it inherited as ignored: env resets them.
    env --default-signal=INT,QUIT,HUP "$weftrun" -n 3 -l bash -c \
        "trap 'echo got $signal; exit 0' $signal; echo ready; while :; do sleep 0.05; done" \
        >out 2>err &
    pid=$!
    wrote 3 ready
    kill -s $signal $pid
    wait $pid || fail "status $?: $(cat err)"
    [ "$(grep -c "got $signal" out)" -eq 3 ] || fail "$(cat out)"
done

name="a second SIGINT kills"
: >out
# In the foreground, timeout passes a signal on once.
env --default-signal=INT timeout --foreground 280 "$weftrun" -n 2 -l bash -c \
    'trap "echo got" INT; echo ready; while :; do sleep 0.05; done' 98765.$run >out 2>err &
pid=$!
wrote 2 ready
kill -INT $pid
wrote 2 got
kill -0 $pid || fail "the first SIGINT ended it"
kill -INT $pid
wait $pid
[ $? -eq 137 ] || fail "status is not 137"
nobody "98765.$run"

name="a process is stopped, and goes on"
: >out
timeout 300 "$weftrun" -n 2 sh -c \
    '[ $WEFT_PROCESS = 0 ] || kill -STOP $$; until [ -e go ]; do sleep 0.1; done' >out 2>err &
pid=$!
for _ in $(seq 600); do ! grep -q stopped err || break; sleep 0.1; done
grep -Eq '^weftrun: process 1 \(pid [0-9]+\) is stopped, by signal [0-9]+ ' err || fail "$(cat err)"
kill -CONT "$(sed -n 's/.*process 1 (pid \([0-9]*\)) is stopped.*/\1/p' err)"
for _ in $(seq 600); do ! grep -q 'goes on' err || break; sleep 0.1; done
touch go
wait $pid || fail "status $?: $(cat err)"
grep -Eq '^weftrun: process 1 \(pid [0-9]+\) goes on$' err || fail "$(cat err)"

name="weftrun is killed"
: >out
"$weftrun" -n 3 sh -c 'echo ready; exec sleep 98766.$run' >out 2>err &
pid=$!
wrote 3 ready
disown $pid
kill -9 $pid
nobody "sleep 98766.$run"

name="its terminal hangs up"
env --default-signal=HUP script -qec "exec $weftrun -n 2 sh -c 'echo ready; exec sleep 98767.$run'" /dev/null >out 2>err </dev/null &
pid=$!
wrote 2 ready
disown $pid
kill -9 $pid
nobody "sleep 98767.$run"

name="what it was started to ignore"
: >out
(
    trap '' INT HUP
    exec "$weftrun" -n 2 -t 280 --grace 0.2 bash -c 'echo ready; until [ -e went ]; do sleep 0.05; done'
) >out 2>err &
pid=$!
wrote 2 ready
kill -INT $pid
kill -HUP $pid
kill -INT $pid
touch went
wait $pid || fail "status $?: $(cat err)"

name="the reader of lines has left"
timeout 300 "$weftrun" -n 2 -l yes 2>err | head -1 >out
[ "${PIPESTATUS[0]}" -eq 141 ] || fail "status ${PIPESTATUS[0]}: $(cat err)"

# rest SIGNAL WANTED-STATUS OPTIONS...: the reader of a job's output rests; what ends the job then.
rest() {
    local wanted=$2
    mkfifo resting
    sleep 400 <resting &
    local reader=$!
    : >err
    # In the foreground, timeout passes a signal on once.
    env --default-signal=INT timeout --foreground -k 30 250 "$weftrun" -l -n 2 "${@:3}" \
        sh -c 'touch began$WEFT_PROCESS; exec yes' >resting 2>err </dev/null &
    local pid=$! begin=$SECONDS
    [ "$1" = none ] || {
        for _ in $(seq 600); do [ ! -e began0 ] || [ ! -e began1 ] || break; sleep 0.1; done
        sleep 1 # for the pipe to be full
        begin=$SECONDS
        kill -s "$1" $pid
    }
    wait $pid
    local got=$?
    [ $got -eq "$wanted" ] || fail "status $got, not $wanted: $(cat err)"
    [ $((SECONDS - begin)) -lt 240 ] || fail "it took $((SECONDS - begin)) s"
    has err "standard output: its reader rests, and the job shall end"
    kill $reader || fail "the reader was waited for"
    rm -f resting began?
}
name="time is over while a reader rests"
rest none 124 -t 3
has err "not over after 3 s"
name="SIGINT while a reader rests"
rest INT 130
name="SIGTERM while a reader rests"
rest TERM 143
name="standard error too goes to a reader who rests"
mkfifo resting
sleep 400 <resting &
reader=$!
timeout -k 1 300 "$weftrun" -l -n 2 -t 1 yes >resting 2>&1 </dev/null
[ $? -eq 124 ] || fail "status"
kill $reader
rm resting
name="nothing is lost for a reader who rests"
timeout -k 1 300 "$weftrun" -l -n 2 sh -c 'head -c 1000000 /dev/zero | tr "\0" "\n"' 2>err | { sleep 3; wc -l; } >out
[ "$(cat out)" = 2000000 ] || fail "$(cat out err)"

finish
