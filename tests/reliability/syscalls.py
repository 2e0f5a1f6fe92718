"""A function watched, killed or failed at its system calls on files.

The function runs in a forked child under ``ptrace``, so nothing in the package is replaced and nothing has to be
installed. Only calls that touch a given directory count; they are numbered from 0 in the order in which they begin.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import os
import platform
import signal
import struct
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, NoReturn

_TRACE_ME, _POKE_USER, _GO_ON, _GO_TO_EXIT, _SET_OPTIONS, _SYSCALL_INFO = 0, 6, 7, 24, 0x4200, 0x420E
_MARK_EXITS, _FOLLOW_THREADS, _STOP_WHERE_FILTERED, _DIE_WITH_TRACER = 0x1, 0x8, 0x80, 0x100000
_FILTERED = 7  # event of a call that has not happened yet
_ALL_CHILDREN = 0x40000000  # threads too
_NO_NEW_PRIVILEGES, _SET_FILTER, _FILTER_MODE = 38, 22, 2
_LOAD, _JUMP_IF_EQUAL, _RETURN, _ALLOW, _TRACE = 0x20, 0x15, 0x06, 0x7FFF0000, 0x7FF00000
_AT_WORKING_DIRECTORY, _AT_REMOVE_DIRECTORY = -100, 0x200
_SHARED_WRITABLE_MAP = (2, 1)  # bits of protection and flags
_LARGEST_PATH = 4096

# Places of x86_64's registers in the user area: result, third argument, number of the call.
_RESULT, _THIRD, _NUMBER = 10 * 8, 12 * 8, 15 * 8


class _Shape(NamedTuple):
    """Where a call has its arguments; a path is a pair of the argument with the directory, if any, and the name."""

    name: str
    descriptor: int | None = None
    paths: Sequence[tuple[int | None, int]] = ()
    flags: int | None = None


# Calls by their number on x86_64. Those that differ only in how a path is given have the same name.
_SHAPES = {
    1: _Shape("write", descriptor=0),
    2: _Shape("open", paths=[(None, 0)], flags=1),
    3: _Shape("close", descriptor=0),
    9: _Shape("mmap", descriptor=4),
    18: _Shape("pwrite", descriptor=0),
    20: _Shape("writev", descriptor=0),
    40: _Shape("sendfile", descriptor=0),
    74: _Shape("fsync", descriptor=0),
    75: _Shape("fsync", descriptor=0),  # fdatasync, which keeps the size too
    76: _Shape("truncate", paths=[(None, 0)], flags=1),
    77: _Shape("truncate", descriptor=0, flags=1),
    82: _Shape("rename", paths=[(None, 0), (None, 1)]),
    83: _Shape("mkdir", paths=[(None, 0)]),
    84: _Shape("rmdir", paths=[(None, 0)]),
    85: _Shape("creat", paths=[(None, 0)]),
    86: _Shape("link", paths=[(None, 0), (None, 1)]),
    87: _Shape("unlink", paths=[(None, 0)]),
    88: _Shape("symlink", paths=[(None, 1)]),
    90: _Shape("chmod", paths=[(None, 0)]),
    91: _Shape("chmod", descriptor=0),
    257: _Shape("open", paths=[(0, 1)], flags=2),
    258: _Shape("mkdir", paths=[(0, 1)]),
    263: _Shape("unlink", paths=[(0, 1)], flags=2),
    264: _Shape("rename", paths=[(0, 1), (2, 3)]),
    265: _Shape("link", paths=[(0, 1), (2, 3)]),
    266: _Shape("symlink", paths=[(1, 2)]),
    268: _Shape("chmod", paths=[(0, 1)]),
    275: _Shape("splice", descriptor=2),
    285: _Shape("fallocate", descriptor=0),
    296: _Shape("pwritev", descriptor=0),
    316: _Shape("rename", paths=[(0, 1), (2, 3)], flags=4),
    326: _Shape("copy_file_range", descriptor=2),
    328: _Shape("pwritev2", descriptor=0),
    437: _Shape("openat2", paths=[(0, 1)]),
    452: _Shape("chmod", paths=[(0, 1)]),
}


@dataclass(frozen=True)
class Call:
    """One system call on a file.

    Attributes:
        name: What it does, such as ``"open"`` or ``"rename"``.
        path: The file, as an absolute path; for a descriptor, where it is now.
        target: The second path of a rename or link.
        flags: Its flags, or the length of a truncation.
        data: What a write was given and, once it returned, what it took.
        offset: Where a write begins.
        result: What it returned, negative for an error; ``None`` if it never did.
    """

    name: str
    path: str
    target: str | None = None
    flags: int = 0
    data: bytes = b""
    offset: int = 0
    result: int | None = None

    def __str__(self) -> str:
        where = Path(self.path).name + (f" -> {Path(self.target).name}" if self.target else "")
        size = f", {len(self.data)} bytes" if self.data else ""
        return f"{self.name}({where}{size}) = {self.result}"


@dataclass(frozen=True)
class Outcome:
    """How the function ended.

    Attributes:
        calls: Its calls on files of the directory.
        was_killed: Whether it did not come to its end.
        errors: Names of the class of what it raised and of all its parents; empty if it returned.
        message: What it raised said.
    """

    calls: list[Call]
    was_killed: bool
    errors: list[str]
    message: str

    @property
    def has_returned(self) -> bool:
        """Whether the function ended without an error."""
        return not self.was_killed and not self.errors


@dataclass(frozen=True)
class Go:
    """Let the call happen."""


@dataclass(frozen=True)
class Kill:
    """End the process before the call, or right after it."""

    after: bool = False


@dataclass(frozen=True)
class Fail:
    """Let the call return an error and do nothing."""

    error: int


@dataclass(frozen=True)
class Shorten:
    """Let a write take only half of what it was given; of no use for other calls."""


Action = Go | Kill | Fail | Shorten
Decide = Callable[[int, Call], Action]
Function = Callable[[], object]


def trace(function: Function, root: Path) -> Outcome:
    """Run a function to its end and tell its calls on files beneath a directory."""
    return run(function, root, lambda place, call: Go())


def kill_at(function: Function, root: Path, place: int, *, after: bool = False) -> Outcome:
    """End the process with SIGKILL before a call, or right after it."""
    return run(function, root, lambda current, call: Kill(after) if current == place else Go())


def fail_at(
    function: Function, root: Path, place: int, error: int, *, then: Callable[[Call], bool] | None = None
) -> Outcome:
    """Let a call fail with an error number and, if asked, all later ones for which ``then`` says so."""

    def decide(current: int, call: Call) -> Action:
        fails = current == place or (current > place and then is not None and then(call))
        return Fail(error) if fails else Go()

    return run(function, root, decide)


def run(function: Function, root: Path, decide: Decide) -> Outcome:
    """Run a function in a child and decide about each of its calls on files beneath a directory.

    Args:
        function: What to run; what it returns is lost.
        root: The directory, without symbolic links in its path.
        decide: Gets the number of a call and what is known at its beginning.
    """
    receiving, sending = os.pipe()
    with warnings.catch_warnings():
        # The child uses none of the threads there may be; Python from 3.12 on cannot know that.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        _be_watched(function, sending)
    os.close(sending)
    with os.fdopen(receiving, "rb") as file:
        _, status = os.waitpid(child, _ALL_CHILDREN)
        if not os.WIFSTOPPED(status):
            raise PermissionError("a child cannot be watched")
        watch = _Watch(child, str(root), decide)
        try:
            watch.follow()
        except BaseException:
            _end(child)
            raise
        report = json.loads(file.read() or b"null")
    if report is None:
        return Outcome(watch.calls, was_killed=True, errors=[], message="")
    return Outcome(watch.calls, was_killed=False, errors=report["errors"], message=report["message"])


@functools.cache
def why_unsupported() -> str | None:
    """Return why functions cannot be watched here, or ``None`` if they can."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return f"watching system calls is written for Linux on x86_64, this is {sys.platform} on {platform.machine()}"
    with tempfile.TemporaryDirectory() as place:
        root = Path(place).resolve()
        try:
            outcome = trace(lambda: (root / "made").write_bytes(b"made"), root)
        except OSError as error:
            return f"watching system calls is not permitted here: {error}"
    return None if [call.data for call in outcome.calls if call.name == "write"] == [b"made"] else "ptrace sees nothing"


