"""What the package writes, as scenarios with a beginning, some steps and what a reader may see in between."""

from __future__ import annotations

import errno
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from neuro_divergent.core.errors import NeuroDivergentError
from neuro_divergent.core.storage.atomic import MANIFEST, clear_leftovers, new_directory, verify_directory, write_file
from neuro_divergent.core.storage.store import open_store
from tests.reliability.replay import EXCHANGE, read_tree
from tests.reliability.syscalls import Action, Call, Fail, Go, Kill, run

View = Mapping[str, object]
Step = Callable[[Path], object]
Property = Callable[[str, object], None]
BEST = "best.json"


@dataclass(frozen=True)
class Scenario:
    """Something that is written.

    Attributes:
        name: What it is.
        steps: What is done. A reader sees what is there after one of the steps or before all, and nothing else.
        look: What a reader sees; raises if that is not readable.
        before: What was done before.
        tidy: Removes what a process that was killed left; ``None`` if nothing does.
        exchanges: Whether the file system can let two names change places. Where it cannot, what is replaced may be
            hidden until somebody tidies.
    """

    name: str
    steps: Sequence[Step]
    look: Callable[[Path], View]
    before: Sequence[Step] = ()
    tidy: Step | None = None
    exchanges: bool = True

    def prepare(self, root: Path) -> None:
        """Do what was done before."""
        for step in self.before:
            step(root)

    def act(self, root: Path) -> None:
        """Do all steps."""
        for step in self.steps:
            step(root)

    def refuse(self, call: Call) -> Action:
        """Be a file system: say what it cannot do."""
        is_exchange = call.name == "rename" and call.flags & EXCHANGE
        return Fail(errno.EINVAL) if is_exchange and not self.exchanges else Go()

    def views(self) -> list[View]:
        """Return what a reader may see, in the order of the steps."""
        with TemporaryDirectory() as place:
            root = Path(place)
            self.prepare(root)
            views = [self.look(root)]
            for step in self.steps:
                step(root)
                views.append(self.look(root))
        return views

    def __str__(self) -> str:
        return self.name


class Recorded:
    """A scenario in a directory, with the calls of one undisturbed run and what a reader may see meanwhile."""

    def __init__(self, scenario: Scenario, place: Path) -> None:
        self.scenario = scenario
        self.root = place / "recorded"
        self.root.mkdir()
        scenario.prepare(self.root)
        self.before = read_tree(self.root)
        outcome = run(lambda: scenario.act(self.root), self.root, lambda _, call: scenario.refuse(call))
        assert outcome.has_returned, outcome.message
        self.calls: list[Call] = outcome.calls
        self.views = scenario.views()
        assert scenario.look(self.root) == self.views[-1]


class Violations(list[str]):
    """What was seen that must not be."""

    def check(self, scenario: Scenario, root: Path, allowed: Sequence[View], when: str) -> None:
        """Look, and note what is not allowed."""
        try:
            view = scenario.look(root)
        except (NeuroDivergentError, OSError) as error:
            self.append(f"{when}: {type(error).__name__}: {error}")
            return
        if view not in allowed:
            names = " or ".join(str(sorted(item)) for item in allowed)
            self.append(f"{when}: sees {sorted(view)}; allowed is {names}, with the right content")

    def __str__(self) -> str:
        more = f"\nand {len(self) - 9} more" if len(self) > 9 else ""
        return "\n".join(self[:9]) + more


def report(record_property: Property, scenario: Scenario, **counts: int) -> None:
    """Tell counts, in the output and in the results."""
    for name, count in counts.items():
        record_property(name, count)
    print(f"{scenario}: " + ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items()))  # noqa: T201


def files_of(step: int, version: int = 0) -> dict[str, bytes]:
    """Return files like those of a checkpoint, larger and smaller than a buffer."""
    seed = f"{step}-{version}".encode()
    return {
        "module.safetensors": hashlib.shake_256(seed).digest(20_000),
        "optimizer.safetensors": hashlib.shake_256(seed + b"o").digest(300),
        "state.json": b'{"seed": "%s"}' % seed,
    }


def name_of(step: int) -> str:
    """Return the name of the checkpoint of a step."""
    return f"step-{step:09d}"


def write(step: int, version: int = 0) -> Step:
    """Write a checkpoint into the store."""
    return lambda root: open_store(root / "checkpoints").write(name_of(step), files_of(step, version).items())


def remove(step: int) -> Step:
    """Remove a checkpoint from the store."""
    return lambda root: open_store(root / "checkpoints").remove(name_of(step))


