"""Altered model and checkpoint files are refused; forged ones are refused or harmless; nothing is ever run."""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest
import torch

import neuro_divergent as nd
from neuro_divergent.core.errors import NeuroDivergentError, UntrustedFileError
from neuro_divergent.core.storage.manifest import verify_files
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.forecasting.artifact import unpack_model
from neuro_divergent.forecasting.prediction_context import PredictionContext
from neuro_divergent.training.checkpointing.checkpoint import pack_state, read_checkpoint, unpack_state
from tests.reliability.mutation import Files, alter, forge, seal

SOAK = bool(os.environ.get("ND_SOAK"))
FORMATS = Path(__file__).parents[1] / "fixtures" / "formats"
ALTERED_MODELS, ALTERED_CHECKPOINTS = (470_000, 470_000) if SOAK else (1500, 1500)
FORGED_MODELS, FORGED_CHECKPOINTS = (10_000, 46_000) if SOAK else (150, 800)
ON_DISK = 2000 if SOAK else 100  # of each of the two
MOST_GROWTH = 50_000_000

Property = Callable[[str, object], None]


def files_in(directory: Path) -> Files:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


def state() -> dict[str, Any]:
    """Return a state with something of each kind."""
    module = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(module.parameters())
    module(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    return {
        "module": module.state_dict(),
        "optimizer": optimizer.state_dict(),
        "state": {"step": 3, "best": float("inf"), "pair": (1, 2.5), "seen": torch.tensor([True, False])},
        "random": torch.arange(64, dtype=torch.uint8),
    }


MODELS = [files_in(path) for path in sorted(FORMATS.glob("model-*")) if path.is_dir()]
CHECKPOINTS = [
    *(files_in(path) for path in sorted(FORMATS.glob("checkpoint-*")) if path.is_dir()),
    seal(dict(pack_state(state()))),
    seal(dict(pack_state(state(), compress=True))),
]


def load_model(files: Files) -> Any:
    return unpack_model(verify_files(files, "model"), "model")


def load_checkpoint(files: Files) -> Any:
    return unpack_state(verify_files(files, "checkpoint"), "checkpoint")


class Watch:
    """Hears what Python tells auditors while files are loaded in this thread."""

    FORBIDDEN = (
        "pickle.", "marshal.", "exec", "compile", "subprocess.", "os.system", "os.exec", "os.fork", "os.posix_spawn",
        "socket.", "shutil.",
    )  # fmt: skip

    def __init__(self) -> None:
        self.heard: Counter[str] = Counter()
        self.listening: int | None = None
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.listening == threading.get_ident() and event.startswith(self.FORBIDDEN):
            self.heard[event] += 1

    @contextmanager
    def __call__(self) -> Iterator[None]:
        self.listening = threading.get_ident()
        try:
            yield
        finally:
            self.listening = None


watch = Watch()  # a hook cannot be removed again: one for all tests


@pytest.fixture(autouse=True)
def _nothing_is_run(record_property: Property) -> Iterator[None]:
    """Nothing is run, imported or sent while files are read, and memory does not grow."""
    for model in MODELS:
        assert_usable(load_model(model))
    for checkpoint in CHECKPOINTS:
        load_checkpoint(checkpoint)
    watch.heard.clear()
    gc.collect()
    before = resident()
    yield
    gc.collect()
    growth = resident() - before
    print(f"events: {dict(watch.heard)}; memory: {growth / 1e6:+.1f} MB")  # noqa: T201 - these figures are the proof
    record_property("events", sum(watch.heard.values()))
    record_property("growth_bytes", growth)
    assert not watch.heard
    assert growth < MOST_GROWTH


def resident() -> int:
    """Return the bytes of memory that the process has."""
    statistics = Path("/proc/self/statm")
    return int(statistics.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if statistics.exists() else 0


def try_all(
    count: int, make: Callable[[Random], tuple[Any, bool]], load: Callable[[Any], Any], check: Callable[[Any], None]
) -> Counter[str]:
    """Load many mutants; those that must not be accepted are refused, and the others are fine."""
    random, outcome = Random(20240), Counter[str]()
    warnings.simplefilter("ignore")  # a device that is not there and the like; pytest brings the filters back
    started = time.monotonic()
    for number in range(count):
        mutant, may_pass = make(random)
        try:
            with watch():
                loaded = load(mutant)
        except UntrustedFileError:
            outcome["refused"] += 1
            continue
        except BaseException as error:  # noqa: BLE001 - a panic of a library is none of the usual ones
            pytest.fail(f"mutant {number}: {type(error).__name__}: {error}")
        assert may_pass, f"mutant {number} was altered and accepted"
        check(loaded)
        outcome["harmless"] += 1
    seconds = time.monotonic() - started
    print(f"\n{count:,} mutants, {dict(outcome)}, {count / seconds:,.0f}/s")  # noqa: T201
    return outcome


def altered(originals: list[Files]) -> Callable[[Random], tuple[Files, bool]]:
    def make(random: Random) -> tuple[Files, bool]:
        number = random.randrange(len(originals))
        while (mutant := alter(random, originals[number], originals[number - 1])) in originals:
            pass
        return mutant, False

    return make


def forged(originals: list[Files], description: str) -> Callable[[Random], tuple[Files, bool]]:
    return lambda random: (forge(random, random.choice(originals), description), True)


def nothing(_loaded: Any) -> None:
    pytest.fail("an altered file was accepted")


SERIES = Synthetic(num_series=2, length=30, frequency="1d", start="2024-01-01").frame()
SERIES = SERIES.with_columns(pl.col("unique_id").alias("shop"), (pl.col("y") * 0 + 1.5).alias("price"))


def assert_usable(loaded: Any) -> None:
    """A model that passed forecasts, or says why not."""
    _, _, fitted = loaded
    for parameter in fitted.predictor.network.parameters():
        assert parameter.isfinite().all()
    try:
        context = PredictionContext.of(fitted, None if fitted.has_context else SERIES)
        table = context.table((), ())
    except NeuroDivergentError:
        return
    assert len(table) == context.fitted.context.num_series * fitted.task.horizon


def assert_plain(loaded: Any) -> None:
    """A state that passed holds nothing but plain values and tensors with memory of their own."""
    stack, memory = [loaded], []
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack += [*item.keys(), *item.values()]
        elif isinstance(item, (list, tuple)):
            stack += item
        elif isinstance(item, torch.Tensor):
            assert item.device.type == "cpu"
            assert item.numel() * item.element_size() <= item.untyped_storage().nbytes()
            memory.append(item.untyped_storage().data_ptr())
        else:
            assert item is None or type(item) in (bool, int, float, str)
    owned = [place for place in memory if place]
    assert len(owned) == len(set(owned))


def test_altered_models_are_refused(record_property: Property) -> None:
    outcome = try_all(ALTERED_MODELS, altered(MODELS), load_model, nothing)
    record_property("mutants", outcome.total())
    assert outcome == {"refused": ALTERED_MODELS}


def test_altered_checkpoints_are_refused(record_property: Property) -> None:
    outcome = try_all(ALTERED_CHECKPOINTS, altered(CHECKPOINTS), load_checkpoint, nothing)
    record_property("mutants", outcome.total())
    assert outcome == {"refused": ALTERED_CHECKPOINTS}


def test_forged_models_are_refused_or_usable(record_property: Property) -> None:
    """A seal made anew hides an alteration; what passes then must be a model like any other."""
    outcome = try_all(FORGED_MODELS, forged(MODELS, "model.json"), load_model, assert_usable)
    record_property("mutants", outcome.total())
    assert outcome["refused"] > FORGED_MODELS / 4
    assert outcome["harmless"] > 0


def test_forged_checkpoints_are_refused_or_plain(record_property: Property) -> None:
    outcome = try_all(FORGED_CHECKPOINTS, forged(CHECKPOINTS, "state.json"), load_checkpoint, assert_plain)
    record_property("mutants", outcome.total())
    assert outcome["refused"] > FORGED_CHECKPOINTS / 4
    assert outcome["harmless"] > 0


@pytest.mark.parametrize("kind", ["model", "checkpoint"])
def test_altered_directories_are_refused(kind: str, tmp_path: Path, record_property: Property) -> None:
    """The same through real files."""
    originals, load = (MODELS, nd.load) if kind == "model" else (CHECKPOINTS, read_checkpoint)
    make = altered(originals)

    def write(random: Random) -> tuple[Path, bool]:
        for old in tmp_path.iterdir():
            old.unlink()
        mutant, may_pass = make(random)
        for name, content in mutant.items():
            (tmp_path / name).write_bytes(content)
        return tmp_path, may_pass

    outcome = try_all(ON_DISK, write, load, nothing)
    record_property("mutants", outcome.total())
    assert outcome == {"refused": ON_DISK}
