# support/gpu_runs.sh - what tools/gpu-check, which sources it, runs: by its `run NAME SECONDS COMMAND...`, up to
# `jobs` at a time. `processes` on `gpus` GPUs are a job of several.

device_tests="barrier batch block_calls coll coll_sizes comm expose flush get glock gnotify half host_calls host_kernel host_ops host_window jobs large log
    many message message_calls mixed notify op pgas ptr put put_2d put_pieces runs small streaks task_calls task_copies task_rows team_memory timer trace update
    user_data wait_until wait_where warp window"

crowded_tests="put put_2d notify many mixed streaks order" # with 1024 threads a rank (tests/crowded)

# sanitized - the device tests under each tool on one process, and what goes between GPUs on two.
sanitized() {
    local tool test turn=0 at_a_time=$jobs
    local under="compute-sanitizer --error-exitcode 9 --report-api-errors no --tool"
    export WEFT_STALL_S=30
    jobs=1 # two processes that take turns with others, each on its GPU, wait for each other long
    for tool in memcheck racecheck synccheck; do
        for test in many mixed put notify wait_until ccl ccl_column; do
            run "$tool.$test.2" 100 $bin/weftrun -n 2 $under $tool $bin/tests/test_$test
        done
    done
    wait
    jobs=$at_a_time
    for tool in memcheck racecheck synccheck; do
        for test in many notify; do # by the ways of a traced job
            run "$tool.$test.traced" 100 env WEFT_TRACE="$out/$tool.$test.json" WEFT_TRACE_EVENTS=256 $under $tool \
                $bin/tests/test_$test
        done
        for test in $device_tests; do
            run "$tool.$test.1" 100 env WEFT_DEVICE_ID=$((turn++ % gpus)) $under $tool \
                $bin/tests/test_$test
        done
    done
}

# networks - the device tests over what joins hosts, the GPUs not mapped into each other; on as many
# pairs of GPUs at once as there are.
networks() {
    local test net here turn=0 pairs=$((gpus > 3 ? gpus / 2 : 1)) launch
    here=$(WEFT_DEVICE=cpu $bin/weft-info)
    for test in $device_tests; do
        for net in ofi mpi; do
            grep -q "^  $net *between" <<<"$here" || continue
            [ $test != runs ] || wait # it fills its GPUs: what runs beside it there would wait for it, and it for that
            launch=$bin/weftrun
            [ $net = ofi ] || launch=$under_mpi
            WEFT_NET=$net on_pair $((turn++ % pairs)) "$test.2.$net" $launch -n 2 $bin/tests/test_$test --path proxy
            [ $test != runs ] || wait
        done
    done
    wait
}

# shared - a few tests of processes that share a GPU and take turns of 2 ms; the rest runs under MPS, so
# that kernels run at once.
shared() {
    local test path
    [ "$processes" -le "$gpus" ] || for test in get mixed notify order put update window; do
        for path in direct proxy; do
            run "$test.$processes.$path.turns" 100 $bin/weftrun -n "$processes" $bin/tests/test_$test --path $path
        done
    done
    [ "$processes" -le "$gpus" ] ||
        run messages.$processes.turns 400 $bin/weftrun -n "$processes" $bin/tests/test_gpu_messages 1000
    wait
    trap mps_down EXIT
    mps_up || {
        echo "gpu-check: no nvidia-cuda-mps-control: processes on one GPU take turns, one run at a time"
        jobs=1
    }
}

