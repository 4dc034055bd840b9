#!/bin/bash
# shellcheck disable=SC2016 # the processes expand what stands in single quotes
# weftrun --host, with a command that "reaches" other hosts on this one: numbering, what travels and
# how, output, statuses, signals, and that nothing is left when either side ends or is cut off.
# usage: test_weftrun_hosts.sh BIN-FOLDER
set -u
source "$(dirname "$0")/weftrun_checks.sh"

# reach HOST COMMAND...: like ssh, but here. Records what a spy on the other host would see.
cat >reach <<'TEXT'
#!/bin/bash
host=$1
shift
echo "$*" >>"$FOLDER/commands"
case $host in
    nowhere) echo "reach: Could not resolve hostname $host" >&2; exit 255 ;;
    noisy) echo "Welcome to noisy!" ;;
    mute) exec sleep 98770.$run ;;
    chatty) echo "reach: a warning" >&2 ;;
esac
echo $$ >"$FOLDER/way-to-$host"
REACHED=$host exec sh -c "exec $*"
TEXT
chmod +x reach
# And two more for the launcher; longer where many processes want each processor.
WEFT_SILENCE_S=$(awk -v n="$(nproc)" '{ load = $1 / n / 4; print int(8 * (load > 4 ? 4 : load > 1 ? load : 1)) }' /proc/loadavg)
export FOLDER=$folder WEFT_RSH="$folder/reach" WEFT_SILENCE_S

# where HOSTS OPTIONS: which process runs on which host, in one line.
where() {
    timeout 300 "$weftrun" -H "$@" -- sh -c 'echo $WEFT_PROCESS:$REACHED' 2>err </dev/null |
        sort -n | tr '\n' ' '
}
# runs WANTED HOSTS OPTIONS
runs() {
    local got
    name="numbering: ${*:2}"
    got=$(where "${@:2}")
    [ "$got" = "$1 " ] || fail "$got, not $1; $(head -2 err)"
}
runs "0:a 1:b" a,b
runs "0:a 1:a 2:b 3:b" a,b -n 4
runs "0:a 1:a 2:b 3:c" a,b,c -n 4
runs "0:a" a,b -n 1
runs "0:a 1:a 2:b" a:2,b
runs "0:a 1:b 2:b 3:c" a,b:2,c:7 -n 4
runs "0:a 1:a 2:b" a:2 -n 3 -H b:4
printf '# nodes\na slots=2 # two\n\nb:1\n  c\n' >hosts
name="a host file"
[ "$(timeout 300 "$weftrun" --hostfile hosts sh -c 'echo $WEFT_PROCESS:$REACHED' | sort -n | tr '\n' ' ')" = \
    "0:a 1:a 2:b 3:c " ] || fail "$(where --hostfile hosts)"

check "a host file that is one endless line" 125 timeout -k 1 300 "$weftrun" --hostfile /dev/zero true
has err "/dev/zero:1: the line has 4096 bytes or more"
name="more processes of a host than files may be open"
(ulimit -n 64 && exec timeout -k 1 300 "$weftrun" -H a -n 24 sleep 0.5) 2>err </dev/null || fail "$(cat err)"
name="a process on a host has the limit of files that its user has set"
[ "$(ulimit -Sn 40 && timeout -k 1 300 "$weftrun" -H a -n 24 sh -c 'ulimit -n' 2>err </dev/null | sort | uniq -c | tr -d ' ')" = 2440 ] ||
    fail "$(cat err)"

check "what processes are told" 0 env WEFT_STALL_S=3 OTHER=1 "$weftrun" -H a,b -l -x "A=b  c" -x OTHER -- sh -c \
    'echo "$WEFT_PROCESS of $WEFT_PROCESSES ${#WEFT_SECRET} $WEFT_STALL_S $A $OTHER $(pwd) ${WEFT_ROOT_FD-none}"'
grep -Eq "^\[0\] 0 of 2 32 3 b  c 1 $folder [0-9]+$" out || fail "$(cat out)"
grep -Eq "^\[1\] 1 of 2 32 3 b  c 1 $folder none$" out || fail "$(cat out)"
check "nobody sees the secret" 0 "$weftrun" -H a,b sh -c \
    'ps -eo args | grep -v grep | grep -c "$WEFT_SECRET"; tr "\0" "\n" </proc/$PPID/environ | grep -c SECRET; true'
