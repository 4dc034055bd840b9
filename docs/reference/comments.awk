# What doxygen reads of a file. Of a header: comments before a declaration, those behind one on its
# line, and the first one, which is the file's. Of a document: this folder's first page is README.md.
FILENAME ~ /\.md$/ {
    if (FNR == 1 && FILENAME ~ ("^" ENVIRON["PWD"] "/README.md$"))
        $0 = $0 " {#mainpage}"
    print
    next
}
FNR == 1 && /^\/\*$/ { print "/**"; print " * \\file"; next }
/^ *\/\* -----/ { print; next }
/^ *\/\*($| )/ { sub(/\/\*/, "/**") }
/[;,}] *\/\* / { sub(/\/\* /, "/**< ") }
{ print }
