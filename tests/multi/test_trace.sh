#!/usr/bin/env bash
# test_trace.sh BIN - a job's timeline: one file of all processes, which is JSON and which weft-trace
# reads; files that cannot be written give one line and a failure; weft-trace refuses what is no
# timeline in one line.
set -u
bin=$(cd "${1:?usage: $0 BIN}" && pwd)
folder=$(mktemp -d)
trap 'umount "$folder/small" 2>/dev/null; rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0
stencil=("$bin/stencil" --ranks 3 --nx 20 --rows 9 --nz 3 --iterations 10)

fail() {
    echo "FAILED: $*"
    sed 's/^/    /' out err 2>/dev/null | head -8
    failures=$((failures + 1))
}
# check WANTED-STATUS COMMAND...: stdout and stderr land in files out and err. WANTED -: any but 0.
check() {
    local wanted=$1 got
    shift
    timeout 300 "$@" >out 2>err
    got=$?
    if [ "$wanted" = - ]; then
        if [ $got -eq 0 ] || [ $got -ge 124 ]; then fail "$*: status $got"; fi
    elif [ $got -ne "$wanted" ]; then
        fail "$*: status $got, not $wanted"
    fi
}
# says COUNT TEXT: so many lines of err have the text.
says() {
    [ "$(grep -cF -- "$2" err)" -eq "$1" ] || fail "not $1 lines of \"$2\""
}

# One process and several, on both paths: one file, valid JSON, and a second job begins it anew.
for n in 1 2 4; do
    for path in direct proxy; do
        check 0 env WEFT_TRACE=t.json WEFT_PATH=$path "$bin/weftrun" -n $n "${stencil[@]}" --verify
        grep -q '^check: passed' out || fail "not verified when traced: $n processes, $path"
        if command -v python3 >/dev/null; then
            check 0 python3 -m json.tool t.json
        fi
        check 0 "$bin/weft-trace" summary --longest 1000 t.json
        [ "$(grep -cE '^ +[0-9]+ +[0-9.]+ +[0-9.]+%' out)" -eq $((3 * n)) ] || fail "not $((3 * n)) ranks"
        plural=$([ "$n" = 1 ] || echo es)
        grep -q "^$((3 * n)) ranks of $n process$plural, [0-9]* events;" out || fail "the first line"
        [ "$n" = 1 ] || grep -qE 'wait tag [0-9], the last from rank [0-9]' out || fail "no longest wait"
        [ "$(grep -c '"process_name"' t.json)" -eq $n ] || fail "not $n processes in the file"
    done
done
grep -q '"name":"sent","cat":"network"' t.json || fail "nothing of the network"
grep -q '"name":"arrived","cat":"network"' t.json || fail "nothing arrives"
grep -q '"cat":"service"' t.json || fail "nothing of the services"
# Puts that notify are notifications, too; collectives are regions by their names, and waits are in them.
check 0 env WEFT_TRACE=ring.json "$bin/weftrun" -n 2 "$bin/ring"
check 0 "$bin/weft-trace" summary ring.json
sed -n '/^sent from rank to rank/,/^$/p' out | grep -qE '^ +0 +1 +[0-9]+ +[0-9]+ +[1-9]' || fail "no notifications of puts"
check 0 env WEFT_TRACE=coll.json "$bin/weftrun" -n 2 "$bin/collectives"
check 0 "$bin/weft-trace" summary --longest 1000 coll.json
grep -qE '^allreduce +[1-9]' out || fail "allreduce is no region"
grep -qE ' barrier, in [a-z_]+$' out || fail "no barrier in a collective"
# Tasks are regions by their bodies' names, also those that another place runs: place 1 is slow enough that
# place 0 takes some of its tasks, however the machine shares its processors out.
check 0 env WEFT_TRACE=tasks.json "$bin/weftrun" -n 2 "$bin/stencil2d" -N 300 --tile 50x90 --slow 1:400 --iterations 12 --verify
check 0 "$bin/weft-trace" summary tasks.json
grep -qE '^relax +288 ' out || fail "not 24 tiles in 12 iterations"
grep -q '"name":"relax","cat":"region",.*"pid":1,.*"args":{"task":[0-9]*,"place":1,"made_by_host":1}' tasks.json ||
    fail "no task of place 1 at place 0"
# Every rank of the stencil sends its neighbours as much as they send it; what is waited for is a tag.
check 0 "$bin/weft-trace" summary --longest 1000 t.json
sed -n '/^sent from rank to rank/,/^$/p' out | awk '
    NF == 5 && $1 ~ /^[0-9]+$/ { sent[$1 " " $2] = $3 " " $4 " " $5; if ($4 > 0) bytes++ }
    END { for (pair in sent) { split(pair, p); if (sent[pair] != sent[p[2] " " p[1]]) exit 1 }; exit bytes == 0 }