[ "$(sort -u out)" = "0" ] || fail "$(cat out)"
! grep -Eq 'SECRET|[0-9a-f]{32}' commands || fail "$(cat commands)"
WEFT_CONNECT_S=300 check "one on another host never comes" 1 "$weftrun" -H a,b,c -- sh -c \
    '[ $WEFT_PROCESS = 1 ] && exit 0; exec "$0"' "$bin/ring"
has err "process 1 was lost while the job started"
WEFT_CONNECT_S=300 check "process 0, alone on its host, never comes" 1 "$weftrun" -H a,b,c -- sh -c \
    '[ $WEFT_PROCESS = 0 ] && exit 0; sleep 0.5; exec "$0"' "$bin/ring"
has err "refused this process: it came when process 0 had ended"
check "one secret for all" 0 "$weftrun" -H a,b sh -c 'echo $WEFT_SECRET $WEFT_ROOT'
[ "$(sort -u out | wc -l)" = 1 ] || fail "$(cat out)"
check "loopback where all is on one host" 0 "$weftrun" -H a:2 sh -c 'echo $WEFT_ROOT'
grep -q '^127\.0\.0\.1:' out || fail "$(cat out)"
check "an interface" 0 env WEFT_INTERFACE=lo "$weftrun" -H a,b sh -c 'echo $WEFT_ROOT'
grep -Eq '^127\.0\.0\.1:[0-9]+$' out || fail "$(cat out)"
check "an address" 0 env WEFT_INTERFACE=127.0.0.1 "$weftrun" -H a,b sh -c 'echo $WEFT_ROOT'
grep -Eq '^127\.0\.0\.1:[0-9]+$' out || fail "$(cat out)"
if grep -q 00000000000000000000000000000001 /proc/net/if_inet6 2>/dev/null; then
    check "an IPv6 address" 0 env WEFT_INTERFACE=::1 "$weftrun" -H a,b "$bin/tests/test_barrier" --path proxy
fi
check "no such interface" 125 env WEFT_INTERFACE=nonesuch "$weftrun" -H a,b true
has err "WEFT_INTERFACE=nonesuch"

# A job that uses the library, through a bridge of names: all on this host in truth.
check "a real job" 0 env WEFT_INTERFACE=127.0.0.1 "$weftrun" -n 4 -H a,b "$bin/tests/test_barrier"

name="input goes to process 0"
head -c 3000000 /dev/zero | tr '\0' x >big
timeout 300 "$weftrun" -H a,b sh -c 'wc -c' <big >out 2>err
[ "$(sort -n out | tr '\n' ' ')" = "0 3000000 " ] || fail "$(cat out err)"
name="one that does not read it"
timeout 300 "$weftrun" -H a,b true <big >out 2>err || fail "status $?"

check "output stays apart and whole" 0 "$weftrun" -H a,b -n 4 -l sh -c \
    'i=0; while [ $i -lt 300 ]; do printf "a%s" $WEFT_PROCESS; printf "b%s\n" $WEFT_PROCESS; i=$((i+1)); done; echo bad >&2; printf end'
[ "$(sort out | uniq -c | awk '{print $1 $2 $3}' | tr '\n' ' ')" = \
    "300[0]a0b0 1[0]end 300[1]a1b1 1[1]end 300[2]a2b2 1[2]end 300[3]a3b3 1[3]end " ] ||
    fail "$(sort out | uniq -c | head -3)"
[ "$(grep -c bad err)" -eq 4 ] || fail "$(cat err)"
check "much output" 0 "$weftrun" -H a,b -n 2 sh -c 'head -c 20000000 /dev/zero | tr "\0" y'
[ "$(wc -c <out)" -eq 40000000 ] || fail "$(wc -c <out) bytes"
check "logs are here" 0 "$weftrun" -H a,b -o logs sh -c 'echo out $WEFT_PROCESS; echo err >&2'
has logs/process-1.log "out 1"
[ ! -s out ] || fail "output on the terminal"

