"""The mean of one number from each process, in Python: weftrun -n 3 python3 mean.py"""
import sys

import numpy
import weft

with weft.Group() as group:
    mine = numpy.array([group.me + 1.0, 1.0])
    group.allreduce(mine)  # in place: the sum, and how many
    mean = mine[0] / mine[1]

    all_of_them = numpy.empty(group.members)
    group.allgather(numpy.array([mean]), all_of_them)
    if group.me == 0:
        print(f"the mean of {group.members} numbers is {mean}")
    if (all_of_them != (group.members + 1) / 2).any():
        sys.exit(f"wrong: {all_of_them}")