# messages - between host programs, of all kinds of memory, by each copier; the applications over them; MPI's
# datatypes and collectives.
messages() {
    local copier app path test
    for copier in auto engine block; do
        run "messages.$copier.1" 300 env WEFT_MSG_COPIER=$copier $bin/tests/test_gpu_messages
        for path in direct proxy; do
            run "messages.$copier.$processes.$path" 300 env WEFT_MSG_COPIER=$copier WEFT_PATH=$path \
                $bin/weftrun -n "$processes" $bin/tests/test_gpu_messages
        done
    done
    run "messages.kept.$processes" 300 env WEFT_CUDA_KEEP=64M $bin/weftrun -n "$processes" $bin/tests/test_gpu_messages
    for test in device coll_device reduce_device; do
        run "mpi_$test.1" 60 $bin/tests/test_mpi_$test
        for path in direct proxy; do
            run "mpi_$test.$processes.$path" 100 env WEFT_PATH=$path $bin/weftrun -n "$processes" $bin/tests/test_mpi_$test
        done
    done
    for app in lbm md; do
        for path in direct proxy; do
            run "messages.$app.$path" 60 env WEFT_PATH=$path $bin/weftrun -n "$processes" $bin/${app}_msg_cuda --verify
        done
    done
}

# mixed_kinds - one process on a GPU and two on CPUs.
mixed_kinds() {
    local test path
    for test in coll get glock gnotify half host_ops host_window order pgas put task_calls task_copies task_rows team_memory update; do
        for path in auto proxy; do
            run "$test.units.$path" 60 env -u WEFT_DEVICE $bin/weftrun --units cuda:1,cpu:2 $bin/tests/test_$test --path $path
        done
    done
    run get.units 60 env -u WEFT_DEVICE $bin/weftrun --units cuda:1,cpu:2 $bin/get
    for test in onesided memalloc collectives teams locks 2014 tapi; do
        run "dart_$test.units" 60 env -u WEFT_DEVICE $bin/weftrun --units cuda:1,cpu:3 $bin/tests/dart_$test
    done
}

# on_pair PAIR NAME COMMAND... - a run that sees one pair of the GPUs.
on_pair() {
    local pair=$1 name=$2
    shift 2
    [ "$gpus" -le 3 ] || local -x CUDA_VISIBLE_DEVICES=${visible[2 * pair]},${visible[2 * pair + 1]}
    run "$name" 60 "$@"
}

# alone - what is one process, on all GPUs at once; the errors take longest and begin.
alone() {
    local test turn=0
    for test in ccl ccl_moe ccl_column ccl_graphs; do
        run $test.1 100 env WEFT_DEVICE_ID=0 $bin/tests/test_$test
    done
    run ccl_moe.wrong.1 100 env WEFT_DEVICE_ID=0 $bin/tests/test_ccl_moe --case wrong
    run ccl_faults 200 $bin/tests/test_ccl_faults 12
    run errors.1 300 env WEFT_DEVICE_ID=0 $bin/tests/test_errors
    run op_errors.1 200 env WEFT_DEVICE_ID=0 $bin/tests/test_op_errors
    run order.hosts.1 100 env WEFT_DEVICE_ID=0 $bin/tests/test_order --case hosts --ranks 52
    for test in $device_tests coll_errors full host_threads launch log_pipe order wrap; do
        run "$test.1" 100 env WEFT_DEVICE_ID=$((turn++ % gpus)) $bin/tests/test_$test
    done
    wait
}

# case_study APP PROCESSES SIZES... - weft's form on both paths, and the two-model forms that were built.
case_study() {
    local app=$1 n=$2 path variant
    shift 2
    for path in direct proxy; do
        run "$app.$n.$path" 60 env WEFT_PATH=$path $bin/weftrun -n $n $bin/$app --verify "$@"
    done
    # The serial run to compare with takes most of the time.
    run "$app.thesis.$n" 100 $bin/weftrun -n $n $bin/$app --preset thesis --verify \
        --iterations $([ $app = particles ] && echo 3 || echo 20)
    for variant in net_cuda nccl nvshmem; do
        [ -x $bin/${app}_$variant ] || continue
        [ $n -le "$gpus" ] || [ $variant = net_cuda ] || continue # these want a GPU each
        run "$app.$variant.$n" 30 $bin/weftrun -n $n $bin/${app}_$variant --verify "$@"
    done
    [ ! -x $bin/${app}_mpi_cuda ] ||
        run "$app.mpi_cuda.$n" 30 $under_mpi -n $n $bin/${app}_mpi_cuda --verify "$@"
}

