#!/usr/bin/env bash
# Processes that are stopped for 30 seconds and go on: sessions with their daemon, sessions whose programs
# may ask for nothing for five seconds alone, and programs; over shm and over TCP. Nothing is lost or wrong.
set -u
build=$1
bin=$build/bin
tests=$bin/tests
# shellcheck source=tests/remote/servers.sh
. "$(dirname "$0")/servers.sh"

server one
a=$address
server two
b=$address
two=$server
server three --idle-s 5
c=$address
three=$server

server four
d=$address

# start NAME NET SERVERS - a program for 45 seconds.
declare -A program
start() {
    WEFT_NET=$2 "$cuda" run -s "$3" -- "$tests/remote_endless" 45 >"$here/$1.out" 2>&1 &
    program[$1]=$!
    pids+=($!)
}
for net in shm ofi; do
    start session-$net $net "$a,$b"
    start idle-$net $net "$a,$c"
    start program-$net $net "$a,$d"
done
for name in "${!program[@]}"; do until_says ready cat "$here/$name.out"; done
pkill -STOP -P "$two"
pkill -STOP -P "$three"
kill -STOP "$two" "${program[program-shm]}" "${program[program-ofi]}"
stopped=$SECONDS
expect 'a stopped daemon' 1 "server $b does not greet" env WEFT_CONNECT_S=3 "$cuda" status -s "$b"
expect 'a silent one is said' 1 "server $b has been silent for 2 s" env WEFT_CONNECT_S=3 "$cuda" status -s "$b"
sleep $((stopped + 30 - SECONDS))
for name in "${!program[@]}"; do
    [ "$(cat "$here/$name.out")" = ready ] || fail "$name, after 30 s: $(cat "$here/$name.out")"
done
kill -CONT "$two" "${program[program-shm]}" "${program[program-ofi]}"
pkill -CONT -P "$two"
pkill -CONT -P "$three"
for name in "${!program[@]}"; do
    wait "${program[$name]}" && grep -qF '0 wrong, ended with 0' "$here/$name.out" ||
        fail "$name: $(cat "$here/$name.out")"
done
for name in one two three four; do
    [ ! -s "$here/$name.err" ] || fail "server $name: $(cat "$here/$name.err")"
done
[ "$failures" -eq 0 ] && echo "all good"
exit $((failures != 0))
