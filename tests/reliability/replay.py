"""What a disk may hold after the power went, worked out from the system calls that were made until then.

The disk of this model keeps no more than POSIX promises. The content of a file is safe once the file was synced, and a
name (made, renamed or removed) once its directory was. What was not synced may be there or not, in any combination;
content may also be there in part, or as zeros. A rename happens as a whole or not at all. This is the method of
Pillai et al., "All File Systems Are Not Created Equal", OSDI 2014.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.reliability.syscalls import Call

Tree = dict[str, "bytes | Tree"]

EXCHANGE = 2  # flag of a rename that lets two names change places
_FEW_CHANGES = 5  # up to so many, every combination is tried
_HARMLESS = {"close", "chmod"}


class File:
    """A file, with what is safe of it."""

    def __init__(self, content: bytes = b"") -> None:
        self.safe = content
        self.current = content
        self._survivals: list[bytes] = []

    def sync(self) -> None:
        """Make what was written safe."""
        self.safe = self.current
        self._survivals = []

    def write(self, offset: int, data: bytes) -> None:
        """Write at a place, or at the end if that is -1."""
        offset = len(self.current) if offset < 0 else offset
        before = self.current.ljust(offset, b"\0")
        self.current = before[:offset] + data + before[offset + len(data) :]
        self._survivals = []

    def truncate(self, size: int) -> None:
        """Cut or fill up with zeros."""
        self.current = self.current[:size].ljust(size, b"\0")
        self._survivals = []

    def survivals(self) -> list[bytes]:
        """Return what may be left of it: nothing new, everything, a half, and a length without content."""
        if not self._survivals:
            kept = self.safe if self.current.startswith(self.safe) else b""
            half = self.current[: (len(kept) + len(self.current)) // 2]
            self._survivals = [self.safe, self.current, half, kept.ljust(len(self.current), b"\0")]
        return self._survivals


class Directory:
    """A directory; what is in it is known from the changes that were made to it."""

    def __init__(self) -> None:
        self.original: dict[str, Node] = {}
        self.current: dict[str, Node] = {}


Node = File | Directory


class Change(NamedTuple):
    """New nodes under names, all at once; ``None`` for a name that goes away."""

    names: dict[tuple[Directory, str], Node | None]
    unsynced: set[Directory]


class Survival(NamedTuple):
    """What one way to lose power leaves.

    Attributes:
        tree: What is on the disk.
        calls: How many calls had been made.
        is_last: Whether these were all calls, so that the user knows of the end.
    """

    tree: Tree
    calls: int
    is_last: bool


class Disk:
    """A disk that is followed call by call; all that is there at first is safe."""

    def __init__(self, root: Path, tree: Tree) -> None:
        self.root = root
        self.top = _plant(tree)
        self.changes: list[Change] = []
        self.files: list[File] = []  # those that were written

    def apply(self, call: Call) -> bool:
        """Do what a call did; return whether it can have changed anything."""
        if call.result is None or call.result < 0 or call.name in _HARMLESS or call.path.endswith(" (deleted)"):
            return False
        if call.name == "open" and not call.flags & (os.O_CREAT | os.O_TRUNC | os.O_TMPFILE & ~os.O_DIRECTORY):
            return False
        method = getattr(self, f"_{call.name}", None)
        if method is None:
            raise NotImplementedError(f"the effect of {call.name} is not known")
        method(call)
        return True

    def tree(self) -> Tree:
        """Return what a reader sees without any loss."""
        return _grow(self.top, lambda directory: directory.current, lambda file: file.current)

    def survivals(self, random: Random, attempts: int) -> Iterator[Tree]:
        """Return what may be left if the power goes now.

        Few changes are tried in all combinations. Of many, none, all, each alone, all but each and some random choices
        are, with the content of files all safe, all written, or a random kind of each.
        """
        pending = [change for change in self.changes if change.unsynced]
        for chosen in _choices(pending, random, attempts):
            lasting = [change for change in self.changes if not change.unsynced or id(change) in chosen]
            names: dict[Directory, dict[str, Node]] = {}
            for change in lasting:
                for (directory, name), node in change.names.items():
                    entries = names.setdefault(directory, dict(directory.original))
                    entries.pop(name, None)
                    if node is not None:
                        entries[name] = node

            def entries_of(directory: Directory, names: dict[Directory, dict[str, Node]] = names) -> dict[str, Node]:
                return names.get(directory, directory.original)

            yield _grow(self.top, entries_of, lambda file: file.safe)
            if any(file.safe is not file.current for file in self.files):
                yield _grow(self.top, entries_of, lambda file: file.current)
                for _ in range(2):
                    yield _grow(self.top, entries_of, lambda file: random.choice(file.survivals()))

    def _find(self, path: str) -> Node | None:
        node: Node | None = self.top
        for part in Path(path).relative_to(self.root).parts:
            node = node.current.get(part) if isinstance(node, Directory) else None
        return node

    def _file(self, path: str) -> File:
        node = self._find(path)
        assert isinstance(node, File), f"{path} is not a known file"
        if node not in self.files:
            self.files.append(node)
        return node

    def _entry(self, path: str) -> tuple[Directory, str]:
        parent = self._find(str(Path(path).parent))
        assert isinstance(parent, Directory), f"{path} is in no known directory"
        return parent, Path(path).name

    def _change(self, names: dict[tuple[Directory, str], Node | None]) -> None:
        for (directory, name), node in names.items():
            directory.current.pop(name, None)
            if node is not None:
                directory.current[name] = node
        self.changes.append(Change(names, {directory for directory, _ in names}))

    def _open(self, call: Call) -> None:
        if call.flags & os.O_TMPFILE == os.O_TMPFILE:
            raise NotImplementedError("the effect of O_TMPFILE is not known")
        if call.flags & os.O_CREAT and self._find(call.path) is None:
            self._change({self._entry(call.path): File()})
        if call.flags & os.O_TRUNC:
            self._file(call.path).truncate(0)

    def _write(self, call: Call) -> None:
        self._file(call.path).write(call.offset, call.data)

    def _truncate(self, call: Call) -> None:
        self._file(call.path).truncate(call.flags)

    def _fsync(self, call: Call) -> None:
        node = self._find(call.path)
        if isinstance(node, File):
            node.sync()
        elif isinstance(node, Directory):
            for change in self.changes:
                change.unsynced.discard(node)

    def _mkdir(self, call: Call) -> None:
        self._change({self._entry(call.path): Directory()})

    def _unlink(self, call: Call) -> None:
        self._change({self._entry(call.path): None})

    _rmdir = _unlink

    def _link(self, call: Call) -> None:
        assert call.target is not None
        self._change({self._entry(call.target): self._find(call.path)})

    def _rename(self, call: Call) -> None:
        assert call.target is not None
        moved, replaced = self._find(call.path), self._find(call.target)
        is_exchange = bool(call.flags & EXCHANGE)
        assert moved is not None, f"{call.path} is not known"
        self._change({self._entry(call.path): replaced if is_exchange else None, self._entry(call.target): moved})


def survivals(root: Path, before: Tree, calls: Sequence[Call], random: Random, attempts: int) -> Iterator[Survival]:
    """Return all that may be on the disk if the power goes before or after any of some calls.

    What was returned once is not returned again, except at the end: what holds then is more than what holds before.
    """
    disk = Disk(root, before)
    seen: set[object] = set()
    for count in range(len(calls)):
        if disk.apply(calls[count - 1]) if count else True:
            for tree in disk.survivals(random, attempts):
                if (key := _freeze(tree)) not in seen:
                    seen.add(key)
                    yield Survival(tree, count, is_last=False)
    for tree in last_survivals(root, before, calls, random, attempts):
        yield Survival(tree, len(calls), is_last=True)


def last_survivals(root: Path, before: Tree, calls: Sequence[Call], random: Random, attempts: int) -> list[Tree]:
    """Return all that may be on the disk if the power goes after all of some calls."""
    disk = Disk(root, before)
    for call in calls:
        disk.apply(call)
    return list({_freeze(tree): tree for tree in disk.survivals(random, attempts)}.values())


def read_tree(place: Path) -> Tree:
    """Return what is in a directory."""
    return {path.name: read_tree(path) if path.is_dir() else path.read_bytes() for path in place.iterdir()}


def write_tree(place: Path, tree: Tree) -> None:
    """Fill a directory."""
    place.mkdir(parents=True, exist_ok=True)
    for name, node in tree.items():
        if isinstance(node, bytes):
            (place / name).write_bytes(node)
        else:
            write_tree(place / name, node)


def _choices(pending: Sequence[Change], random: Random, attempts: int) -> Iterator[set[int]]:
    """Return choices of changes, by their identity."""
    every = [id(change) for change in pending]
    if len(every) <= _FEW_CHANGES:
        for size in range(len(every) + 1):
            yield from map(set, itertools.combinations(every, size))
        return
    yield from (set(), set(every))
    for one in every:
        yield {one}
        yield set(every) - {one}
    for _ in range(attempts):
        yield {one for one in every if random.random() < 0.5}


def _plant(tree: Tree) -> Directory:
    directory = Directory()
    directory.original = {name: File(node) if isinstance(node, bytes) else _plant(node) for name, node in tree.items()}
    directory.current = dict(directory.original)
    return directory


def _grow(
    directory: Directory, entries: Callable[[Directory], dict[str, Node]], content: Callable[[File], bytes]
) -> Tree:
    return {
        name: content(node) if isinstance(node, File) else _grow(node, entries, content)
        for name, node in entries(directory).items()
    }


def _freeze(tree: Tree) -> object:
    items: Iterable[tuple[str, bytes | Tree]] = tree.items()
    return frozenset((name, node if isinstance(node, bytes) else _freeze(node)) for name, node in items)
