# support/far.sh - hosts (network namespaces, as root) whose packets take longer; sourced, with `here`,
# the folder of bench, and `bin`. work: a folder for the script, which goes at its end, as the hosts do.
#
# far_up N MICROSECONDS: host0 to hostN-1. has_far is empty where they cannot be had; `how` says why, or by
# what their packets are late: `tc netem`, or, without it, bench_delay. WEFT_RSH=$work/rsh reaches them.
hosts=$here/../tests/multi/hosts
work=$(mktemp -d)
relay=
far_down() {
    [ -z "$relay" ] || kill "$relay" 2>/dev/null || true
    relay=
    [ ! -d "$work/net" ] || "$hosts" down "$work/net"
    rm -rf "$work/net" "$work/ready"
}
trap 'far_down; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

far_up() {
    far_down
    has_far= how="left out: namespaces need root"
    [ "$(id -u)" -eq 0 ] || return 0
    printf '#!/bin/sh\nexec "%s" rsh "%s" "$@"\n' "$hosts" "$work/net" >"$work/rsh"
    chmod +x "$work/rsh"
    if "$hosts" up "$work/net" "$1" delay "${2}us" 2>/dev/null; then
        how="tc netem" has_far=1
        return 0
    fi
    "$hosts" down "$work/net"
    how="left out: no namespaces with veth and TUN devices here"
    "$hosts" up "$work/net" "$1" 2>/dev/null || return 0
    "$bin/bench_delay" "$work/net" "$1" "$2" >"$work/ready" 2>"$work/relay.err" &
    relay=$!
    until grep -qs ready "$work/ready"; do
        kill -0 $relay 2>/dev/null || { cat "$work/relay.err" >&2; return 0; }
        sleep 0.1
    done
    how="bench_delay" has_far=1
}
