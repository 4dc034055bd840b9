# support/page.sh - results that go into a page; sourced before begin.sh: takes [--page FILE] off the
# arguments. into_page FOLDER puts its machine.txt and tables.md between the page's lines "<!-- tables -->"
# and "<!-- end of tables -->", if there is a page.
page=
if [ "${1:-}" = --page ]; then
    page=$(realpath "$2")
    grep -q '^<!-- tables -->' "$page"
    shift 2
fi
into_page() {
    local made
    [ -n "$page" ] || return 0
    made=$(mktemp)
    {
        sed '/^<!-- tables -->/q' "$page"
        printf '```\n%s\n```\n\n' "$(cat "$1/machine.txt")"
        cat "$1/tables.md"
        sed -n '/^<!-- end of tables -->/,$p' "$page"
    } >"$made"
    cat "$made" >"$page"
    rm "$made"
}
