#!/bin/sh
# support/bound.sh CORES PROGRAM...: a process of a job of weftrun or of MPICH's mpirun, with all its
# threads, on one of the cores (separated by commas): the first on the first.
cores=$1
shift
exec taskset -c "$(echo "$cores" | cut -d , -f $((${WEFT_PROCESS:-$PMI_RANK} + 1)))" "$@"
