"""A table that is converted in parts gives the panel of the whole table, whatever it looks like."""

from __future__ import annotations

import gzip
import os
import warnings
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
import polars as pl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuro_divergent.core.errors import DataWarning, NeuroDivergentError
from neuro_divergent.data.cleaning.frequency import infer
from neuro_divergent.data.cleaning.frequency_evidence import FrequencyEvidence
from neuro_divergent.data.conversion import converter, text_file
from neuro_divergent.data.conversion.conversion import convert
from neuro_divergent.data.panel import Panel
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.data.schema import Schema

ARRAYS = ("offsets", "y", "mask", "weight", "past_x", "future_x", "static_x")
POLICIES = ("error", "interpolate", "forward", "zero", "mask")


@dataclass(frozen=True)
class Case:
    """Rows in the order and the files that they are written in."""

    frames: list[pl.DataFrame]
    schema: dict[str, Any]
    kind: str
    rows: tuple[int, int]


def difference(found: Panel, expected: Panel) -> str:
    """Return the name of what two panels differ in, or nothing."""
    for name in ARRAYS:
        here, there = getattr(found, name), getattr(expected, name)
        if name == "mask" and there is not None and there.all():
            there = None
        if (here is None) != (there is None) or (here is not None and not np.array_equal(np.asarray(here), there)):
            return f"{name}: {here} {there}"
    for name in ("schema", "frequency", "past", "future", "static", "categories"):
        if getattr(found, name) != getattr(expected, name):
            return f"{name}: {getattr(found, name)} {getattr(expected, name)}"
    if found.ids.to_list() != expected.ids.to_list() or found.ids.name != expected.ids.name:
        return "ids"
    return "" if found.starts.equals(expected.starts, check_dtypes=True, check_names=True) else "starts"


@st.composite
def cases(draw: st.DrawFn) -> Case:
    names = draw(st.sampled_from([[3, 1, 2, -5, 900, 7], ["b", "a", "007", "07", "ä", ""], None]))
    step = draw(st.sampled_from([1, 3, timedelta(hours=1), timedelta(days=1), timedelta(days=7), "month"]))
    rows: list[dict[str, Any]] = []
    holes = draw(st.sampled_from([0.0, 0.0, 0.1, 0.5]))
    gaps = draw(st.sampled_from([0.0, 0.0, 0.1]))
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    for position in range(draw(st.integers(1, 6)) if names else 1):
        first = int(random.integers(0, 4))
        for number in range(int(random.integers(1, 14))):
            if random.random() < gaps:
                continue
            rows.append(
                {
                    "unique_id": names[position] if names else None,
                    "ds": time_at(step, first + number),
                    "y": None if random.random() < holes else float(np.float32(random.normal())),
                    "w": float(random.integers(0, 3)),
                    "p": None if random.random() < holes else float(random.integers(0, 9)),
                    "c": None if random.random() < holes else str(random.choice(["x", "y", f"late {position}"])),
                    "n": int(random.integers(0, 3)),
                    "s": f"kind {position % 2}",
                    "t": position,
                }
            )
    if not rows:
        rows = [{"unique_id": names[0] if names else None, "ds": time_at(step, n), "y": 1.0} for n in (0, 1)]
        rows = [{**row, "w": 1.0, "p": 1.0, "c": "x", "n": 1, "s": "k", "t": 0} for row in rows]
    if random.random() < 0.05:
        rows.append(dict(rows[0]))
    frame = pl.DataFrame(rows, schema_overrides={"c": pl.String, "y": pl.Float64, "p": pl.Float64})
    frame = frame.drop("unique_id") if names is None else frame
    order = draw(st.sampled_from(["sorted", "by time", "shuffled", "late"]))
    keys = ["ds"] if names is None else ["unique_id", "ds"]
    frame = frame.sort(keys) if order in ("sorted", "late") else frame.sort("ds")
    if order == "shuffled":
        frame = frame.sample(fraction=1.0, shuffle=True, seed=seed % 1000)
    if order == "late":  # sorted, but for one row at the end
        frame = pl.concat([frame.slice(1), frame.head(1)])
    cuts = sorted(random.integers(0, frame.height, draw(st.integers(0, 3))).tolist())
    frames = [frame.slice(a, b - a) for a, b in zip([0, *cuts], [*cuts, frame.height], strict=True) if b > a]
    schema: dict[str, Any] = {
        "missing": draw(st.sampled_from(POLICIES)),
        "gaps": draw(st.sampled_from(POLICIES)),
        "short": "drop",
    }
    roles = {"past": ["p", "n"], "future": ["c"], "static": ["s", "t"]}
    schema |= {role: columns for role, columns in roles.items() if draw(st.booleans())}
    if schema.get("past") and draw(st.booleans()):
        schema["categorical"] = ["n"]
    if draw(st.booleans()):
        schema["weight"] = "w"
    if isinstance(step, timedelta) and draw(st.booleans()):
        schema["calendar"] = ["day_of_week", "month_sin"]
    if draw(st.integers(0, 3)) == 0:
        schema["frequency"] = {1: 1, 3: 3, "month": "1mo"}.get(step) or ("1h" if step < timedelta(days=1) else "1d")
    sizes = (draw(st.integers(1, 40)), draw(st.integers(1, 60)))
    return Case(frames, schema, draw(st.sampled_from(["parquet", "csv", "tsv", "csv.gz"])), sizes)


