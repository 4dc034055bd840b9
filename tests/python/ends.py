"""How a job of Python's ends when process 0 does this in the middle: its argument. The others print what they learn
of that."""
import array
import os
import signal
import sys
import time

import weft

how, x = sys.argv[1], array.array("f", [1] * 4)
group = weft.Group("cpu")
group.allreduce(x)
if how == "within":
    try:
        with group:
            if group.me == 0:
                raise KeyError("no luck")
            group.allreduce(x)
    except (KeyError, weft.Error) as error:
        print(f"{type(error).__name__} {error}", flush=True)
    sys.exit(0)
if group.me == 0:
    if how == "raise":
        raise KeyError("no luck")
    if how == "exit":
        sys.exit(3)
    if how == "kill":
        os.kill(os.getpid(), 9)
if how == "stopped":  # process 2 hears of a group of process 1 when that has freed all of it
    pids = array.array("q", [0] * group.members)
    group.allgather(array.array("q", [os.getpid()]), pids)
    part = group.split(group.me)
    group.barrier()
    if group.me == 1:
        os.kill(pids[2], signal.SIGSTOP)
        for _ in range(3):
            again = weft.Group(_job=part._job, _comm=part._comm.value)
            again._comm.value = weft._HOST  # the group of processes stays
            again.close()
        os.kill(pids[2], signal.SIGCONT)
    group.allreduce(x)
if how == "late" and group.me == 1:
    time.sleep(0.3)
if how == "fork":
    child = os.fork()
    if child == 0:
        sys.exit(0)  # what is open is the parent's
    os.waitpid(child, 0)
    group.allreduce(x)
if how in ("raise", "exit", "kill"):
    try:
        group.allreduce(x)
    except weft.Error as error:
        print(f"status {error.status}: {error}", flush=True)
        os._exit(0)
print("the end", flush=True)