class _Watch:
    """Follows a child that waits to be followed."""

    def __init__(self, child: int, root: str, decide: Decide) -> None:
        self.child = child
        self.root = root
        self.decide = decide
        self.calls: list[Call] = []
        self._begun: dict[int, tuple[int, Action]] = {}  # by thread: number of its current call, and what is done
        self._info = ctypes.create_string_buffer(88)

    def follow(self) -> None:
        """Go from call to call until the child has ended."""
        options = _MARK_EXITS | _FOLLOW_THREADS | _STOP_WHERE_FILTERED | _DIE_WITH_TRACER
        _ptrace(_SET_OPTIONS, self.child, 0, options)
        _ptrace(_GO_ON, self.child, 0, 0)
        known = {self.child}
        memory = os.open(f"/proc/{self.child}/mem", os.O_RDONLY)
        try:
            while True:
                try:
                    thread, status = os.waitpid(-self.child, _ALL_CHILDREN)
                except ChildProcessError:
                    return
                if not os.WIFSTOPPED(status):
                    continue
                sent, event = os.WSTOPSIG(status), status >> 16
                is_exit = sent == signal.SIGTRAP | 0x80
                is_ours = is_exit or event or (thread not in known and sent == signal.SIGSTOP)
                known.add(thread)
                # A thread that was killed meanwhile cannot be asked any more, and is reported next.
                with contextlib.suppress(ProcessLookupError):
                    if is_exit:
                        self._finish(thread, self._ask(thread, "<q")[0])
                    elif event == _FILTERED:
                        self._consider(thread, memory)
                    _ptrace(_GO_TO_EXIT if thread in self._begun else _GO_ON, thread, 0, 0 if is_ours else sent)
        finally:
            os.close(memory)

    def _ask(self, thread: int, layout: str) -> tuple[int, ...]:
        """Return the number of a call and its arguments, or its result."""
        _ptrace(_SYSCALL_INFO, thread, len(self._info), ctypes.addressof(self._info))
        return struct.unpack_from(layout, self._info.raw, 24)

    def _consider(self, thread: int, memory: int) -> None:
        number, *arguments = self._ask(thread, "<Q6Q")
        call = self._describe(_SHAPES[number], arguments, memory)
        if call is not None:
            self._begin(thread, call, arguments)

    def _begin(self, thread: int, call: Call, arguments: Sequence[int]) -> None:
        place = len(self.calls)
        self.calls.append(call)
        action = self.decide(place, call)
        self._begun[thread] = place, action
        if isinstance(action, Shorten) and call.name == "write":
            # The third argument of all writes is how much: bytes, or pieces.
            _ptrace(_POKE_USER, thread, _THIRD, max(1, arguments[2] // 2))
        elif isinstance(action, Fail) or action == Kill(after=False):
            _ptrace(_POKE_USER, thread, _NUMBER, -1)  # no call has this number, so nothing happens
            if isinstance(action, Kill):
                os.kill(self.child, signal.SIGKILL)

    def _finish(self, thread: int, result: int) -> None:
        place, action = self._begun.pop(thread)
        if isinstance(action, Fail):
            result = -action.error
            _ptrace(_POKE_USER, thread, _RESULT, result)
        call = self.calls[place]
        self.calls[place] = replace(call, result=result, data=call.data[: max(result, 0)])
        if isinstance(action, Kill):
            os.kill(self.child, signal.SIGKILL)

    def _describe(self, shape: _Shape, arguments: Sequence[int], memory: int) -> Call | None:
        """Return a call that is about to begin, or ``None`` if it does not concern the directory."""
        if shape.descriptor is None:
            paths = [self._path(arguments, memory, *where) for where in shape.paths]
        else:
            paths = [self._open_file(_signed(arguments[shape.descriptor]))]
        if not any(path == self.root or path.startswith(self.root + "/") for path in paths):
            return None
        name = shape.name
        flags = 0 if shape.flags is None else arguments[shape.flags]
        if name == "mmap" and not all(map(int.__and__, arguments[2:4], _SHARED_WRITABLE_MAP)):
            return None
        if name == "unlink" and flags & _AT_REMOVE_DIRECTORY:
            name = "rmdir"
        if name == "creat":
            name, flags = "open", os.O_CREAT | os.O_WRONLY | os.O_TRUNC
        call = Call(name, paths[0], paths[1] if len(paths) > 1 else None, flags)
        if name in ("write", "pwrite", "writev"):
            pieces = [(arguments[1], arguments[2])]
            if name == "writev":
                pieces = list(struct.iter_unpack("<QQ", os.pread(memory, 16 * arguments[2], arguments[1])))
            data = b"".join(os.pread(memory, size, start) for start, size in pieces)
            offset = arguments[3] if name == "pwrite" else self._position(arguments[0])
            call = replace(call, name="write", data=data, offset=offset)
        return call

    def _path(self, arguments: Sequence[int], memory: int, directory: int | None, name: int) -> str:
        content = os.pread(memory, _LARGEST_PATH - arguments[name] % _LARGEST_PATH, arguments[name])
        if b"\0" not in content:  # it goes on in the next page
            content += os.pread(memory, _LARGEST_PATH, arguments[name] + len(content))
        path = os.fsdecode(content.split(b"\0", 1)[0])
        above = _AT_WORKING_DIRECTORY if directory is None else _signed(arguments[directory])
        if not path.startswith("/"):
            start = str(Path(f"/proc/{self.child}/cwd").readlink())
            path = f"{start if above == _AT_WORKING_DIRECTORY else self._open_file(above)}/{path}"
        return os.path.normpath(path)

    def _open_file(self, descriptor: int) -> str:
        try:
            return str(Path(f"/proc/{self.child}/fd/{descriptor}").readlink())
        except OSError:
            return ""

    def _position(self, descriptor: int) -> int:
        """Return where a write to a descriptor begins, -1 for the end of the file."""
        fields = Path(f"/proc/{self.child}/fdinfo/{descriptor}").read_text().split()
        appends = int(fields[fields.index("flags:") + 1], 8) & os.O_APPEND
        return -1 if appends else int(fields[fields.index("pos:") + 1])


def _be_watched(function: Function, sending: int) -> NoReturn:
    """Wait for the tracer, run the function, tell how it went, and end."""
    try:
        os.setpgid(0, 0)
        _ptrace(_TRACE_ME, 0, 0, 0)
        _filter_calls()
        os.kill(os.getpid(), signal.SIGSTOP)
        report: dict[str, object] = {"errors": [], "message": ""}
        try:
            function()
        except BaseException as error:  # noqa: BLE001 - whatever it is, the tracer is to know
            report = {"errors": [kind.__name__ for kind in type(error).__mro__], "message": str(error)}
        os.write(sending, json.dumps(report).encode())
    finally:
        os._exit(0)


def _filter_calls() -> None:
    """Let this process stop at the calls that may count, and at no others: stops are what takes time."""
    numbers = list(_SHAPES)
    program = [(_LOAD, 0, 0, 0)]
    program += [(_JUMP_IF_EQUAL, len(numbers) - place, 0, number) for place, number in enumerate(numbers)]
    program += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _TRACE)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("<HBBI", *instruction) for instruction in program))
    header = ctypes.create_string_buffer(struct.pack("<HxxxxxxQ", len(program), ctypes.addressof(code)))
    control = _c_library().prctl
    if control(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or control(_SET_FILTER, _FILTER_MODE, ctypes.addressof(header), 0, 0):
        raise OSError(ctypes.get_errno(), "calls cannot be filtered")


def _end(child: int) -> None:
    """Leave nothing of the child behind when watching it went wrong."""
    try:
        os.kill(child, signal.SIGKILL)
        while True:
            os.waitpid(-child, _ALL_CHILDREN)
    except (ProcessLookupError, ChildProcessError):
        return


@functools.cache
def _c_library() -> ctypes.CDLL:
    library = ctypes.CDLL(None, use_errno=True)
    library.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_ulong, ctypes.c_ulong]
    library.ptrace.restype = ctypes.c_long
    library.prctl.argtypes = [ctypes.c_int, *[ctypes.c_ulong] * 4]
    return library


def _ptrace(request: int, thread: int, address: int, data: int) -> None:
    if _c_library().ptrace(request, thread, address, data & 0xFFFFFFFFFFFFFFFF) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"ptrace: {os.strerror(number)}")


def _signed(value: int) -> int:
    """Return a descriptor, which is a C ``int``."""
    return ctypes.c_int(value & 0xFFFFFFFF).value