# The others fail as soon as they are asked to end.
check "the first failure's status" 7 "$weftrun" -H a,b,c --grace 0.2 sh -c \
    'test $WEFT_PROCESS = 1 && exit 7; trap "exit 9" TERM; sleep 30 & wait'
grep -Eq 'process 1 \(pid [0-9]+ on b\) ended with status 7' err || fail "$(cat err)"
one_line
check "a signal's status" 137 "$weftrun" -H a,b --grace 0.2 sh -c \
    'test $WEFT_PROCESS = 1 && kill -9 $$; exec sleep 98771.$run'
nobody "sleep 98771.$run"
check "time is over" 124 "$weftrun" -H a,b -t 0.5 sleep 98772.$run
nobody "sleep 98772.$run"
check "what processes leave behind" 0 "$weftrun" -H a,b sh -c 'setsid sleep 98773.$run & sleep 98773.$run & echo gone'
nobody "sleep 98773.$run"

check "no such program" 127 "$weftrun" -H a,b -n 4 ./no-such-program
grep -Eq "host [ab]: cannot run ./no-such-program: No such file or directory" err || fail "$(cat err)"
one_line
check "no such command" 125 "$weftrun" --rsh ./nowhere -H a,b true
grep -Eq "host [ab] cannot be used: cannot run ./nowhere: No such file or directory" err || fail "$(cat err)"
one_line
check "an unknown host" 125 "$weftrun" -H a,nowhere sleep 98774.$run
has err "host nowhere cannot be used: reach: Could not resolve hostname nowhere"
one_line
nobody "sleep 98774.$run"
check "a host whose shell speaks first" 125 "$weftrun" -H a,noisy true
has err 'it says "Welcome to noisy!"'
one_line
check "warnings on the way" 0 "$weftrun" -H a,chatty true
check "a host that does not answer" 124 "$weftrun" -H a,mute -t 0.5 true
nobody "sleep 98770.$run"
for wrong in "a:0" "a:x" "a,,b" "-oProxyCommand=x" "[a" "a b" 'a;b' "a:99999999"; do
    check "hosts $wrong" 125 "$weftrun" -H "$wrong" true
    has err '"'"$wrong"'"'
done
check "too few slots" 125 "$weftrun" -H a:1,b -n 3 true
has err "3 processes, but the hosts have 2 slots"
check "units on each host" 0 "$weftrun" -H a,b:3 --units cuda:1,cpu:2 sh -c \
    'echo "$WEFT_PROCESS:$WEFT_DEVICE"'
[ "$(sort -n out | tr '\n' ' ')" = \
    "0:cuda 1:cpu 2:cpu 3:cuda 4:cpu 5:cpu " ] || fail "$(cat out)"
check "units and other slots" 125 "$weftrun" -H a:2 --units cuda:1,cpu:2 true
has err "3 processes on each host, and host a has 2 slots"
check "no such folder" 125 bash -c 'mkdir gone; cd gone; rmdir ../gone; exec "$0" -H a true' "$weftrun"

started() {
    for _ in $(seq 1200); do
        [ "$(grep -c ready out)" -eq "$1" ] && return
        sleep 0.05
    done
    fail "did not start: $(cat err)"
}
for signal in INT TERM HUP USR1 USR2 QUIT; do
    name="SIG$signal is passed on"
    : >out
    env --default-signal=INT,QUIT,HUP "$weftrun" -H a,b -n 3 -l bash -c \
        "trap 'echo got $signal; exit 0' $signal; echo ready; while :; do sleep 0.05; done" \
        >out 2>err </dev/null &
    pid=$!
    started 3
    kill -s $signal $pid
    wait $pid || fail "status $?: $(cat err)"
    [ "$(grep -c "got $signal" out)" -eq 3 ] || fail "$(cat out)"
done

# begin COMMAND...: on hosts a and b, in the background, until all have said "ready".
begin() {
    : >out
    "$weftrun" -H a,b -n 4 --grace "${GRACE:-0.5}" "$@" >out 2>err </dev/null &
    pid=$!
    started 4
}
name="weftrun is killed"
begin sh -c 'setsid sleep 98775.$run & echo ready; exec sleep 98775.$run'
disown $pid
kill -9 $pid
nobody "sleep 98775.$run"

