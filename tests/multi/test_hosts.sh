#!/usr/bin/env bash
# Several hosts, simulated: the job finds its nodes, chooses a network between them, goes direct
# within one and over the network between two, and ends when a host is cut off.
# usage: test_hosts.sh BIN-FOLDER
set -u
bin=$(cd "$1" && pwd) || exit 1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
"$bin/weft-info" | grep -q '^  ofi ' || { echo "skipped: ofi is not in this build"; exit 77; }
# shellcheck source=tests/multi/hosts
source "$here/hosts"
dir=$(mktemp -d) || exit 1
failures=0
hosts_up 4
trap 'hosts_down; rm -rf "$dir"' EXIT

fail() {
    echo "FAILED: $*"
    tail -n 20 "$dir"/out.*
    failures=$((failures + 1))
}

# says NUMBER PATTERN: so many lines in all that the processes of the last job said.
says() {
    local count
    count=$(cat "$dir"/out.* | grep -c -- "$2")
    [ "$count" -eq "$1" ] || fail "$count lines have '$2', not $1"
}

# Two processes on each of two hosts: to each process one other is direct, two are over ofi.
WEFT_LOG=info hosts_run 2 2 "$dir/out" "$bin/tests/test_order" --path auto || fail "test_order, auto"
says 4 "network ofi: the job is on 2 nodes"
says 4 "direct, through shared memory"
says 8 "through the host over ofi (it is on another node)"
says 4 "provider tcp;ofi_rxm, domain net0"
rm "$dir"/out.*

hosts_run 2 2 "$dir/out" "$bin/tests/test_mixed" --path auto || fail "test_mixed, auto"
rm "$dir"/out.*
WEFT_INTERFACE=net0 hosts_run 1 3 "$dir/out" "$bin/tests/test_flush" --path auto ||
    fail "test_flush with WEFT_INTERFACE=net0"
rm "$dir"/out.*

# What cannot be is said, at once and by everyone.
HOSTS_LIMIT=20 WEFT_NET=shm hosts_run 1 2 "$dir/out" "$bin/tests/test_put" && fail "WEFT_NET=shm worked"
grep -q "WEFT_NET=shm joins processes of one host, and those of this job are on 2" "$dir"/out.* ||
    fail "WEFT_NET=shm between hosts: not said"
rm "$dir"/out.*
HOSTS_LIMIT=20 WEFT_INTERFACE=nowhere hosts_run 1 2 "$dir/out" "$bin/tests/test_put" &&
    fail "WEFT_INTERFACE=nowhere worked"
grep -q "no network between them works in every process: ofi (not everywhere)" "$dir"/out.* ||
    fail "WEFT_INTERFACE=nowhere: not said"
rm "$dir"/out.*

# Power iteration on four hosts gives the answer of one process.
matrix=$here/../../data/debian-depends.mtx
"$bin/power_iteration" --matrix "$matrix" --pagerank 0.85 --top 5 >"$dir/alone" 2>&1 ||
    fail "power_iteration alone"
hosts_run 1 4 "$dir/out" "$bin/power_iteration" --matrix "$matrix" --pagerank 0.85 --top 5 ||
    fail "power_iteration on 4 hosts"
top() {
    awk '/^rank: [1-5] / { print $2, $3 }' "$1"
}
[ "$(top "$dir/alone" | wc -l)" -eq 5 ] || fail "power_iteration alone gives no five places"
[ "$(top "$dir/out.0")" = "$(top "$dir/alone")" ] || fail "another answer on 4 hosts"
grep -q '^check: passed' "$dir/out.0" || fail "the check on 4 hosts"
rm "$dir"/out.*

# A host that is cut off ends the job on the others, by name.
start=$(date +%s)
(sleep 2 && hosts_cut 3) &
HOSTS_LIMIT=40 hosts_run 1 3 "$dir/out" "$bin/tests/test_order" --path auto --scale 100000
[ $(($(date +%s) - start)) -le 25 ] || fail "a host was cut off, and the others took too long"
for p in 0 1; do
    grep -q "WEFT_ERR_PEER_LOST: process 2 (pid [0-9]* on host3) was lost" "$dir/out.$p" ||
        fail "process $p does not say that host3 was lost"
done

[ $failures -eq 0 ]
