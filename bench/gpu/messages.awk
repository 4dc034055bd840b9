# bench/gpu/messages.awk - messages of host programs: a line a setting, a column a size; the ratios that
# docs/results/gpu-layers.md speaks of. A part of table.awk. All other sizes are in raw.csv.
function message_tables()
{
    if (!("messages" in seen))
        return
    print "messages of host programs. Host memory: weft, as malloc gives it; registered: by the program; part: its first"
    print "page is; kept: registered by weft (WEFT_CUDA_KEEP). ucx: its own memory, which it registers first; heap:"
    print "malloc's; bare: malloc's, never registered. engine, block: the copier; rendezvous: nothing goes at once"
    message_form("us one way", "host_device device", "us", "8 64 1024 4096 8192 32768 65536 524288 1048576 4194304")
    message_form("million messages a second, windows of 64", "host_device_rate device_host_rate device_rate", "M/s",
        "8 1024 8192 65536 1048576")
    message_form("us a call, of 4 and 8 processes on GPU memory", "gather4 gather8 allgather4 allgather8 alltoall4 alltoall8",
        "us", "8 64 1024 4096 16384 65536")
    message_apps()
    print ""
}

function message_at(form, bytes, unit, name)
{
    return median("messages," form "," bytes ",0," unit ",1," name)
}

function message_form(title, forms, unit, sizes,    form, size, f, s, i)
{
    f = split(forms, form, " ")
    s = split(sizes, size, " ")
    printf "%s\n%-29s", title, "bytes"
    for (i = 1; i <= s; i++)
        printf " %7s", size[i]
    print ""
    for (i = 1; i <= f; i++)
        message_lines(form[i], unit, size, s)
}

# Of each setting that has it; then what weft takes of UCX with memory alike.
function message_lines(form, unit, size, s,    name, of, n, i)
{
    n = split("weft registered part kept engine block rendezvous ucx ucx_heap ucx_bare", name, " ")
    for (i = 1; i <= n; i++)
        message_line(form " " name[i], form, unit, size, s, name[i], "")
    n = split("weft:ucx registered:ucx kept:ucx_heap weft:ucx_bare", name, " ")
    for (i = 1; i <= n; i++) {
        split(name[i], of, ":")
        if (of[1] == "weft" || form ~ /host/)
            message_line("  " of[1] "/" of[2], form, unit, size, s, of[1], of[2])
    }
}

function message_line(label, form, unit, size, s, name, of,    i, line, x, any)
{
    for (i = 1; i <= s; i++) {
        x = message_at(form, size[i], unit, name)
        x = of == "" ? cell(x) : quotient(x, message_at(form, size[i], unit, of))
        any = any || x != "-"
        line = line sprintf(" %7s", x)
    }
    if (any)
        printf "%-29s%s\n", label, line
}

function message_apps(    name, app, n, a, i, k)
{
    n = split("weft rendezvous mpi", name, " ")
    a = split("lbm_thesis lbm_small md_thesis md_small", app, " ")
    printf "%-29s lbm, lbm small, md, md small\n", "us a step"
    for (i = 1; i <= n; i++) {
        printf "%-29s", name[i]
        for (k = 1; k <= a; k++)
            printf " %7s", cell(message_at(app[k], 0, "us", name[i]))
        print ""
    }
}
