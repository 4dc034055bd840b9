#!/usr/bin/env bash
# test_messages_table.sh - the table of messages that tools/gpu-bench prints at its end (bench/gpu/messages.awk),
# out of lines as the runs write them: medians of rounds, ratios, nothing of what was not run, and all of it in
# 8,000 characters.
set -euo pipefail
cd "$(dirname "$0")/../.."
raw=$(mktemp)
trap 'rm -f "$raw"' EXIT

table() {
    awk -f bench/median.awk -f bench/gpu/table.awk -f bench/gpu/queue.awk -f bench/gpu/messages.awk "$raw"
}

# has LINE - spaces stand for any number of them.
has() {
    table | tr -s ' ' | grep -qxF -- "$1" || { echo "FAILED: no line \"$1\" in:" && table && exit 1; }
}

echo "where,round,name,kind,bytes,threads,value,unit,ranks" >"$raw"
for round in 1 2 3; do
    {
        echo "messages,$round,weft,host_device,8,0,$((round * 2)),us,1"
        echo "messages,$round,ucx,host_device,8,0,8,us,1"
        echo "messages,$round,registered,host_device,1048576,0,30,us,1"
        echo "messages,$round,ucx,host_device,1048576,0,40,us,1"
        echo "messages,$round,ucx,device_host_rate,8192,0,0.25,M/s,1"
        echo "messages,$round,mpi,lbm_small,0,0,73.7,us,1"
    } >>"$raw"
done
has "host_device weft 4 - - - - - - - - -"
has "host_device registered - - - - - - - - 30 -"
has " weft/ucx 0.50 - - - - - - - - -"
has " registered/ucx - - - - - - - - 0.75 -"
has "device_host_rate ucx - - 0.25 - -"
has "mpi - 73.7 - -"
if table | grep -q "kept/\|^device \|^gather4"; then
    echo "FAILED: lines of what was not run" && table && exit 1
fi
for form in host_device device; do
    for name in weft registered part kept engine block rendezvous ucx ucx_heap ucx_bare; do
        for bytes in 8 64 1024 4096 8192 32768 65536 524288 1048576 4194304; do
            echo "messages,1,$name,$form,$bytes,0,123.456,us,1"
            echo "messages,1,$name,${form}_rate,$bytes,0,0.123456,M/s,1"
            echo "messages,1,$name,${form}_host_rate,$bytes,0,0.123456,M/s,1"
        done
    done
done >>"$raw"
for form in gather allgather alltoall; do
    for bytes in 8 64 1024 4096 16384 65536; do
        printf 'messages,1,%s,%s,%d,0,1234.5,us,1\n' weft ${form}4 $bytes weft ${form}8 $bytes rendezvous ${form}4 $bytes \
            rendezvous ${form}8 $bytes
    done
done >>"$raw"
characters=$(table | wc -c)
[ "$characters" -le 8000 ] || { echo "FAILED: the table has $characters characters" && exit 1; }
echo "all good"
