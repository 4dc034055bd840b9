# support/two.sh - what bench scripts for two processors ask for first; sourced, with `bin`, a folder, and
# `needs`, the programs that must have been built there. cores: two processors of those that may be
# used, with a comma between. What is missing ends the script.
for program in "${needs[@]}"; do
    [ -x "$bin/$program" ] || { echo "bench: $bin/$program was not built" >&2; exit 1; }
done
allowed=$(awk '/^Cpus_allowed_list:/ { print $2 }' /proc/self/status)
cores=$(echo "$allowed" | tr , '\n' | awk -F- '{ for (c = $1; c <= $NF; c++) print c }' |
    head -n 2 | paste -sd ,)
[[ $cores == *,* ]] || { echo "bench: needs two processors, may use only $allowed" >&2; exit 1; }
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