' || fail "what rank sent to rank"
sed -n '/^waiting by tag/,/^$/p' out | grep -qE '^ +[0-9]+ +[0-9]+ +[0-9.]+ +[0-9.]+$' || fail "no waiting by tag"
check 0 "$bin/weft-trace" summary --longest 0 t.json
! grep -q '^sent' out || fail "--longest 0: pairs"
! grep -q '^longest' out || fail "--longest 0"
check 0 "$bin/weft-trace" draw t.json -o t.svg --host
grep -q '</svg>' t.svg || fail "no picture"
grep -q 'rank [0-9]* to rank [0-9]*: [1-9][0-9]* bytes' t.svg || fail "no bytes from rank to rank in the picture"
grep -q '>tag [0-9]*<' t.svg || fail "no waiting by tag in the picture"
check 1 "$bin/weft-trace" draw t.json -o t.svg --ranks 100-200
says 1 "nothing of ranks 100 to 200"
check 1 "$bin/weft-trace" draw t.json -o t.svg --from 99000000 --until 99000001
says 1 "nothing lies between 99000000.000 and 99000001.000 us"
check 1 "$bin/weft-trace" draw t.json -o /no/such/folder/t.svg
ln -s t.json link && cp t.json kept
check 64 "$bin/weft-trace" draw t.json -o ./link
says 1 "the picture would overwrite FILE"
cmp -s t.json kept || fail "draw has overwritten its FILE"
if [ -c /dev/full ]; then
    check 1 "$bin/weft-trace" draw t.json -o /dev/full
    "$bin/weft-trace" summary t.json >/dev/full 2>err && fail "a full disk is no error of summary"
fi

# A log that is too small: what is lost is said on stderr and in the file.
check 0 env WEFT_TRACE=small.json WEFT_TRACE_EVENTS=64 "${stencil[@]}" --iterations 50
says 1 "events of 3 ranks and services are lost"
[ "$(grep -c '"name":"lost"' small.json)" -eq 3 ] || fail "the file does not say what is lost"
check 1 env WEFT_TRACE=small.json WEFT_TRACE_EVENTS=65 "${stencil[@]}"
says 1 "WEFT_TRACE_EVENTS=65: not a power of two"

# Files that cannot be: one line, before anything starts.
for file in /no/such/folder/t.json "$folder" /dev/full; do
    check - env WEFT_TRACE="$file" "${stencil[@]}"
    says 1 "WEFT_TRACE=$file: "
    [ "$(wc -l <err)" -le 2 ] || fail "more than an error and the program's own line"
done
# A disk that is full in the end: the run's result stands, weft_close fails, the file stays whole.
mkdir small
if [ "$(id -u)" = 0 ] && mount -t tmpfs -o size=16k none small 2>/dev/null; then
    check - env WEFT_TRACE=small/t.json "${stencil[@]}"
    says 1 "WEFT_TRACE=small/t.json: cannot write it: No space left on device"
    check 0 "$bin/weft-trace" summary small/t.json
    umount small
else
    echo "left out: a full disk, which only root can make"
fi

# weft-trace and what is no timeline: one line, never a crash.
check 1 "$bin/weft-trace" summary no-such-file
says 1 "no-such-file: No such file or directory"
lines=$(wc -l <t.json)
refuses() {
    check 1 "$bin/weft-trace" summary "$1"
    if [ "$(wc -l <err)" -ne 1 ] || [ -s out ] || ! grep -qF "weft-trace: $1: line " err; then
        fail "not one line for $1"
    fi
}
: >empty && refuses empty
head -c 100000 /dev/urandom >noise && refuses noise
head -c 3000 t.json >cut && refuses cut
head -n 9 t.json >short && refuses short
sed '5s/"ts":[0-9.]*/"ts":-1/;9s/"ts":[0-9.]*/"ts":1e9/;9s/"pid":[0-9]*/"pid":[1]/' t.json >numbers && refuses numbers
sed '7s/,$//' t.json >comma && refuses comma
sed '4s/}/}}/' t.json >brace && refuses brace
sed '6s/"ph":"."/"ph":"Q"/' t.json >phase && refuses phase
sed "${lines}s/.*/]}]/" t.json >end && refuses end
{ cat t.json; echo more; } >more && refuses more
tr '"' '\0' <t.json >zeros && refuses zeros
{ head -n 3 t.json; head -c 9000 /dev/zero | tr '\0' x; tail -n +4 t.json; } >long && refuses long
check 64 "$bin/weft-trace"
check 64 "$bin/weft-trace" summary
check 64 "$bin/weft-trace" paint t.json
check 64 "$bin/weft-trace" draw t.json
check 64 "$bin/weft-trace" summary t.json --longest many
check 0 "$bin/weft-trace" --help
check 0 "$bin/weft-trace" --version

[ $failures = 0 ] && echo "all passed"
exit $((failures > 0))