def time_at(step: Any, number: int) -> Any:
    if step == "month":
        return date(2020 + number // 12, number % 12 + 1, 1)
    return number * step if isinstance(step, int) else datetime(2024, 2, 20) + number * step


def write(case: Case, directory: Path) -> str:
    for number, frame in enumerate(case.frames):
        path = directory / f"part-{number}.{case.kind}"
        if case.kind == "parquet":
            frame.write_parquet(path, row_group_size=7)
        else:
            text = frame.write_csv(separator="\t" if case.kind == "tsv" else ",").encode()
            path.write_bytes(gzip.compress(text) if case.kind == "csv.gz" else text)
    return str(directory / f"*.{case.kind}")


def attempt(make: Any) -> Panel | type[BaseException]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        try:
            panel: Panel = make()
            return panel
        except NeuroDivergentError as error:
            return type(error)


@settings(max_examples=2000 if os.environ.get("ND_SOAK") else 50, suppress_health_check=[HealthCheck.too_slow])
@given(case=cases())
def test_a_converted_table_equals_the_panel_of_the_whole_table(case: Case) -> None:
    with (
        TemporaryDirectory() as place,
        patch.object(converter, "plan_rows", lambda *_: case.rows),
        patch.object(text_file, "_PARTS", 16 if case.rows[0] % 2 else 10**6),
    ):
        (Path(place) / "in").mkdir()
        source = write(case, Path(place) / "in")
        target = Path(place) / "panel"

        def build() -> Panel:
            convert(source, target, Schema(**case.schema))
            return Panel.open(target, mmap=False)

        expected = attempt(lambda: build_panel(source, Schema(**case.schema)))
        found = attempt(build)
        if isinstance(expected, Panel) and isinstance(found, Panel):
            assert not difference(found, expected)
        else:
            assert found == expected
        assert {path.name for path in Path(place).iterdir()} <= {"in", "panel"}


@settings(max_examples=2000 if os.environ.get("ND_SOAK") else 150)
@given(data=st.data())
def test_the_frequency_of_parts_equals_the_frequency_of_all_rows(data: st.DataObject) -> None:
    zone = data.draw(st.sampled_from([None, "Europe/Berlin"]))
    base = data.draw(st.sampled_from([timedelta(hours=1), timedelta(days=1), timedelta(days=28), "month", "end", "bd"]))
    pieces, lengths = [], []
    for _ in range(data.draw(st.integers(1, 6))):
        first = data.draw(st.integers(0, 40))
        numbers = sorted(set(data.draw(st.lists(st.integers(0, 8), min_size=1, max_size=6))))
        pieces.append(pl.Series("ds", [moment(base, first + n) for n in numbers], pl.Datetime("us")))
        lengths.append(len(numbers))
    if zone is not None:
        pieces = [piece.dt.replace_time_zone(zone) for piece in pieces]
    whole = infer(pl.concat(pieces), np.concatenate([[0], np.cumsum(lengths)]))
    evidence = FrequencyEvidence()
    begin = 0
    while begin < len(pieces):
        end = begin + data.draw(st.integers(1, len(pieces) - begin))
        evidence.update(pl.concat(pieces[begin:end]), np.concatenate([[0], np.cumsum(lengths[begin:end])]))
        begin = end
    assert evidence.infer() == whole


def moment(base: Any, number: int) -> datetime:
    start = datetime(2023, 1, 2)
    if isinstance(base, timedelta):
        return start + number * base
    if base == "bd":
        return start + timedelta(days=7 * (number // 5) + number % 5)
    first = datetime(2020 + number // 12, number % 12 + 1, 1)
    return first if base == "month" else datetime(2020 + (number + 1) // 12, (number + 1) % 12 + 1, 1) - timedelta(1)
