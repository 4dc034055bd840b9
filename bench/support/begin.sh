# support/begin.sh - how the bench scripts for two processors begin; sourced, with `needs`, the programs
# that must have been built, and `here`, the folder of bench: [--rounds N] BIN_DIR OUT_DIR become rounds,
# bin and out; the rest is two.sh. Mistakes end the script.
rounds=7
if [ "${1:-}" = --rounds ]; then
    rounds=$2
    shift 2
fi
[ $# -eq 2 ] && [[ $rounds =~ ^[1-9][0-9]{0,3}$ ]] || {
    echo "usage: bench/${0##*/} [--rounds N] BIN_DIR OUT_DIR" >&2
    exit 2
}
bin=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
. "$here/support/two.sh"

# What machine.txt says of a run beside MPI over TCP.
tcp_machine_lines() {
    machine_lines
    echo "mpi: $(mpirun --version | head -n 1)"
    echo "libfabric: $(pkg-config --modversion libfabric 2>/dev/null || echo unknown)"
    echo "TCP: congestion control $(cat /proc/sys/net/ipv4/tcp_congestion_control)"
    echo "cores used: $cores of $allowed"
    echo "rounds: $rounds"
    echo "load average at the start: $(cut -d ' ' -f 1 /proc/loadavg)"
}
