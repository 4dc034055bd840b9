#!/bin/bash
# test_pmix BIN - jobs started by a launcher that speaks PMIx: Open MPI's mpirun, on this host and, as
# root, on three hosts made of namespaces; and that nobody else has to do with PMIx.
set -u
bin=$(cd "${1:?usage: $0 BIN}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
data=$(cd "$here/../../data" && pwd)
skip() {
    echo "skipped: $*"
    exit 77
}
command -v mpirun >/dev/null || skip "no mpirun here"
mpirun --version 2>/dev/null | grep -q 'Open MPI' || skip "mpirun is not Open MPI's"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
timeout 300 mpirun -n 1 env 2>/dev/null | grep -q '^PMIX_RANK=' || skip "this mpirun does not speak PMIx"
work=$(mktemp -d)
export TMPDIR=$work # this mpirun's own: a folder by the name of the host would be shared
net=$work/net
trap '[ ! -d "$net" ] || "$here/hosts" down "$net"; rm -rf "$work"' EXIT
cd "$work" || exit 1
# What libpmix leaks is not weft's, should the build look for leaks.
echo leak:libpmix >leaks
export LSAN_OPTIONS=suppressions=$work/leaks:print_suppressions=0
failures=0
fail() {
    echo "FAILED: $name: $*"
    head -5 out err | sed 's/^/    /'
    failures=$((failures + 1))
}
# launch N COMMAND...
launch() {
    local n=$1
    shift
    timeout 300 mpirun --oversubscribe -x LSAN_OPTIONS -n "$n" "$@" >out 2>err </dev/null
}

name="a job of one needs nobody"
env PMIX_NAMESPACE=none PMIX_RANK=0 WEFT_PMIX=off "$bin/tests/test_lost_host" 0 >out 2>err || fail "status $?"
name="no PMIx launcher, no libpmix"
LD_DEBUG=files "$bin/tests/test_lost_host" 0 >out 2>err || fail "status $?"
! grep -q libpmix err || fail "libpmix was loaded"
name="a launcher that is not there"
PMIX_NAMESPACE=none PMIX_RANK=0 "$bin/tests/test_lost_host" 0 >out 2>err && fail "it runs"
if grep -q 'built without PMIx' err; then
    [ $failures = 0 ] || exit 1
    skip "this weft was built without PMIx"
fi
grep -q "PMIx: the launcher's server cannot be reached" err || fail "$(cat err)"

name="a job of four"
launch 4 "$bin/power_iteration" --matrix "$data/debian-depends.mtx" --pagerank 0.85 || fail "status $?"
grep -q '^check: passed' out || fail "wrong"
grep -q '2x2 processes' out || fail "not four"
name="several jobs of one program"
launch 3 "$bin/tests/test_lost_host" 0.1 3 || fail "status $?"
[ "$(grep -c ready out)" -eq 12 ] || fail "$(cat out)"
name="what is said by hand goes first"
launch 2 "$bin/weftrun" -n 3 "$bin/tests/test_lost_host" 0 || fail "status $?"
[ "$(grep -c ready out)" -eq 6 ] || fail "$(cat out)"
name="jobs of one under a launcher"
WEFT_PMIX=off launch 3 -x WEFT_PMIX "$bin/tests/test_lost_host" 0.1 || fail "status $?"
[ "$(grep -c ready out)" -eq 3 ] || fail "$(cat out)"
name="random mode is for one address space"
launch 2 -x WEFT_CPU_SCHEDULE=random:1 --mca orte_abort_timeout 5 "$bin/tests/test_lost_host" 0 && fail "it runs"
grep -q "random mode wants the whole job in one address space" err || fail "$(cat err)"
name="an interface that is not there"
WEFT_INTERFACE=nonesuch launch 2 --mca orte_abort_timeout 5 "$bin/tests/test_lost_host" 0
# On one host the loopback interface is enough, whatever the name.
grep -q ready out || fail "$(cat err)"
name="one never opens the job"
WEFT_CONNECT_S=2 launch 2 -x WEFT_CONNECT_S sh -c 'test $PMIX_RANK = 0 || exec sleep 20; exec "$@"' sh \
    "$bin/tests/test_lost_host" 0 && fail "status 0"
grep -q 'PMIx: not all processes of the launch came to weft_open within 2 s' err || fail "$(cat err)"
name="a child ends by exit"
launch 2 "$bin/tests/test_fork" || fail "status $?"
[ "$(grep -c 'all good' out)" -eq 2 ] || fail "$(cat out)"
name="one is killed"
# The first to end lets the launcher end, which may lose what they say: they write it themselves.
: >said
launch 3 sh -c 'test $PMIX_RANK = 1 || exec "$@" >>said; "$@" >>said & pid=$!
    until [ "$(grep -c ready said)" = 3 ]; do sleep 0.1; done
    touch killed; kill -9 $pid; sleep 60' sh "$bin/tests/test_lost_host" 60
[ $? -ne 0 ] || fail "status 0"
took=$(($(date +%s) - $(stat -c %Y killed)))
[ $took -lt 55 ] || fail "$took s"
[ "$(grep -c 'process 1 was lost' said)" -ge 1 ] || fail "$(cat said)"

name="three hosts"
if [ "$(id -u)" -eq 0 ] && "$here/hosts" up "$net" 3 2>/dev/null; then
    timeout 300 "$here/hosts" on "$net" host0 mpirun --mca plm_rsh_agent "$here/hosts rsh $net" \
        -x LSAN_OPTIONS -H host0,host1,host2 -n 3 sh -c 'hostname; exec "$@"' sh "$bin/tests/test_lost_host" 0.2 \
        >out 2>err </dev/null || fail "status $?"
    [ "$(sort out | tr '\n' ' ')" = "host0 host1 host2 ready ready ready " ] || fail "$(cat out)"
    name="process 0 cannot listen"
    : >said
    timeout 300 "$here/hosts" on "$net" host0 mpirun --mca plm_rsh_agent "$here/hosts rsh $net" \
        -H host0,host1,host2 -n 3 sh -c 'test $PMIX_RANK = 0 || exec "$@" 2>>said
        WEFT_INTERFACE=nonesuch "$@"; until [ -s said ]; do sleep 0.1; done' sh "$bin/tests/test_lost_host" 0.2 \
        >out 2>err </dev/null && fail "status 0"
    grep -q "process 0 could not open the job's control channel" said || fail "$(cat said err)"
else
    echo "$name: left out, namespaces need root"
fi

[ $failures = 0 ] && echo "all passed"
exit $((failures > 0))