name="the way to a host is killed"
begin sh -c 'echo ready; exec sleep 98776.$run'
kill -9 "$(cat way-to-b)"
wait $pid
[ $? -eq 125 ] || fail "status"
has err "host b is lost"
one_line
nobody "sleep 98776.$run"

# Its processes are lost to the others, who may end first.
name="the way to a host is killed, and who has lost its processes ends first"
rm -f lost
GRACE=60 begin sh -c 'echo $$ >pid$WEFT_PROCESS; echo ready; [ $WEFT_PROCESS -lt 2 ] || exec sleep 98779.$run
    until [ -e lost ]; do sleep 0.02; done; exit 16'
touch lost
while kill -0 "$(cat pid0)" || kill -0 "$(cat pid1)"; do sleep 0.02; done 2>/dev/null
kill -9 "$(cat way-to-b)"
wait $pid
[ $? -eq 125 ] || fail "status"
has err "host b is lost"
one_line
nobody "sleep 98779.$run"

# 16: WEFT_ERR_PEER_LOST
check "who has lost a process of another host does not say why" 137 "$weftrun" --grace 60 -H a,b sh -c \
    '[ $WEFT_PROCESS = 1 ] || exit 16; sleep 1; kill -9 $$'
grep -Eq 'process 1 \(pid [0-9]+ on b\) ended by signal 9' err || fail "$(cat err)"
one_line
for i in $(seq 6); do
    rm -f pid?
    name="process $((i % 3)) of 3 on two hosts is killed, number $i"
    : >out
    WEFT_INTERFACE=127.0.0.1 "$weftrun" -H a:2,b -n 3 -t 280 sh -c \
        'echo $$ >pid$WEFT_PROCESS; exec "$0"' "$bin/tests/test_cut_off" >out 2>err </dev/null &
    pid=$!
    until grep -q ready out; do sleep 0.05; done
    sleep 0.0$((RANDOM % 10))
    kill -9 "$(cat pid$((i % 3)))"
    wait $pid
    got=$?
    [ $got -eq 137 ] || fail "status $got: $(cat err)"
    has err "weftrun: process $((i % 3)) (pid "
done

name="a reader that rests longer than silence lasts"
timeout 300 "$weftrun" -H a,b sh -c 'head -c 1000000 /dev/zero | tr "\0" z' 2>err </dev/null |
    { sleep 13; wc -c; } >out
[ "$(cat out)" = 2000000 ] || fail "$(cat out err)"

name="time is over while a reader rests"
mkfifo resting
# shellcheck disable=SC2217 # that it does not read is the point
sleep 400 <resting &
reader=$!
timeout -k 1 300 "$weftrun" -H a,b -t 3 yes >resting 2>err </dev/null
[ $? -eq 124 ] || fail "status: $(cat err)"
has err "standard output: its reader rests, and the job shall end"
kill $reader

name="the launcher falls silent"
begin sh -c 'echo ready; exec sleep 98777.$run'
kill -STOP $pid
nobody "^sleep 98777.$run" $((WEFT_SILENCE_S + 32)) # and what a busy machine adds
kill -CONT $pid
wait $pid
[ $? -ne 0 ] || fail "status 0"

name="all are stopped for longer than silence lasts"
WEFT_SILENCE_S=4 begin sh -c 'echo ready; sleep 10; exit 3'
kill -STOP "$(cat way-to-a)" "$(cat way-to-b)" $pid
sleep 8
kill -CONT "$(cat way-to-a)" "$(cat way-to-b)" # who is first hears nothing
sleep 0.2
kill -CONT $pid
wait $pid
[ $? -eq 3 ] || fail "status"

name="a helper falls silent"
begin sh -c 'echo ready; exec sleep 98778.$run'
kill -STOP "$(cat way-to-b)" # which has become the helper
wait $pid
[ $? -eq 125 ] || fail "status"
has err "host b is lost: nothing heard for $((WEFT_SILENCE_S + 2)) s"
nobody "sleep 98778.$run"

finish
