"""Collectives of GPUs and CPUs, one vector a process: weft/ccl.h in Python.

    with weft.Group() as group:  # under torchrun, weftrun, mpirun or srun
        group.allreduce(x)       # in place, on torch's current stream

Methods are the calls of weft/ccl.h, with arguments in the same order. docs/ccl.md says what memory they
take, how long it must live, and how a program ends.
"""
import atexit
import collections
import contextlib
import ctypes
import hashlib
import itertools
import math
import operator
import os
import sys
import threading

TYPES = {"int32": 0, "uint32": 1, "int64": 2, "uint64": 3, "float32": 4, "float64": 5, "float16": 6,
         "bfloat16": 7, "uint8": 8}  # calls that only move data take others, too, as bytes
OPERATIONS = {"sum": 0, "min": 1, "max": 2, "and": 3, "or": 4, "xor": 5, "prod": 6}
_MULTIPLE, _HOST = 1, 0x40000003  # weft_thread_level, weft_comm

_beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libweft.so")  # in a wheel
_lib = ctypes.CDLL(_beside if os.path.exists(_beside) else "libweft.so")
_lib.weft_error.restype = _lib.weft_status_name.restype = ctypes.c_char_p
_lib.weft_ccl_kernel.restype = ctypes.c_void_p
_open, _numbers = {}, itertools.count()  # groups by number, in the order in which they were opened
os.register_at_fork(after_in_child=_open.clear)  # they are the parent's


# What a call is given: address, elements, their type, bytes of one, device, why no call takes it, if so.
_Memory = collections.namedtuple("_Memory", "address count kind size device wrong")


class Error(RuntimeError):
    """What weft has said; status: which weft_status it is."""


def _checked(status, job=None):
    if status != 0:
        name, text = _lib.weft_status_name(status).decode(), _lib.weft_error(job).decode()
        error = Error(text if text.startswith(name) else f"{name}: {text}")
        error.status = status
        raise error


def _int(x):
    """As an int of C, which ctypes would make of other numbers, and of texts, too."""
    value = operator.index(x)
    if not -2**31 <= value < 2**31:
        raise ValueError(f"{value} is no int of C")
    return ctypes.c_int(value)


