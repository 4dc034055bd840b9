"""weft-gdb.py - which ranks wait, for what, and where: for gdb, which does not know fibers.

    gdb -batch -p PID -x weft-gdb.py -ex 'weft ranks'
    gdb -batch PROGRAM CORE -x weft-gdb.py -ex 'weft ranks'

Lists each rank of the process, with its wait and the files and lines of its stack; `weft ranks 3`
only rank 3. It reads memory alone and calls nothing in the process.

How: a rank that gave up its turn has left its registers on its own stack (src/base/fiber_machine.h).
An unwinder tells gdb that they are those of the caller of the present thread's innermost frame.
"""
import gdb
import gdb.unwinder

# The registers that a switch leaves, as offsets from the saved stack pointer, and how far that lies
# below the stack pointer of the function that called the switch.
SAVED = {
    "i386:x86-64": (64, "rsp", "rip",
                    {"r15": 8, "r14": 16, "r13": 24, "r12": 32, "rbx": 40, "rbp": 48, "rip": 56}),
    "aarch64": (176, "sp", "pc",
                dict([("x%d" % (19 + i), 8 * i) for i in range(10)], x29=80, x30=88, pc=88)),
}

WAITS = {
    "TAG": "in weft_wait for tag {a}: has {have} of {need} notifications",
    "UNTIL": "in weft_wait_until at {a:#x}: {have} is there, compared with {need}",
    "BARRIER": "in a barrier of {comm}",
    "ENTER": "in weft_enter",
    "LEAVE": "in weft_leave",
    "SPACE": "for room in its ring",
    "LOCAL": "in weft_flush_local",
    "REMOTE": "in a flush, for process {a}",
    "EAGER": "for the other end of an eager channel, in process {a}",
    "ANSWER": "for an answer of process {a}: has {have} of {need}",
    "REPLY": "in collective operation {a} of {have:#x}",
    "PROCESS": "for process {a}",
    "EXPOSED": "for memory that process {a} exposes",
    "QUEUE": "for its queue to process {a}: {have} slots under way",
    "MESSAGE": "for message {a}",
    "TASKS": "for tasks",
}
COMMS = {0x40000001: "WEFT_COMM_WORLD", 0x40000002: "WEFT_COMM_DEVICE", 0x40000003: "WEFT_COMM_HOST"}

# Frames that hold no news: how a wait gives up its turn, and how a rank begins.
SWITCHING = ("weft_context_switch", "weft_fiber_switch", "give_turn", "weft_team_rest", "give_way",
             "weft_fiber_jump")
BEGINNING = ("rank_main", "fiber_main", "weft_fiber_entry", "thread_main", "start_thread")


class Jump(gdb.unwinder.Unwinder):
    """Puts a fiber's frames behind the innermost frame of the selected thread."""

    def __init__(self):
        super().__init__("weft fibers")
        self.saved = None

    def __call__(self, pending):
        if self.saved is None or int(pending.read_register(self.sp)) != self.top:
            return None
        info = pending.create_unwind_info(FrameId(self.saved, int(pending.read_register(self.pc))))
        word = gdb.lookup_type("unsigned long").pointer()
        for name, offset in self.offsets.items():
            value = gdb.Value(self.saved + offset).cast(word).dereference()
            info.add_saved_register(name, value.cast(pending.read_register(name).type))
        sp = gdb.Value(self.saved + self.below).cast(pending.read_register(self.sp).type)
        info.add_saved_register(self.sp, sp)
        return info

    def frames(self, saved):
        """The frames of the fiber whose stack pointer was saved, innermost first."""
        frame = gdb.newest_frame()
        machine = frame.architecture().name()
        if machine not in SAVED:
            return ["(stacks are read on x86-64 and aarch64, not on %s)" % machine]
        self.below, self.sp, self.pc, self.offsets = SAVED[machine]
        self.top = int(frame.read_register(self.sp))
        self.saved = saved
        gdb.invalidate_cached_frames()
        try:
            frame = gdb.newest_frame()
            while frame.type() == gdb.INLINE_FRAME:
                frame = frame.older()
            return stack(frame.older())
        finally:
            self.saved = None
            gdb.invalidate_cached_frames()


class FrameId:
    def __init__(self, sp, pc):
        self.sp = gdb.Value(sp)
        self.pc = gdb.Value(pc)


def stack(frame):
    """Lines "function at file:line" from a frame outwards."""
    lines = []
    while frame is not None and frame.is_valid() and len(lines) < 64:
        name = frame.name()
        if name in BEGINNING:
            break
        if name not in SWITCHING:
            place = frame.find_sal()
            where = "%s:%d" % (place.symtab.filename, place.line) if place.symtab else "(no line)"
            lines.append("%s at %s" % (name or hex(frame.pc()), where))
        frame = frame.older()
    return lines


