#!/bin/bash
# test_particles BIN - no particle is lost, momentum is conserved and all places are those of a serial
# run, on 1 to 9 processes, on each path, with few and many segments a rank; so in the two-model forms.
set -u
source "$(dirname "$0")/case_study.sh"

sizes=(--width 7 --height 5 --particles 90 --iterations 20)
forms particles "${sizes[@]}"
for ranks in 1 2 11; do # a rank's segments: 11 to 1
    passes 2 particles --width 16 --height 11 --particles 400 --iterations 20 --ranks $ranks
done
# Segments that no rank holds in shared memory.
passes 2 particles --width 60 --height 40 --particles 12000 --iterations 20 --ranks 2
paths 4 particles "${sizes[@]}" --ranks 2
paths 4 particles_net "${sizes[@]}"
# The smallest box: every segment is all others' neighbour, every cell its own neighbours' neighbour.
passes 1 particles --width 3 --height 3 --particles 20 --iterations 20
passes 3 particles --width 3 --height 1 --particles 7 --iterations 20 --seed 9 --repetitions 2
passes 3 particles_net --width 3 --height 1 --particles 7 --iterations 20 --seed 9

rejects particles 'the height is 3 at least' --height 1 --particles 2000000000
rejects particles '--width 2 has a value out of range' --width 2
helps particles --particles

finish