# remote_gpus - programs over weft-gpud on this machine: unchanged ones, the conformance suite over the
# driver and over remote GPUs, two daemons (on one GPU, or one each), and all experiments, small ones.
remote_gpus() {
    [ -x $bin/weft-gpud ] || return 0
    run remote.check 300 tests/remote/test_gpu.sh build-gpu "$gpus"
    wait
    run remote.bench 900 bench/remote/run.sh -q -d cuda -b build-gpu
}

# queues - what ranks send by requests to a NIC in software: requests and completions in host and in device
# memory; beside direct puts, too. The NIC is the host, or blocks of the GPU.
queues() {
    local test place
    for test in batch get mixed notify op order put update window; do
        for place in hh hg gh gg; do
            run "$test.queue.$place" 60 env WEFT_GDA=softnic WEFT_GDA_PLACE=$place $bin/weftrun -n "$processes" \
                $bin/tests/test_$test --path queue
        done
        for place in hh hg gh gg; do
            run "$test.queue.nic.$place" 60 env WEFT_GDA=softnic WEFT_GDA_NIC=block WEFT_GDA_PLACE=$place \
                $bin/weftrun -n "$processes" $bin/tests/test_$test --path queue
        done
        run "$test.queue.nic.1" 60 env WEFT_GDA=softnic WEFT_GDA_NIC=block WEFT_GDA_PLACE=gg \
            WEFT_GDA_DEPTH=16 $bin/tests/test_$test --path queue
        run "$test.queue.1" 60 env WEFT_GDA=softnic $bin/tests/test_$test --path queue
        run "$test.queue.few" 60 env WEFT_GDA=softnic WEFT_GDA_DEPTH=16 $bin/weftrun -n "$processes" \
            $bin/tests/test_$test --path queue
        run "$test.queue.auto" 60 env WEFT_GDA=softnic $bin/weftrun -n "$processes" $bin/tests/test_$test --path auto
    done
    for place in 1 8; do # queues that ranks share
        run queue_shared.$place 60 env WEFT_GDA=softnic WEFT_GDA_NIC=block WEFT_GDA_PLACE=gg WEFT_GDA_QUEUES=$place \
            WEFT_GDA_DEPTH=16 $bin/tests/test_queue_shared --ranks 132 --path queue
    done
    wait # what fills its GPUs: another's service block would find no room
    for place in hh gg; do
        run runs.queue.$place 60 env WEFT_GDA=softnic WEFT_GDA_PLACE=$place $bin/weftrun -n 2 $bin/tests/test_runs --path queue
        wait
        run runs.queue.nic.$place 60 env WEFT_GDA=softnic WEFT_GDA_NIC=block WEFT_GDA_PLACE=$place $bin/tests/test_runs --path queue
        wait
    done
    run matrix_vector.queue 60 env WEFT_GDA=softnic WEFT_PATH=queue $bin/weftrun -n 2 $bin/matrix_vector \
        --vectors 20001 --batch 3K --verify
    wait
}

