# support/pgas_cpu.sh - what bench/pgas.sh, which sources it, measures on the CPU device.

cpu_memory() {
    local n form
    for n in 1 2 4 8 16; do
        measure local $n env WEFT_HEAP=64M "${weftrun[@]}" $n "$bin/bench_alloc" --form local --from 64 --to 16777216 --repeats 20000
        measure team $n env WEFT_HEAP=64M "${weftrun[@]}" $n "$bin/bench_alloc" --form team --from 64 --to 16777216 --repeats 200
    done
    measure local kernel env WEFT_RANKS=16 "${weftrun[@]}" 1 "$bin/bench_alloc" --form kernel --from 64 --to 4194304 --repeats 2000
    measure local malloc "$bin/bench_alloc" --form malloc --from 64 --to 16777216 --repeats 2000
    for form in local malloc weft_malloc; do
        measure native $form "$bin/bench_alloc" --form $form --from 64 --to 16777216 --repeats 500
    done
}

cpu_access() {
    local form sizes=(--from 8 --to 16777216 --repeats 2000)
    for form in rank_get rank_put host_get host_put handle_get handle_put memcpy; do
        measure direct $form env WEFT_PATH=direct "${weftrun[@]}" 2 "$bin/bench_get" --form $form "${sizes[@]}"
    done
    for form in host_get host_put; do
        measure direct "$form own" "${one[@]}" "$bin/bench_get" --form $form "${sizes[@]}"
    done
    for form in rank_get rank_put host_get host_put; do
        measure proxy $form env WEFT_PATH=proxy "${weftrun[@]}" 2 "$bin/bench_get" --form $form "${sizes[@]}"
    done
    [ ! -x "$bin/mpi_rma" ] || for form in get put; do
        measure direct "mpi $form" "${ompi[@]}" "$bin/mpi_rma" --form $form "${sizes[@]}"
    done
    # Figure 12: the same puts, of rows of N doubles.
    awk -F, -v OFS=, -v r="$round" '$3 == r && $4 >= 4096 && $4 <= 262144 && $2 ~ /^host_put/ {
        if ($1 == "direct") print "row", $2, r, $4 / 8, $5
        if ($1 == "proxy") print "row", "proxy", r, $4 / 8, $5 }' "$out/raw.csv" >"$out/last.txt"
    cat "$out/last.txt" >>"$out/raw.csv"
}

cpu_tasks() {
    local form n way times variant
    for form in indexed host spawn recorded; do
        empty $form "$bin/bench_tasks" --form $form --repeats 200000
    done
    [ -z "$starpu" ] ||
        figure task starpu host '^empty starpu: \([0-9.]*\).*' env STARPU_SILENT=1 "$bin/stencil2d_starpu" --empty 100000
    for n in 500 1000 2000 4000; do
        iteration plate omp $n "$bin/stencil2d" --variant omp -N $n --iterations 40
        iteration plate ranks $n "$bin/stencil2d" --variant ranks -N $n --iterations 40
        iteration plate tasks $n "$bin/stencil2d" --variant tasks -N $n --iterations 40
        iteration plate rows $n "$bin/stencil2d" --variant tasks -N $n --way 40 --iterations 40
        [ -z "$starpu" ] ||
            iteration plate starpu $n env STARPU_SILENT=1 "$bin/stencil2d_starpu" -N $n --way 40 --iterations 40
        iteration plate dart $n env WEFT_HEAP=1G "$bin/stencil2d_dart" --N $n --calls 40 --iterations 40
    done
    for n in 32 64 256; do
        iteration factor weft $n "$bin/cholesky" --order 2048 --tile $n --iterations 3
        [ -z "$starpu" ] ||
            iteration factor starpu $n env STARPU_SILENT=1 "$bin/cholesky_starpu" --order 2048 --tile $n --iterations 3
    done
    n=4000
    for times in 4 9; do
        iteration slow even $times env WEFT_CPU_WORKERS=1 "${weftrun[@]}" 2 "$bin/stencil2d" --variant static -N $n --way 40 --iterations 40
        for variant in static dynamic plan; do
            iteration slow $variant $times env WEFT_CPU_WORKERS=1 "${weftrun[@]}" 2 "$bin/stencil2d" --variant $variant -N $n --way 40 --slow 1:$times --iterations 40
        done
    done
    for n in 1000 4000; do
        for way in 5 10 20; do
            iteration imbalance alone "$n-$way" env WEFT_STEAL=off WEFT_CPU_WORKERS=1 "${weftrun[@]}" 2 "$bin/stencil2d" --variant imbalance -N $n --way $way --iterations 40
            iteration imbalance imbalance "$n-$way" env WEFT_CPU_WORKERS=1 "${weftrun[@]}" 2 "$bin/stencil2d" --variant imbalance -N $n --way $way --iterations 40
        done
    done
}

cpu_round() {
    cpu_memory
    cpu_access
    cpu_tasks
}
