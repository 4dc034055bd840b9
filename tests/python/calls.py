"""Every call by every member, on arrays of Python's, of ctypes and, where it is there, of numpy; what is refused,
and with which words. Runs alone or as a job of any launcher. calls.py HEADERS: numbers are those of weft/types.h."""
import array
import ctypes
import pathlib
import re
import sys

import weft

try:
    import numpy
except ImportError:
    numpy = None

CODES = {"int32": "i", "uint32": "I", "int64": "q", "uint64": "Q", "float32": "f", "float64": "d", "uint8": "B"}
CTYPES = {"int32": ctypes.c_int32, "uint32": ctypes.c_uint32, "int64": ctypes.c_int64, "uint64": ctypes.c_uint64,
          "float32": ctypes.c_float, "float64": ctypes.c_double, "uint8": ctypes.c_uint8}


class Interface:
    """An object with the array interface alone."""

    def __init__(self, kind, values):
        self.held = (CTYPES[kind] * len(values))(*values)
        letter = {"i": "i", "u": "u", "f": "f"}[kind[0]]
        self.__array_interface__ = {"data": (ctypes.addressof(self.held), False), "shape": (len(values),), "version": 3,
                                    "typestr": f"<{letter}{ctypes.sizeof(CTYPES[kind])}"}

    def __iter__(self):
        return iter(self.held)


MAKERS = {"array": lambda kind, values: array.array(CODES[kind], values),
          "ctypes": lambda kind, values: (CTYPES[kind] * len(values))(*values),
          "interface": Interface}
if numpy:
    MAKERS["numpy"] = lambda kind, values: numpy.array(values, dtype=kind)


def given(member, n):
    return [(member * 5 + i * 3) % 4 + 1 for i in range(n)]


def put_together(operation, values):
    result = values[0]
    for value in values[1:]:
        result = {"sum": result + value, "prod": result * value, "min": min(result, value), "max": max(result, value),
                  "and": result & value, "or": result | value, "xor": result ^ value}[operation]
    return result


def expect(what, got, wanted):
    if list(got) != list(wanted):
        sys.exit(f"{what}: {list(got)[:8]}, not {list(wanted)[:8]}")


def refused(error, words, call, *arguments, **named):
    try:
        call(*arguments, **named)
    except error as said:
        if words not in str(said):
            sys.exit(f"it says '{said}', not '{words}'")
        return
    sys.exit(f"not refused: {words}")


def reductions(group, name, make, kind, n):
    members, me = range(group.members), group.me
    for operation in weft.OPERATIONS if name == "array" else ("sum", "max"):
        if operation in ("and", "or", "xor") and kind[0] == "f":
            continue
        what = f"{name} {kind} {operation} {n}"
        wanted = [put_together(operation, values) for values in zip(*[given(m, n * len(members)) for m in members])]
        x, y = make(kind, given(me, n)), make(kind, [0] * n)
        group.allreduce(x, y, operation)
        expect(what, y, wanted[:n])
        if group.allreduce(x, operation=operation) is not x:
            sys.exit("the target is not returned")
        expect(what + " in place", x, wanted[:n])
        for root in members:
            x, y = make(kind, given(me, n)), make(kind, [9] * n)
            group.reduce(root, x, y, operation)
            expect(what + " reduce", y, wanted[:n] if me == root else [9] * n)
            expect(what + " reduce's source", x, given(me, n))
        x, y = make(kind, given(me, n * len(members))), make(kind, [0] * n)
        group.reduce_scatter(x, y, operation)
        expect(what + " reduce_scatter", y, wanted[me * n:me * n + n])


def moves(group, name, make, kind, n):
    members, me, what = range(group.members), group.me, f"{name} {kind} {n}"
    x, y = make(kind, given(me, n)), make(kind, [0] * n * len(members))
    group.allgather(x, y)
    expect(what + " allgather", y, [v for m in members for v in given(m, n)])
    x = make(kind, given(me, n * len(members)))
    group.alltoall(x, y)
    wanted = [v for m in members for v in given(m, n * len(members))[me * n:me * n + n]]
    expect(what + " alltoall", y, wanted)
    group.alltoall(x)
    expect(what + " alltoall in place", x, wanted)
    sizes = [(me + 2 * m) % 3 + n for m in members]
    into = [(m + 2 * me) % 3 + n for m in members]
    x, y = make(kind, given(me, sum(sizes))), make(kind, [0] * sum(into))
    group.alltoall_sizes(x, sizes, y, into)
    wanted = []
    for m in members:
        theirs = [(m + 2 * k) % 3 + n for k in members]
        wanted += given(m, sum(theirs))[sum(theirs[:me]):sum(theirs[:me + 1])]
    expect(what + " alltoall_sizes", y, wanted)
    for root in members:
        x = make(kind, given(me, n))
        group.broadcast(root, x)
        expect(what + " broadcast", x, given(root, n))
    if len(members) > 1:
        x, y = make(kind, given(me, n)), make(kind, [0] * n)
        group.exchange((me + 1) % len(members), x, (me - 1) % len(members), y)
        expect(what + " exchange", y, given((me - 1) % len(members), n))
        if me == 0:
            group.send(1, x)
        elif me == 1:
            group.receive(0, y)
            expect(what + " receive", y, given(0, n))


