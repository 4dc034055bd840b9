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

# What every machine.txt begins with; `here`: the folder of bench.
machine_lines() {
    date -u +'date: %Y-%m-%d %H:%M UTC'
    echo "commit: $(git -C "$here" describe --always --dirty 2>/dev/null || echo unknown)"
    echo "kernel: $(uname -srm)"
    echo "processor: $(awk -F': ' '/^model name/ { print $2; exit }' /proc/cpuinfo)"
}

# limited SECONDS COMMAND...: its output in $out/last.txt; what fails, or takes longer, ends the script.
limited() {
    if ! timeout "$@" >"$out/last.txt" 2>"$out/last.err"; then
        printf '\nbench: this failed: %s\n' "${*:2}" >&2
        cat "$out/last.txt" "$out/last.err" >&2
        exit 1
    fi
}
