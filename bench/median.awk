# bench/median.awk - list[1 .. n], sorted, and its median. A table sets n to 0 and keeps what it has.
function keep(x,    i) {
    for (i = ++n; i > 1 && list[i - 1] > x; i--)
        list[i] = list[i - 1]
    list[i] = x
}

# "" of nothing.
function middle() {
    return n == 0 ? "" : (list[int((n + 1) / 2)] + list[int(n / 2) + 1]) / 2
}