def refusals(group):
    x, y = array.array("f", [1] * 4), array.array("d", [1] * 4)
    refused(TypeError, "source is no tensor, array or buffer, but list", group.allreduce, [1, 2])
    refused(TypeError, "elements of float32 and float64", group.allreduce, x, y)
    refused(TypeError, "elements of int16, not of one type of int32", group.allreduce, array.array("h", [1]))
    refused(ValueError, "operation 'avg' is none of sum", group.allreduce, x, operation="avg")
    refused(ValueError, "sizes of source and target, 4 and 1", group.allreduce, x, array.array("f", [1]))
    refused(ValueError, "allgather: sizes", group.allgather, x, array.array("f", [1] * 5))
    refused(ValueError, "not contiguous", group.allreduce, memoryview(x)[::2])
    refused(ValueError, "source is read-only", group.allreduce, memoryview(x).toreadonly())
    refused(ValueError, "source is read-only", group.allreduce, memoryview(x).toreadonly(), x)
    refused(TypeError, "elements of nothing", group.exchange, None, None, None, None)
    refused(TypeError, "which are no numbers", group.broadcast, 0, (ctypes.c_void_p * 2)())
    refused(weft.Error, "the root is no member", group.reduce, group.members, x)
    refused(weft.Error, "WEFT_ERR_ARGUMENT", group.allreduce, x, operation="xor")
    refused(weft.Error, "not aligned", group.allreduce, Shifted())
    refused(ValueError, "counts are needed", group.alltoall_sizes, x, [4] * (group.members + 1), x, [4])
    refused(ValueError, "counts are needed", group.alltoall_sizes, x, [-1] * group.members, x, [4])
    refused(TypeError, "integer", group.broadcast, None, x)
    refused(TypeError, "integer", group.reduce, "0", x)
    refused(ValueError, "4294967296 is no int", group.broadcast, 1 << 32, x)
    refused(TypeError, "integer", group.split, "0")
    refused(TypeError, "integer", weft.Group, "cpu", 1.5)
    for operation in (None, False, 0, []):
        refused(ValueError, "is none of sum", group.allreduce, x, operation=operation)
    if group.members > 1:  # elements that no reduction takes go as bytes, and stay whole
        refused(ValueError, "alltoall: sizes", group.alltoall, array.array("h", [1] * (group.members + 1)))
    if numpy:
        z = numpy.ones((4, 4), "f")
        refused(ValueError, "not contiguous", group.allreduce, z.T)
        refused(TypeError, "of type >f4", group.allreduce, z.astype(">f4"))
        refused(TypeError, "of type |O", group.broadcast, 0, numpy.array([None]))
        z.flags.writeable = False
        refused(ValueError, "source is read-only", group.allreduce, z)
        group.allreduce(z, numpy.zeros((4, 4), "f"))  # a source is read alone
        refused(ValueError, "source is read-only", group.allreduce, numpy.float32(1), z)  # a scalar
        refused(TypeError, "of type <M8[s]", group.broadcast, 0, numpy.array(["2000"], "M8[s]"))
        half = numpy.ones(5, "float16")
        expect("float16", group.allreduce(half), [group.members] * 5)
    group.check()


class Shifted(Interface):
    def __init__(self):
        super().__init__("float32", [1, 2])
        self.__array_interface__["data"] = (self.__array_interface__["data"][0] + 1, False)
        self.__array_interface__["shape"] = (1,)


def numbers(headers):  # REPLACE is for accumulates, which Python does not call
    text = (pathlib.Path(headers) / "weft/types.h").read_text()
    for mine, name in ((weft.TYPES, "weft_type"), (weft.OPERATIONS, "weft_operation")):
        names = re.findall(r"WEFT_(?!REPLACE)(\w+)", re.search(r"typedef enum %s \{([^}]*)\}" % name, text)[1])
        long = {"I": "int", "U": "uint", "F": "float", "BF": "bfloat"}
        names = [re.sub(r"^([A-Z]+)(\d+)$", lambda m: long[m[1]] + m[2], word) for word in names]
        expect(name, mine, [word.lower() for word in names])
        expect(name, mine.values(), range(len(names)))
    levels = re.search(r"enum weft_thread_level \{([^}]*)\}", (pathlib.Path(headers) / "weft/weft.h").read_text())[1]
    expect("MULTIPLE", levels.split(", ")[weft._MULTIPLE:], ["WEFT_THREAD_MULTIPLE "])
    if f"WEFT_COMM_HOST   ((weft_comm)0x{weft._HOST:x})" not in text:
        sys.exit("WEFT_COMM_HOST is another")


if len(sys.argv) > 1:
    numbers(sys.argv[1])
with weft.Group("cpu") as world:
    for name, make in MAKERS.items():
        for kind in CODES if name == "array" else ("float32", "int64"):
            for n in (0, 1, 3001) if kind == "float32" else (7,):
                reductions(world, name, make, kind, n)
                moves(world, name, make, kind, n)
    x = (ctypes.c_int16 * 6)(*given(world.me, 6))  # a type that weft does not have moves as bytes
    world.broadcast(0, x)
    expect("int16", x, given(0, 6))
    refusals(world)
    world.barrier()
    part = world.split(world.me % 2, -world.me)
    expect("split", [part.members, part.me],
           [(world.members + 1 - world.me % 2) // 2, part.members - 1 - world.me // 2])
    x = array.array("q", [world.me])
    expect("of a part", part.allreduce(x), [sum(range(world.me % 2, world.members, 2))])
    part.close()
    if world.split(-1) is not None:
        sys.exit("a negative color is in a group")
    other = weft.Group("cpu")  # a job beside the other
    expect("another job", other.allreduce(array.array("i", [1])), [world.members])
    other.close()
refused(weft.Error, "ccl is NULL", world.barrier)  # closed
print(f"right: {', '.join(MAKERS)}")
