# support/far.sh - hosts (network namespaces, as root) whose packets take longer; sourced, with `here`,
# the folder of bench, and `bin`. work: a folder for the script, which goes at its end, as the hosts do.
#
# far_up N MICROSECONDS: host0 to hostN-1. has_far is empty where they cannot be had; `how` says why, or by
# what their packets are late: `tc netem`, or, without it, bench_delay; trip: what far_trip says then.
# WEFT_RSH=$work/rsh reaches them.
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

# The shortest of some round trips from host0 to host1, in us: nobody listens there, which host1 says.
far_trip() {
    # shellcheck disable=SC2016 # the host expands it
    "$hosts" on "$work/net" host0 bash -c 'for i in 1 2 3 4 5; do
        t=${EPOCHREALTIME//[!0-9]/}
        { : </dev/tcp/10.77.0.2/9; } 2>/dev/null
        echo $((${EPOCHREALTIME//[!0-9]/} - t))
    done' | sort -n | sed -n 1p
}

far_up() {
    far_down
    has_far= how="left out: namespaces need root"
    [ "$(id -u)" -eq 0 ] || return 0
    printf '#!/bin/sh\nexec "%s" rsh "%s" "$@"\n' "$hosts" "$work/net" >"$work/rsh"
    chmod +x "$work/rsh"
    how="tc netem"
    if ! "$hosts" up "$work/net" "$1" delay "${2}us" 2>"$work/why"; then
        "$hosts" down "$work/net"
        local refused="tc netem cannot be set ($(tail -n 1 "$work/why"))"
        how="left out: $refused, and no namespaces with veth and TUN devices here"
        "$hosts" up "$work/net" "$1" 2>/dev/null || return 0
        "$bin/bench_delay" "$work/net" "$1" "$2" >"$work/ready" 2>"$work/why" &
        relay=$!
        until grep -qs ready "$work/ready"; do
            kill -0 $relay 2>/dev/null || { how+=": $(cat "$work/why")" && return 0; }
            sleep 0.1
        done
        how="bench_delay$(sed -n 's/^ready//p' "$work/ready"), as $refused"
    fi
    trip=$(far_trip)
    has_far=1
    [ "$trip" -ge $((2 * $2)) ] || has_far= how="left out: $how, but a round trip takes $trip us, not $((2 * $2)) or more"
}