# tasks - the applications of tasks and of the address space. Recordings fill all GPUs of their job: two such
# jobs, each with one GPU, would wait for each other's.
tasks() {
    local n jobs=$jobs
    run stencil2d.units 60 env -u WEFT_DEVICE $bin/weftrun --units cuda:1,cpu:2 $bin/stencil2d --variant tasks --ratio 0.9 --verify
    # For seconds nothing comes to the GPU, whose place has no rows.
    run stencil2d.idle 60 env -u WEFT_DEVICE WEFT_CPU_WORKERS=1 $bin/weftrun --units cuda:1,cpu:1 $bin/stencil2d --variant tasks \
        --ratio 0 --slow 1:1000 --iterations 8 --verify
    run stencil2d.plan 60 env -u WEFT_DEVICE $bin/weftrun --units cuda:1,cpu:2 $bin/stencil2d --variant plan -N 2000 --verify
    run stencil2d_dart.units 60 env -u WEFT_DEVICE $bin/weftrun --units cuda:1,cpu:3 $bin/stencil2d_dart --first 150 --verify
    run stencil2d_dart.$processes 60 $bin/weftrun -n $processes $bin/stencil2d_dart --verify
    run cholesky.small 60 $bin/cholesky --order 600 --tile 32 --iterations 3 --verify
    run cholesky.large 100 $bin/cholesky --order 2000 --tile 256 --iterations 2 --verify
    for n in 1 $processes; do
        [ "$n" = 1 ] || { wait && jobs=1; }
        run "stencil2d.$n" 60 $bin/weftrun -n "$n" $bin/stencil2d --variant dynamic -N 300 --tile 64 --iterations 12 --verify
        run "stencil2d.plan.$n" 60 $bin/weftrun -n "$n" $bin/stencil2d --variant plan -N 300 --tile 64 --iterations 13 --verify
        run "stencil2d.tasks.$n" 60 $bin/weftrun -n "$n" $bin/stencil2d --variant tasks -N 300 --tile 64 --iterations 13 --verify
        run "task_record.$n" 100 $bin/weftrun -n "$n" $bin/tests/test_task_record
        run "task_record.$n.proxy" 100 $bin/weftrun -n "$n" $bin/tests/test_task_record --path proxy
        run "task_recordings.$n" 60 $bin/weftrun -n "$n" $bin/tests/test_task_recordings
        run "task_pause.$n" 60 $bin/weftrun -n "$n" $bin/tests/test_task_pause
        run "uts.$n" 60 $bin/weftrun -n "$n" $bin/uts --depth 6 --verify
    done
    wait
}