def _torch():
    """torch, where the program uses it and it sees a GPU."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and torch.cuda.is_available() else None


def _open_job(device):
    """Under torchrun its environment says which process this is; else weft finds out by itself."""
    env, told = os.environ, {}
    if "WEFT_PROCESS" not in env and ("RANK" in env or "WORLD_SIZE" in env):
        try:
            host, port = env["MASTER_ADDR"], int(env["MASTER_PORT"]) + 1
            run = host, port, env.get("TORCHELASTIC_RUN_ID"), env.get("TORCHELASTIC_RESTART_COUNT")
            told = {"PROCESS": env["RANK"], "PROCESSES": env["WORLD_SIZE"],
                    "ROOT": f"[{host}]:{port}" if ":" in host else f"{host}:{port}",
                    "SECRET": hashlib.sha256(repr(run).encode()).hexdigest()}
        except (KeyError, ValueError) as error:
            raise ValueError(f"torchrun's environment is not whole: {error}; start with torchrun or weftrun, or "
                             "unset RANK and WORLD_SIZE") from None
    told = {name: value for name, value in told.items() if "WEFT_" + name not in env}
    kind, _, number = str(device or "").partition(":")
    if not kind and "WEFT_DEVICE" not in env:
        kind = "cuda" if _torch() else "cpu"
    if kind == "cuda" and not number and "LOCAL_RANK" in env and _torch():
        number = str(int(env["LOCAL_RANK"]) % _torch().cuda.device_count())
    told.update({name: value for name, value in (("DEVICE", kind), ("DEVICE_ID", number)) if value})
    words = [b"weft"] + [f"--weft-{name}={value}".encode() for name, value in told.items()]
    argc, argv = ctypes.c_int(len(words)), (ctypes.c_char_p * (len(words) + 1))(*words)
    job = ctypes.c_void_p()
    _checked(_lib.weft_open_threads(ctypes.byref(job), ctypes.byref(argc), argv, _MULTIPLE))
    return job


def _buffer(x, what):
    """The like of numpy's array interface, of what has Python's buffers alone."""
    try:
        view = memoryview(x)
    except TypeError:
        raise TypeError(f"{what} is no tensor, array or buffer, but {type(x).__name__}") from None
    if view.readonly:
        raise ValueError(f"{what} is read-only")
    code, whole = view.format.lstrip("@=<"), view.nbytes == 0 or view.c_contiguous
    kind = "f" if code in "efd" else "i" if code in "bhilqn" else "u" if code in "BHILQN" else "V"
    address = ctypes.addressof(ctypes.c_char.from_buffer(view)) if whole and view.nbytes else 0
    return {"data": (address, False), "typestr": f"<{kind}{view.itemsize}", "shape": view.shape, "strides": not whole}


def _memory(x, what):
    if hasattr(x, "data_ptr"):
        whole = str(x.layout) == "torch.strided" and x.is_contiguous() and not x.is_conj() and not x.is_neg()
        return _Memory(x.data_ptr() if whole else 0, x.numel(), str(x.dtype).partition(".")[2], x.element_size(),
                       str(x.device), None if whole else "not contiguous")
    face = getattr(x, "__array_interface__", None)
    if face is None or "__ref" in face:  # a scalar of numpy's: a copy of it that nobody keeps
        face = _buffer(x, what)
    code = face["typestr"]
    kind = {"f": "float", "i": "int", "u": "uint", "c": "complex", "b": "bool"}.get(code[1])
    if str(getattr(x, "dtype", "")) == "bfloat16":
        kind = "bfloat"
    elif kind is None or code[0] == ">":
        raise TypeError(f"{what} has elements of type {code}, which are no numbers of this machine")
    size = int(code[2:])
    return _Memory(face["data"][0], math.prod(face["shape"]), f"{kind}{8 * size}", size, "cpu",
                   "not contiguous" if face.get("strides") else "read-only" if face["data"][1] else None)


class Group:
    """
    The processes of a job, members 0 to members - 1; this one is `me`. device: "cpu", "cuda" or "cuda:1";
    None: WEFT_DEVICE, else a GPU if torch is imported and sees one. columns: most thread blocks of a call.
    """

    def __init__(self, device=None, columns=0, _job=None, _comm=_HOST):
        self._lock, self._ccl, self._comm = threading.Lock(), ctypes.c_void_p(), ctypes.c_uint32(_comm)
        columns = _int(columns)
        self._job, self.number, self._aborted = _job or _open_job(device), next(_numbers), False
        _open[self.number] = self
        try:
            _checked(_lib.weft_ccl_open(self._job, self._comm, columns, ctypes.byref(self._ccl)), self._job)
        except Error:
            self._leave()
            raise
        self.members, self.me = _lib.weft_ccl_members(self._ccl), _lib.weft_ccl_me(self._ccl)
        gpu = ctypes.c_int(-1)
        if _torch():  # 9: CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
            ctypes.CDLL("libcuda.so.1").cuPointerGetAttribute(
                ctypes.byref(gpu), 9, ctypes.c_void_p(_lib.weft_ccl_kernel(self._ccl)))
        self.device = "cpu" if gpu.value < 0 else f"cuda:{gpu.value}"

    def split(self, color, key=0, columns=0):
        """Collective: a group of the members that give this color, by key; None if it is negative."""
        comm = ctypes.c_uint32()
        _checked(_lib.weft_host_group_split(self._job, self._comm, _int(color), _int(key), ctypes.byref(comm)), self._job)
        return Group(None, columns, self._job, comm.value) if comm.value else None

    def _sides(self, call, *sides, operations=()):
        """
        Checks a call's memory, each (x or None, name, whether it is written). Returns addresses, counts, how
        many a count is for an element, and the last arguments of a call: type and operation.
        """
        torch, found = sys.modules.get("torch"), []
        for x, name, written in sides:
            if x is None:
                found.append(_Memory(0, 0, None, 1, self.device, None))
                continue
            memory = _memory(x, f"{call}: {name}")
            wrong = memory.wrong if memory.wrong != "read-only" or written else None
            if memory.device != self.device:
                wrong = f"on {memory.device}, and the group's device is {self.device}"
            if wrong:
                raise ValueError(f"{call}: {name} is {wrong}")
            if written and torch and isinstance(x, torch.Tensor) and not x.is_inference():
                torch.autograd.graph.increment_version(x)  # so that autograd refuses what it has saved of it
            found.append(memory)
        kinds = sorted({memory.kind for memory in found} - {None})
        if len(kinds) != 1 or operations and kinds[0] not in TYPES:
            raise TypeError(f"{call}: elements of {' and '.join(kinds) or 'nothing'}, not of one type of "
                            f"{', '.join(TYPES)}")
        for operation in operations:
            if operation not in list(OPERATIONS):
                raise ValueError(f"{call}: operation {operation!r} is none of {', '.join(OPERATIONS)}")
        unit = 1 if kinds[0] in TYPES else max(memory.size for memory in found)
        return ([ctypes.c_void_p(memory.address) for memory in found], [memory.count * unit for memory in found], unit,
                [TYPES.get(kinds[0], TYPES["uint8"]), *(OPERATIONS[operation] for operation in operations)])

    def _make(self, call, stream, *arguments):
        if stream is None and self.device != "cpu":
            stream = _torch().cuda.current_stream(self.device)
        stream = ctypes.c_void_p(getattr(stream, "cuda_stream", stream))
        with self._lock:
            _checked(getattr(_lib, "weft_ccl_" + call)(self._ccl, *arguments, stream), self._job)

    def _both(self, call, source, target, blocks, stream, *root, operations=(), written=True):
        """A call with so many blocks at the source, and so many at the target, which may be the source."""
        sides = [(source, "source", written and target is None)]
        if target is not None:
            sides.append((target, "target", written))
        at, n, unit, last = self._sides(call, *sides, operations=operations)
        if n[0] % (blocks[0] * unit) or n[0] // blocks[0] * blocks[1] != n[-1]:
            raise ValueError(f"{call}: sizes of source and target, {n[0] // unit} and {n[-1] // unit}, are not "
                             f"{blocks[0]} and {blocks[1]} of the same")
        self._make(call, stream, *map(_int, root), at[0], at[-1], ctypes.c_size_t(n[0] // blocks[0]), *last)
        return source if target is None else target

    def allreduce(self, source, target=None, operation="sum", stream=None):
        return self._both("allreduce", source, target, (1, 1), stream, operations=[operation])

    def reduce(self, root, source, target=None, operation="sum", stream=None):
        target, written = (target, True) if self.me == root else (None, False)
        return self._both("reduce", source, target, (1, 1), stream, root, operations=[operation], written=written)

    def reduce_scatter(self, source, target, operation="sum", stream=None):
        return self._both("reduce_scatter", source, target, (self.members, 1), stream, operations=[operation])

    def allgather(self, source, target, stream=None):
        return self._both("allgather", source, target, (1, self.members), stream)

    def alltoall(self, source, target=None, stream=None):
        return self._both("alltoall", source, target, (self.members, self.members), stream)

    def alltoall_sizes(self, source, source_counts, target, target_counts, stream=None):
        (a, b), sizes, unit, last = self._sides(
            "alltoall_sizes", (source, "source", False), (target, "target", True))
        counts = [[int(n) * unit for n in side] for side in (source_counts, target_counts)]
        for side, size in zip(counts, sizes):
            if len(side) != self.members or min(side) < 0 or sum(side) != size:
                raise ValueError(f"alltoall_sizes: {self.members} counts are needed, {size // unit} in all")
        out, into = [(ctypes.c_size_t * len(side))(*side) for side in counts]
        self._make("alltoall_sizes", stream, a, out, b, into, *last)
        return target

    def broadcast(self, root, data, stream=None):
        at, n, _, last = self._sides("broadcast", (data, "data", self.me != root))
        self._make("broadcast", stream, _int(root), at[0], ctypes.c_size_t(n[0]), *last)
        return data

    def send(self, to, source, stream=None):
        self.exchange(to, source, None, None, stream)

    def receive(self, origin, target, stream=None):
        return self.exchange(None, None, origin, target, stream)

    def exchange(self, to, source, origin, target, stream=None):
        """Sends to one member and receives from one; None: to or from none."""
        at, n, _, last = self._sides("exchange", (source, "source", False), (target, "target", True))
        to, origin = [_int(-1 if peer is None else peer) for peer in (to, origin)]
        self._make("exchange", stream, to, at[0], ctypes.c_size_t(n[0]), origin, at[1], ctypes.c_size_t(n[1]), *last)
        return target

    def barrier(self, stream=None):
        self._make("barrier", stream)

    def check(self):
        """Raises what has gone wrong on the device so far. Waits for no call."""
        _checked(_lib.weft_ccl_check(self._ccl), self._job)

    def close(self):
        """Collective: waits for the device and frees all. A member that makes another call gets an error."""
        if self.number not in _open:
            return
        wait = _torch().cuda.synchronize if self.device != "cpu" else lambda device: None
        with contextlib.suppress(Error):  # weft_ccl_close returns it
            wait(self.device)
            if not self._aborted:
                self.barrier()  # which is compared with what the others call
                wait(self.device)
        try:
            _checked(_lib.weft_ccl_close(ctypes.byref(self._ccl)), self._job)
            if self._comm.value != _HOST:
                _checked(_lib.weft_host_group_free(self._job, ctypes.byref(self._comm)), self._job)
        finally:
            self._leave()

    def _leave(self):
        """The last group closes the job."""
        del _open[self.number]
        job, self._job = self._job, None
        if all(group._job is not job for group in _open.values()):
            _lib.weft_close(job)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        """After an exception the job ends in error, for all."""
        failed = kind is not None and not (kind is SystemExit and not error.code)
        if failed and self._job is not None:
            _lib.weft_abort(self._job, f"{kind.__name__}: {error}".encode())
            self._aborted = True
        with contextlib.suppress(Error) if failed else contextlib.nullcontext():
            self.close()


@atexit.register
def _at_exit():
    error = None if hasattr(sys, "ps1") else getattr(sys, "last_value", None)  # what ends the program
    for group in reversed(list(_open.values())):
        with contextlib.suppress(Error):  # weft has printed it
            group.__exit__(type(error) if error else None, error, None)


def register_torch():
    """
    Makes operations for torch.compile, of which each returns a new tensor: torch.ops.weft.allreduce(x,
    group.number, "sum"), reduce_scatter alike, allgather(x, group.number), alltoall alike.
    """
    from torch.library import custom_op

    def define(name, rows, more=""):
        def empty(x, group, operation=None):
            return x.new_empty((rows(x.shape[0], _open[group].members), *x.shape[1:]) if rows else x.shape)

        def run(x, group, *operation):
            return getattr(_open[group], name)(x.contiguous(), empty(x, group), *operation)

        schema = f"(Tensor x, int group{more}) -> Tensor"
        custom_op("weft::" + name, run, mutates_args=(), schema=schema).register_fake(empty)

    define("allreduce", None, ", str operation='sum'")
    define("reduce_scatter", lambda rows, members: rows // members, ", str operation='sum'")
    define("allgather", lambda rows, members: rows * members)
    define("alltoall", None)
