#!/usr/bin/env python3
"""held.py BUILD [SECONDS [LOAD [SEED]]] - the suite's jobs on a machine that does much else.

LOAD busy loops run at the usual priority (50 unless said), in one session with all else, as the
system may share the processors out by sessions. Meanwhile jobs of several processes, those
that ctest runs by weftrun and that are right, go on, six at a time. Again and again one thread of
one of their processes, or a whole process, is stopped for 5 s, as a scheduler might: so no job may
fail, or be ended for a wait. Prints each job that was, and at the end how many ran. Linux only.
"""
import ctypes
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

HOLD_S, EVERY_S, JOBS, HANGS_S = 5, 1, 6, 1800
SEIZE, INTERRUPT, DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p]

# Errors that are meant, jobs that end processes themselves, and those that are long without any load.
EXCEPT = re.compile(r"error|failed|refused|test_stop|late_task_calls|--scale", re.I)

VERDICTS = re.compile("WEFT_ERR_(MISMATCH|PEER_LOST|DEADLOCK)")


def suite(build):
    """The commands of jobs whose program is built."""
    text = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout
    jobs = []
    for test in json.loads(text)["tests"]:
        command = test.get("command", [])
        folder = "".join(p["value"] for p in test["properties"] if p["name"] == "WORKING_DIRECTORY")
        programs = [os.path.join(folder, word) for word in command if "bin/" in word]
        if (any(word.endswith("bin/weftrun") for word in command) and all(map(os.path.exists, programs))
                and not EXCEPT.search(test["name"] + " ".join(command))):
            jobs.append((test["name"], command, folder))
    return jobs


def children(pid):
    """All processes below this one."""
    found = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children") as file:
                for child in file.read().split():
                    found += [int(child)] + children(int(child))
    except OSError:
        pass
    return found


def hold(pid, whole):
    """Stops a process, or one of its threads. The process that does so."""
    holder = os.fork()
    if holder != 0:
        return holder
    try:
        if whole:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(HOLD_S)
            os.kill(pid, signal.SIGCONT)
        else:
            thread = int(random.choice(os.listdir(f"/proc/{pid}/task")))
            if libc.ptrace(SEIZE, thread, None, None) == 0:
                libc.ptrace(INTERRUPT, thread, None, None)
                os.waitpid(thread, WALL)
                time.sleep(HOLD_S)
                libc.ptrace(DETACH, thread, None, None)
    except (OSError, IndexError):
        pass  # it has ended
    os._exit(0)


class Job:
    """One that runs."""

    def __init__(self, name, command, folder):
        self.name, self.output, self.started = name, tempfile.TemporaryFile(), time.time()
        # Holds of the others add up: waits for them are long.
        environment = dict(os.environ, WEFT_CONNECT_S="600", WEFT_TIMEOUT_S="1200")
        self.child = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                      stdout=self.output, stderr=subprocess.STDOUT,
                                      preexec_fn=os.setpgrp)

    def wrong(self):
        """What is; None: nothing. It has ended, or hangs."""
        self.output.seek(0)
        text = self.output.read().decode(errors="replace")
        status = self.child.returncode
        if status == 0 and not VERDICTS.search(text):
            return None
        what = f"status {status}" if status is not None else "hangs"
        took = time.time() - self.started
        return f"{self.name}: {what} after {took:.0f} s\n{text[:2000]}\n...\n{text[-1000:]}"


def main():
    build = os.path.abspath(sys.argv[1])
    seconds, load, seed = (int(w) for w in (sys.argv[2:] + ["1800", "50", "1"][len(sys.argv) - 2:]))
    random.seed(seed)
    jobs, running, ran, holds, wrong = suite(build), [], 0, 0, 0
    burners, holders = [], []
    for _ in range(load):
        burners.append(os.fork())
        if burners[-1] == 0:
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
            while True:
                pass
    end = time.time() + seconds
    print(f"{len(jobs)} jobs, {seconds} s, load {load}, seed {seed}", flush=True)
    while running or time.time() < end:
        while len(running) < JOBS and time.time() < end:
            running.append(Job(*random.choice(jobs)))
        time.sleep(EVERY_S)
        for job in running[:]:
            hangs = time.time() - job.started > HANGS_S
            if job.child.poll() is None and not hangs:
                continue
            running.remove(job)
            ran += 1
            if ran % 25 == 0:
                print(f"{ran} jobs, {holds} holds, {seconds - end + time.time():.0f} s", flush=True)
            what = job.wrong()
            if what is not None:
                wrong += 1
                print(what, flush=True)
            if hangs:
                os.killpg(job.child.pid, signal.SIGKILL)
        holders = [pid for pid in holders if os.waitpid(pid, os.WNOHANG)[0] == 0]
        while time.time() >= end and burners:  # what still runs comes to its end
            os.kill(burners.pop(), signal.SIGKILL)
        if time.time() < end and running:
            below = children(random.choice(running).child.pid)
            if below:
                holders.append(hold(random.choice(below), random.random() < 0.5))
                holds += 1
    print(f"{ran} jobs ran, {holds} holds, {wrong} went wrong", flush=True)
    return wrong != 0


sys.exit(main())