def waits(job, slot):
    """What a slot waits for, in words; None: it does not wait."""
    wait = job["ranks"]["selves"][slot]["waiting"].dereference()
    values = {name: int(wait[name]) for name in ("a", "have", "need")}
    for field in gdb.lookup_type("enum weft_wait_kind").fields():
        if field.enumval == int(wait["kind"]):
            kind = field.name[len("WEFT_WAIT_"):]
    comm = values["a"] & 0xffffffff
    values["comm"] = COMMS.get(comm, "communicator %#x" % comm)
    if kind in WAITS:
        return "waits " + WAITS[kind].format(**values)
    return {"NO_MORE": "has ended its kernel", "STOPPED": "was ended: the job has failed"}.get(kind)


def threads():
    """(thread, its stack pointer) of each thread of the process."""
    before = gdb.selected_thread()
    found = []
    for thread in sorted(gdb.selected_inferior().threads(), key=lambda t: t.num):
        thread.switch()
        frame = gdb.newest_frame()
        name = "rsp" if frame.architecture().name().startswith("i386") else "sp"
        found.append((thread, int(frame.read_register(name))))
    before.switch()
    return found


def on_thread(fiber, all_threads):
    """The stack of a fiber that runs; None: it does not."""
    low = int(fiber["stack"])
    for thread, sp in all_threads:
        if low <= sp < low + int(fiber["stack_bytes"]):
            before = gdb.selected_thread()
            thread.switch()
            lines = stack(gdb.newest_frame())
            before.switch()
            return lines
    return None


def fibers(port):
    """(title, fiber) of each thread of a rank."""
    if int(port["team"]) == 0:
        return [("", port["fiber"])]
    # Host programs' teams have the same name for their type: the one of src/device/cpu/team.c.
    file = gdb.block_for_pc(int(gdb.parse_and_eval("(unsigned long)&weft_team_rest")))
    team = port["team"].cast(gdb.lookup_type("struct weft_thread_team", file).pointer()).dereference()
    return [("thread %d" % t, team["thread"][t]["fiber"])
            for t in range(int(team["threads"])) if not team["thread"][t]["ended"]]


def host_stacks(all_threads):
    """Stacks of threads that are the program's own."""
    found = []
    before = gdb.selected_thread()
    for thread, _ in all_threads:
        thread.switch()
        frame, outermost = gdb.newest_frame(), None
        ours = False
        while frame is not None:
            place = frame.find_sal()
            ours = ours or (frame.name() == "thread_main" and place.symtab is not None and
                            place.symtab.filename.endswith("base/task.c"))
            frame = frame.older()
        if not ours:
            found.append(("thread %d" % thread.num, stack(gdb.newest_frame())))
    before.switch()
    return found


class Weft(gdb.Command):
    """weft: what weft knows of this process. `weft ranks [RANK]` lists its ranks."""

    def __init__(self):
        super().__init__("weft", gdb.COMMAND_STACK, prefix=True)


class Ranks(gdb.Command):
    """weft ranks [RANK]: what each rank waits for, with its stack."""

    def __init__(self):
        super().__init__("weft ranks", gdb.COMMAND_STACK)
        self.jump = Jump()
        gdb.unwinder.register_unwinder(None, self.jump, replace=True)

    def show(self, name, wait, stacks):
        print("%s: %s" % (name, wait or "does not wait"))
        for title, lines in stacks:
            if title:
                print("  %s" % title)
            for line in lines:
                print("    %s" % line)

    def rank(self, job, slot, all_threads):
        port = job["ranks"]["selves"][slot]["port"]
        stacks = []
        for title, fiber in fibers(port):
            if int(job["ranks"]["image"]) != 0 or int(fiber) == 0:
                stacks.append((title, ["(it runs on a GPU, or in random mode: no stack here)"]))
                continue
            lines = on_thread(fiber, all_threads)
            if lines is None and not port["ended"]:
                lines = self.jump.frames(int(fiber["context"]["stack"]))
            stacks.append((title, lines or []))
        return stacks

    def invoke(self, argument, from_tty):
        if gdb.selected_thread() is None:
            raise gdb.GdbError("weft ranks: no process, and no core")
        symbol = gdb.lookup_static_symbol("weft_watched")
        if symbol is None:
            raise gdb.GdbError("weft ranks: this program has no weft, or weft's symbols were stripped")
        only = int(argument) if argument else None
        job = symbol.value()
        if int(job) == 0:
            print("no job is open in this process")
        while int(job) != 0:
            self.job(job.dereference(), only)
            job = job["next_watched"]

    def job(self, job, only):
        numbers = job["numbers"]
        all_threads = threads()
        slots = int(job["ranks"]["slots"])
        print("process %d of %d, %d ranks%s" % (numbers["process"], numbers["processes"], slots - 1,
              "; the job has failed" if int(job["failed"]) else ""))
        for slot in range(1, slots if job["ranks"]["running"] else 1):
            number = int(job["ranks"]["selves"][slot]["rank"])
            if only is None or only == number:
                self.show("rank %d" % number, waits(job, slot), self.rank(job, slot, all_threads))
        if only is None:
            self.show("host program", waits(job, 0), host_stacks(all_threads))


Weft()
Ranks()
