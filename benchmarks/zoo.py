"""Measure a training step and a forecast of every architecture beside NeuralForecast's of the same name and size.

Both libraries run in turns, each in a process of its own. A finished architecture is kept in
benchmarks/results/zoo.json, so an interrupted run goes on where it was.

    python benchmarks/zoo.py
    python benchmarks/zoo.py --models tide,tft --again
    python benchmarks/zoo.py --size small --rounds 1
    python benchmarks/zoo.py --page                # also writes docs/results/zoo.md
"""

from __future__ import annotations

import argparse
import json
import os
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from menagerie.clock import LEAST, LONG, PROCESSOR, WARM_UP, steps_within
from menagerie.pairs import PAIRS, Pair
from menagerie.row import KINDS, Row, show
from timing import in_turns

if TYPE_CHECKING:
    from versus.side import Side

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "zoo.json"
PAGE = HERE.parent / "docs" / "results" / "zoo.md"


def main() -> None:
    """Measure what is missing, print a table and write the page if asked to."""
    options = _parse()
    # Before torch is loaded, so that no pool of threads is larger than what both sides may use.
    os.environ |= {"OMP_NUM_THREADS": str(options.threads), "MKL_NUM_THREADS": str(options.threads)}
    if options.processor_time:
        os.environ[PROCESSOR] = "1"
    from versus.side import Side

    setting, known = _setting(options), _read(options)
    left = [pair for pair in options.models if options.again or pair.theirs not in known]
    ours, theirs = (Side(name, options.threads, "menagerie") for name in ("ours", "theirs"))
    began = time.perf_counter()
    try:
        for done, pair in enumerate(left, start=1):
            print(f"{done}/{len(left)} {pair.theirs}", end=": ", flush=True)
            try:
                known[pair.theirs] = row = _measure(pair, ours, theirs, options)
            except ImportError as error:
                print(f"left out. {error}")
                continue
            _write(known, setting)
            minutes = (time.perf_counter() - began) / done * (len(left) - done) / 60
            print(f"{_sentence(row)}; about {minutes:.0f} min left", flush=True)
    finally:
        ours.close()
        theirs.close()
    rows = [known[pair.theirs] for pair in PAIRS if pair.theirs in known]
    show([row for row in rows if row.name in {pair.theirs for pair in options.models}])
    if options.page:
        from menagerie.page import write_page

        PAGE.write_text(write_page(rows, setting), encoding="utf-8")
        print(f"written: {PAGE}")


def _measure(pair: Pair, ours: Side, theirs: Side, options: argparse.Namespace) -> Row:
    """Measure both sides in turns."""
    what, sides = (pair.theirs, options.size), (ours, theirs)
    parameters = (ours("num_parameters", *what), theirs("num_parameters", *what))
    tried = [side("train", *what, WARM_UP + LEAST) for side in sides]
    rounds = options.rounds if max(tried) < LONG else 1

    def both(function: str, *amounts: float) -> tuple[float, float]:
        measures = [partial(side, function, *what, amount) for side, amount in zip(sides, amounts, strict=True)]
        mine, other = in_turns(rounds, *measures)
        return mine * 1e3, other * 1e3

    return Row(
        name=pair.theirs,
        parameters=parameters,
        step=both("train", *(steps_within(options.seconds, step) for step in tried)),
        network=both("network", *[options.seconds / 2] * 2),
        predict=both("predict", *[options.seconds / 4] * 2),
        note=pair.note,
    )


def _sentence(row: Row) -> str:
    ratios = ", ".join(f"{kind} {row.ratio(kind):.2f}x" for kind in KINDS)
    return f"{row.step[0]:.3g} ms a step; {ratios}"


def _setting(options: argparse.Namespace) -> dict[str, Any]:
    """Return what the measurements are made with."""
    from importlib.metadata import version

    from neuro_divergent.core.environment import describe_environment

    return {
        "size": options.size,
        "rounds": options.rounds,
        "seconds": options.seconds,
        "clock": "processor" if options.processor_time else "wall",
        "versions": {name: version(name) for name in ("neuro-divergent", "neuralforecast", "torch")},
        "environment": describe_environment(threads=options.threads, device="cpu"),
    }


def _read(options: argparse.Namespace) -> dict[str, Row]:
    """Return what was measured before in the same setting."""
    if not RESULTS.exists():
        return {}
    document = json.loads(RESULTS.read_text())
    if document["setting"] != _setting(options):
        return {}
    return {row["name"]: Row.from_dict(row) for row in document["rows"]}


def _write(rows: dict[str, Row], setting: dict[str, Any]) -> None:
    RESULTS.parent.mkdir(parents=True, exist_ok=True)
    part = RESULTS.with_suffix(".part")
    part.write_text(json.dumps({"setting": setting, "rows": [row.to_dict() for row in rows.values()]}, indent=2))
    part.replace(RESULTS)


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", type=_pairs, default=list(PAIRS), help="names of ours or theirs, commas between")
    parser.add_argument("--size", choices=("default", "small"), default="default", help="size of the networks")
    parser.add_argument("--rounds", type=int, default=3, help="how often both sides are measured in turns")
    parser.add_argument("--seconds", type=float, default=0.8, help="time for the steps of a side in a round")
    parser.add_argument("--threads", type=int, default=1, help="threads on both sides")
    parser.add_argument("--processor-time", action="store_true", help="for a busy machine: not the time on the wall")
    parser.add_argument("--again", action="store_true", help="measure again what has been measured before")
    parser.add_argument("--page", action="store_true", help="write docs/results/zoo.md")
    return parser.parse_args()


def _pairs(text: str) -> list[Pair]:
    chosen: list[Pair] = []
    for name in text.split(","):
        found = [pair for pair in PAIRS if name.lower() in {pair.ours, pair.theirs.lower()}]
        if not found:
            known = ", ".join(pair.theirs for pair in PAIRS)
            raise argparse.ArgumentTypeError(f"{name!r} is not an architecture; choose among {known}")
        chosen += found
    return chosen


if __name__ == "__main__":
    main()