parity() {
    for test in $device_tests; do
        [ $test != runs ] || continue # below, alone
        for path in direct proxy; do
            run "$test.$processes.$path" 60 $bin/weftrun -n "$processes" $bin/tests/test_$test --path $path
        done
    done
    for test in order full wrap; do
        for path in direct proxy auto; do
            run "$test.$processes.$path" 100 $bin/weftrun -n "$processes" $bin/tests/test_$test --path $path
        done
    done
    for test in order mixed; do # by the ways of a traced job
        run "$test.$processes.traced" 100 env WEFT_TRACE="$out/$test.json" WEFT_TRACE_EVENTS=256 \
            $bin/weftrun -n "$processes" $bin/tests/test_$test --path auto
    done
    for test in ccl ccl_moe ccl_column; do
        run $test.$processes 60 $bin/weftrun -n "$processes" $bin/tests/test_$test
        run $test.$processes.wrap 60 env WEFT_COUNTER_START=4294967290 $bin/weftrun -n "$processes" $bin/tests/test_$test
        for words in 0 1048576; do # by pieces alone, and by words alone
            run $test.$processes.$words 60 env WEFT_CCL_WORDS=$words $bin/weftrun -n "$processes" $bin/tests/test_$test
        done
    done
    run ccl_moe.wrong.$processes 60 $bin/weftrun -n "$processes" $bin/tests/test_ccl_moe --case wrong
    for path in direct proxy; do # 26 messages from each rank to every other at once
        run "neighbours.$processes.$path" 60 $bin/weftrun -n "$processes" $bin/tests/test_neighbours --ranks 8 --path $path
    done
    for test in order mixed; do # all that comes through the host by the stream
        run "$test.$processes.lane" 100 env WEFT_CUDA_LOTS=0 $bin/weftrun -n "$processes" $bin/tests/test_$test --path proxy
    done
    for test in $crowded_tests; do
        run "$test.1024.1" 100 $bin/tests/test_${test}_1024 --threads 1024
        for path in direct auto; do
            run "$test.1024.$processes.$path" 100 $bin/weftrun -n "$processes" \
                $bin/tests/test_${test}_1024 --threads 1024 --path $path
        done
    done
    wait
    jobs=1 # what follows takes all of a GPU, or is killed
    run experts.$processes 60 $bin/weftrun -n "$processes" $bin/experts --verify
    run ccl_graphs.$processes 100 $bin/weftrun -n "$processes" $bin/tests/test_ccl_graphs
    run ccl_graphs.$processes.lose 60 bash -c '$1 -n $2 $3 lose 2>&1 | tee /dev/stderr |
        grep -q "the stream has ended: .*process $(($2 - 1)).* lost"' - $bin/weftrun "$processes" $bin/tests/test_ccl_graphs
    for path in direct proxy; do
        run "runs.$processes.$path" 60 $bin/weftrun -n "$processes" $bin/tests/test_runs --path $path
    done
    for path in direct proxy auto; do
        run "launch.$processes.$path" 100 $bin/weftrun -n "$processes" $bin/tests/test_launch --path $path
    done
    run host_window.1 60 env WEFT_DEVICE=auto $bin/host_window # has no kernel
    run host_window.$processes 60 env WEFT_DEVICE=auto $bin/weftrun -n "$processes" $bin/host_window
    for example in ring reduction reduction_two_level halo get host_and_kernel collectives; do
        run "$example.1" 60 $bin/$example
        run "$example.$processes" 60 $bin/weftrun -n "$processes" $bin/$example
    done
    for program in tests/test_gaspi_kernel gaspi_stencil; do
        for n in 1 $processes; do
            run "gaspi.${program##*_}.$n" 60 $bin/weftrun -n "$n" $bin/$program
        done
        run "gaspi.${program##*_}.$processes.proxy" 60 env WEFT_PATH=proxy $bin/weftrun -n "$processes" $bin/$program
    done
    for mode in "-s" "-p 0.85"; do
        run "power$mode.1" 60 $bin/power_iteration -m data/debian-depends.mtx $mode
        for path in direct proxy; do
            run "power$mode.$processes.$path" 60 env WEFT_PATH=$path $bin/weftrun -n "$processes" \
                $bin/power_iteration -m data/debian-depends.mtx $mode
        done
    done
    # The case studies and their two-model forms, at sizes that no number of ranks divides.
    declare -A sizes=([stencil]="--nx 100 --rows 77 --nz 7 --iterations 31"
        [particles]="--width 50 --height 40 --particles 5000 --iterations 20"
        [spmv]="--rows 1777 --nonzeros 9000 --iterations 7"
        [power_iteration]="--rows 1777 --nonzeros 9000 --iterations 21")
    for app in stencil particles spmv power_iteration; do
        for n in 1 2 4; do
            [ $n -gt "$processes" ] || case_study $app $n ${sizes[$app]}
        done
    done
    for n in 1 $processes; do # segments that no rank holds in shared memory
        run "particles.many.$n" 60 $bin/weftrun -n "$n" $bin/particles --verify --width 60 --height 40 \
            --particles 12000 --iterations 20 --ranks 2 --threads 576
    done
    run stencil.planes.$processes 60 $bin/weftrun -n "$processes" $bin/stencil --verify ${sizes[stencil]} \
        --message-a-plane 1
    for n in 1 $processes; do
        run "spmv.debian.$n" 60 $bin/weftrun -n "$n" $bin/spmv --matrix data/debian-depends.mtx --verify
    done
}

# from_python - torch's tensors, by the wheel, where there is torch: beside NCCL, where each process has a GPU.
from_python() {
    local site=$out/python device
    [[ torch.2.cuda =~ $pattern || torch.2.auto =~ $pattern ]] || return 0
    python3 -c 'import torch' 2>"$out/python.log" || {
        echo "gpu-check: left out: weft from Python, since there is no torch: $(tail -1 "$out/python.log")"
        return
    }
    rm -rf "$site" && python3 -m zipfile -e build-gpu/python/*.whl "$site"
    for device in cuda ""; do # "": what weft.Group takes by itself
        run torch.2.${device:-auto} 300 env -u WEFT_DEVICE ${device:+WEFT_DEVICE=$device} PYTHONPATH="$site" \
            python3 -m torch.distributed.run --standalone --nproc-per-node 2 tests/python/with_torch.py
    done
    wait
    grep -h '^skipped' "$out"/torch.2.*.log | sort -u
}