def quarantine(step: int) -> Step:
    """Put a checkpoint of the store aside, if it is there."""

    def act(root: Path) -> None:
        store = open_store(root / "checkpoints")
        if name_of(step) in store.names():
            store.quarantine(name_of(step))

    return act


def mark(step: int) -> Step:
    """Note the best checkpoint in the store."""
    note = b'{"checkpoint": "%s"}\n' % name_of(step).encode()
    return lambda root: open_store(root / "checkpoints").write_note(BEST, note)


def interrupted(step: Step, at: Callable[[Call], bool]) -> Step:
    """Do something in a process that is killed, on a file system that cannot exchange names."""

    def decide(number: int, call: Call) -> Action:
        del number
        is_exchange = call.name == "rename" and call.flags & EXCHANGE
        return Kill() if at(call) else Fail(errno.EINVAL) if is_exchange else Go()

    def act(root: Path) -> None:
        assert run(lambda: step(root), root.resolve(), decide).was_killed

    return act


def tidy_store(root: Path) -> None:
    """Clear what a killed process left in the store."""
    open_store(root / "checkpoints").clear_leftovers()


def look_at_store(root: Path) -> View:
    """Read all that the store says is there."""
    store = open_store(root / "checkpoints")
    return {BEST: store.read_note(BEST), **{name: _digest(store.read(name)) for name in store.names()}}


def save_directory(version: int) -> Step:
    """Write a directory, as models are."""

    def step(root: Path) -> None:
        with new_directory(root / "models" / "model") as place:
            for name, content in files_of(0, version).items():
                (place / name).write_bytes(content)

    return step


def look_at_directory(root: Path) -> View:
    """Read a directory, if there is one, with its manifest."""
    place = root / "models" / "model"
    if not place.exists():
        return {}
    verify_directory(place)
    return {"model": _digest({path.name: path.read_bytes() for path in place.iterdir() if path.name != MANIFEST})}


def tidy_directory(root: Path) -> None:
    """Clear what a killed process left beside a directory."""
    clear_leftovers(root / "models")


def save_file(version: int) -> Step:
    """Write a single file."""
    return lambda root: write_file(root / "run" / "config.toml", files_of(0, version)["module.safetensors"])


def look_at_file(root: Path) -> View:
    """Read the file, if there is one."""
    path = root / "run" / "config.toml"
    return {path.name: path.read_bytes()} if path.exists() else {}


def _store_scenario(name: str, steps: Sequence[Step], before: Sequence[Step] = ()) -> Scenario:
    return Scenario(name, steps, look_at_store, before, tidy_store)


_TWO = [write(1), write(2), mark(1)]

_HALF_DONE = [
    interrupted(write(3), lambda call: call.name == "fsync" and call.path.endswith("state.json")),
    interrupted(remove(1), lambda call: call.name == "rmdir"),
    interrupted(write(2, version=1), lambda call: call.name == "rename" and ".partial-" in call.path),
]

SCENARIOS = [
    _store_scenario("first save", [write(1)]),
    _store_scenario("save beside others", [write(3)], _TWO),
    _store_scenario("save over a name", [write(2, version=1)], _TWO),
    _store_scenario("removal", [remove(1)], _TWO),
    _store_scenario("setting aside", [quarantine(2)], _TWO),
    _store_scenario("first note", [mark(1)], [write(1)]),
    _store_scenario("changed note", [mark(2)], _TWO),
    _store_scenario("save, note and removal", [write(3), mark(3), remove(1)], _TWO),
    _store_scenario("tidying", [tidy_store], [*_TWO, write(4), *_HALF_DONE]),
    Scenario("first directory", [save_directory(1)], look_at_directory, tidy=tidy_directory),
    Scenario("directory over another", [save_directory(2)], look_at_directory, [save_directory(1)], tidy_directory),
    Scenario("first file", [save_file(1)], look_at_file),
    Scenario("file over another", [save_file(2)], look_at_file, [save_file(1)]),
]
SCENARIOS += [
    replace(scenario, name=f"{scenario.name}, without exchange", exchanges=False)
    for scenario in SCENARIOS
    if " over a" in scenario.name and scenario.tidy is not None
]
# Those without an exchange of names take longest, and differ from the others in one step.
every_scenario = pytest.mark.parametrize(
    "scenario",
    [pytest.param(item, id=str(item), marks=() if item.exchanges else pytest.mark.long) for item in SCENARIOS],
)


def _digest(files: Mapping[str, bytes]) -> str:
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name} {len(files[name])} ".encode() + files[name])
    return digest.hexdigest()
