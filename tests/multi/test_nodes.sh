#!/bin/bash
# test_nodes BIN - processes on several hosts that weft tells apart as nodes: which network joins them,
# who is reached directly and who over it, and what is said when none can be.
set -u
bin=$(cd "${1:?usage: $0 BIN}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
data=$(cd "$here/../../data" && pwd)
skip() {
    echo "skipped: $*"
    exit 77
}
"$bin/weft-info" | grep -Eq '^ +ofi +between' || skip "ofi is not in this build"
[ "$(id -u)" -eq 0 ] || skip "network namespaces need root"
work=$(mktemp -d)
export TMPDIR=$work # mpirun's own: a folder by the name of the host would be shared
trap '"$here/hosts" down "$work/net"; rm -rf "$work"' EXIT
"$here/hosts" up "$work/net" 4 >/dev/null 2>&1 || skip "no namespaces, veth or bridge here"
export WEFT_RSH="$here/hosts rsh $work/net"
cd "$work" || exit 1
failures=0
fail() {
    echo "FAILED: $*"
    tail -n 20 out
    failures=$((failures + 1))
}
# job HOSTS N COMMAND...: the output of both streams is in `out`.
job() {
    timeout 300 "$bin/weftrun" -l -H "$1" -n "$2" "${@:3}" >out 2>&1 </dev/null
}
# says NUMBER PATTERN: so many lines.
says() {
    local count
    count=$(grep -c -- "$2" out)
    [ "$count" -eq "$1" ] || fail "$count lines have '$2', not $1"
}

# Two processes on each of two hosts: to each process one other is direct, two are over ofi.
WEFT_LOG=info job host0,host1 4 "$bin/tests/test_order" --path auto || fail "test_order, auto"
says 4 "network ofi: the job is on 2 nodes"
says 4 "direct, through shared memory"
says 8 "through the host over ofi (it is on another node)"
says 4 "provider tcp;ofi_rxm, domain eth0"
job host0,host1 4 "$bin/tests/test_mixed" --path auto || fail "test_mixed, auto"
WEFT_INTERFACE=eth0 job host0,host1,host2 3 "$bin/tests/test_flush" --path auto ||
    fail "test_flush with WEFT_INTERFACE=eth0"

# Channels join what is mapped: a host may have been tuned to have none, beside one that has.
WEFT_EAGER_AFTER=1 job host0,host1 4 sh -c 'test $WEFT_PROCESS -ge 2 || export WEFT_EAGER=64; exec "$0" "$@"' \
    "$bin/tests/test_order" --path auto || fail "channels on one host only"

# What cannot be is said, at once and by everyone.
WEFT_NET=shm job host0,host1 2 "$bin/tests/test_put" && fail "WEFT_NET=shm worked"
says 2 "could not open the job: network shm joins processes of one host, and those of this job are on 2"

WEFT_NET=ofi WEFT_OFI_PROVIDER=shm job host0,host1 2 "$bin/tests/test_put" && fail "shm between hosts worked"
says 2 "could not open the job: network ofi over libfabric provider shm on .* joins processes of one host, and those of this job are on 2"
WEFT_NET=ofi job host0,host1 2 sh -c 'test $WEFT_PROCESS = 0 || export WEFT_OFI_WRITES=off; exec "$0"' \
    "$bin/tests/test_put" && fail "WEFT_OFI_WRITES that differs worked"
says 2 "could not open the job: ofi must be alike everywhere: process [01] has .* 0 bits.*WEFT_OFI_WRITES"

# Networks that are tried and do not open: no error while another one may, and one line when none does.
WEFT_OFI_PROVIDER=nonesuch job host0,host1 2 "$bin/tests/test_put" && fail "a network that is not there worked"
says 2 "^\[[01]\] weft: "
says 2 "could not open the job: the job is on 2 nodes, and no network between them works in every process: ofi (process 0: .*WEFT_OFI_PROVIDER=nonesuch.*), verbs (process 0: .*), mpi (process 0: "

# The control channel and libfabric each have a name for where they are.
WEFT_INTERFACE=10.77.0.0 WEFT_OFI_DOMAIN=eth0 WEFT_LOG=info job host0,host1 2 "$bin/tests/test_put" ||
    fail "WEFT_OFI_DOMAIN=eth0"
says 2 "provider .*, domain eth0"
WEFT_INTERFACE=eth0 WEFT_NET=ofi WEFT_OFI_DOMAIN=mlx5_9 job host0,host1 2 "$bin/tests/test_put" &&
    fail "a domain that is not there worked"
says 2 "could not open the job: ofi: no provider for reliable messages, WEFT_OFI_DOMAIN=mlx5_9, WEFT_INTERFACE=eth0"

# A network that is passed over is no secret.
if command -v mpirun >/dev/null && find "$bin/.." -maxdepth 3 -name 'libweft-mpi-*.so' | grep -q .; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    timeout 300 "$here/hosts" on "$work/net" host0 mpirun --mca plm_rsh_agent "$WEFT_RSH" -H host0,host1 -n 2 \
        -x WEFT_OFI_PROVIDER=nonesuch "$bin/tests/test_put" >out 2>&1 </dev/null || fail "mpi instead of ofi"
    says 1 "network mpi: the job is on 2 nodes, and it works on all; not taken: ofi (process 0: "
    says 0 WEFT_ERR
else
    echo "no MPI here: that a network is passed over is not tested"
fi

# Power iteration on four hosts gives the answer of one process.
iterate=("$bin/power_iteration" --matrix "$data/debian-depends.mtx" --pagerank 0.85 --top 5)
top() {
    awk '/rank: [1-5] / { print $(NF - 1), $NF }' out
}
"${iterate[@]}" >out 2>&1 || fail "power_iteration alone"
alone=$(top)
[ "$(wc -l <<<"$alone")" -eq 5 ] || fail "power_iteration alone gives no five places"
job host0,host1,host2,host3 4 "${iterate[@]}" || fail "power_iteration on 4 hosts"
[ "$(top)" = "$alone" ] || fail "another answer on 4 hosts"
grep -q 'check: passed' out || fail "the check on 4 hosts"

# The hosts have IPv6 alone.
if "$here/hosts" on "$work/net" host0 cat /proc/net/if_inet6 2>/dev/null | grep -q ^fd77; then
    for host in host0 host1; do
        "$here/hosts" on "$work/net" $host ip -4 address flush dev eth0
    done
    for interface in fd77::9 eth0; do # any address of the network; the interface
        WEFT_INTERFACE=$interface job host0,host1 4 "$bin/tests/test_order" --path auto ||
            fail "test_order over IPv6, WEFT_INTERFACE=$interface"
    done
fi

[ $failures = 0 ] && echo "all passed"
exit $((failures > 0))
