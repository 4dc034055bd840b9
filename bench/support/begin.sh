# support/begin.sh - how the bench scripts for two processors begin; sourced, with `needs`, the programs
# that must have been built: [--rounds N] BIN_DIR OUT_DIR become rounds, bin and out; cores: two of those
# that may be used, with a comma between. Mistakes end the script.
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
for program in "${needs[@]}"; do
    [ -x "$bin/$program" ] || { echo "bench: $bin/$program was not built" >&2; exit 1; }
done
allowed=$(awk '/^Cpus_allowed_list:/ { print $2 }' /proc/self/status)
cores=$(echo "$allowed" | tr , '\n' | awk -F- '{ for (c = $1; c <= $NF; c++) print c }' |
    head -n 2 | paste -sd ,)
[[ $cores == *,* ]] || { echo "bench: needs two processors, may use only $allowed" >&2; exit 1; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
