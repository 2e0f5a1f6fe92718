"""Several processes register and promote versions of one model while some are killed, then everything is checked.

Each process registers ``--count`` saved models of a few kilobytes, one after another without a pause, and promotes each
to champion. It writes down what was acknowledged, and continues there when it is started again after a SIGKILL at a
random moment. At the end nothing acknowledged may be lost, numbers have no gap, the history of aliases is one chain, no
alias dangles, and every version loads. Prints times of registering (files and row), of the same without the writing of
files, and of promoting (row only).

Without ``--address`` it runs on SQLite and then, where it is installed, on a PostgreSQL of its own, which does not
flush to the disk (``fsync=off``).
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from neuro_divergent.core.storage.manifest import MANIFEST, entry_of, write_manifest
from neuro_divergent.lifecycle.registry.blobs import Blobs
from neuro_divergent.lifecycle.registry.registry import Registry

NAME = "sales"
BASE = """
import sys, numpy as np, polars as pl, neuro_divergent as nd
table = pl.DataFrame({"ds": np.arange(60), "y": np.sin(np.arange(60) / 3)})
training = nd.TrainingConfig(max_epochs=1)
nd.Forecaster("nlinear", horizon=4, input_size=8, training=training).fit(table).save(sys.argv[1])
"""


def main() -> None:
    """Run the trial on one database or on both, and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--address", help="database; by default SQLite and then PostgreSQL in temporary places")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--count", type=int, default=500, help="versions that each process registers and promotes")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--base", type=Path, help="saved forecaster to register copies of; by default a small one")
    parser.add_argument("--blobs", type=Path, help="where files are stored; by default in a temporary place")
    parser.add_argument("--files-only", action="store_true", help="read the files of all versions, but load no model")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.address is not None:
        with tempfile.TemporaryDirectory() as place:
            report(Trial(Path(place), options.address, options).run(), options)
        return
    with tempfile.TemporaryDirectory() as place:
        run_apart(f"{place}/registry.db")
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from tests.postgresql import find_binaries, running_postgresql

    binaries = find_binaries()
    if binaries is None:
        print("PostgreSQL is not installed")
        return
    with running_postgresql(binaries) as address:
        run_apart(address)


def run_apart(address: str) -> None:
    """Run the trial in a process of its own, which has not loaded torch."""
    command = [sys.executable, __file__, *sys.argv[1:], "--address", address]
    subprocess.run(command, check=True)


def report(result: dict[str, Any], options: argparse.Namespace) -> None:
    """Print the result of a trial."""
    if options.json:
        print(json.dumps(result))
        return
    print(
        f"{result['database']}: {result['processes']} processes x {options.count} registrations and promotions, "
        f"{result['kills']} kills, in {result['seconds']:.1f} s: {result['versions'] / result['seconds']:.0f} of both/s"
    )
    for what in ("register", "without files", "promote"):
        print(
            "  {:13} p50 {p50:.1f} ms, p90 {p90:.1f} ms, p99 {p99:.1f} ms, max {max:.0f} ms".format(
                what, **result[what]
            )
        )
    print(f"  {result['versions']} versions, {result['revisions']} revisions, {result['orphans']} orphans")
    print("  " + ("nothing lost, no gap, one chain, no dangling alias" if not result["problems"] else "PROBLEMS"))
    for problem in result["problems"]:
        print(f"    {problem}")


class Trial:
    """Processes that write one registry, and what kills them."""

    def __init__(self, place: Path, address: str, options: argparse.Namespace) -> None:
        self.place = place
        self.address = address
        self.blobs = options.blobs or place / "blobs"
        self.options = options
        self.random = random.Random(options.seed)
        self.progress = mmap.mmap(-1, 8 * options.processes)
        self.children: dict[int, int] = {}  # number of a process by its pid

    def run(self) -> dict[str, Any]:
        """Run all of it and return what was measured and found."""
        self._make_models()
        Registry(self.address, blobs=self.blobs).close()
        began = time.perf_counter()
        for number in range(self.options.processes):
            self._start(number)
        kills = self._kill_and_wait()
        seconds = time.perf_counter() - began
        lines = [line for number in range(self.options.processes) for line in _read_log(self._log(number))]
        assert "torch" not in sys.modules, "registering a directory imports torch"
        return {
            "database": "SQLite" if "://" not in self.address else self.address.partition(":")[0],
            "processes": self.options.processes,
            "kills": kills,
            "seconds": seconds,
            "register": _percentiles([line["seconds"] for line in lines if line["what"] == "register"]),
            "without files": _percentiles([line["seconds"] - line["files"] for line in lines if "files" in line]),
            "promote": _percentiles([line["seconds"] for line in lines if line["what"] == "promote"]),
            **self._check(lines),
        }

    def _make_models(self) -> None:
        """Write as many saved models as are registered, which differ in one number."""
        base = self.options.base or self.place / "base"
        if self.options.base is None:
            subprocess.run([sys.executable, "-c", BASE, str(base)], check=True)
        files = {path.name: path.read_bytes() for path in base.iterdir() if path.name != MANIFEST}
        description = json.loads(files["model.json"])
        for number in range(self.options.processes):
            for index in range(self.options.count):
                description["history"][0]["seconds"] = float(number * self.options.count + index + 1)
                files["model.json"] = json.dumps(description).encode()
                directory = self._model(number, index)
                directory.mkdir(parents=True)
                entries = {name: entry_of(content) for name, content in files.items()}
                for name, content in {**files, MANIFEST: write_manifest(entries)}.items():
                    (directory / name).write_bytes(content)

    def _start(self, number: int) -> None:
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                self._work(number)
                code = 0
            finally:
                os._exit(code)
        self.children[pid] = number

    def _work(self, number: int) -> None:
        """Register and promote what was not yet acknowledged."""
        log = os.open(self._log(number), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        done = _read_log(self._log(number))
        registered = {line["index"]: line["number"] for line in done if line["what"] == "register"}
        promoted = {line["index"] for line in done if line["what"] == "promote"}
        os.write(log, b"\n")  # after a line that a kill cut off
        registry = Registry(self.address, blobs=self.blobs)
        files = _timed(registry.blobs)
        for index in range(self.options.count):
            if index not in registered:
                files.clear()
                began = time.perf_counter()
                version = registry.register(self._model(number, index), NAME)
                seconds = time.perf_counter() - began
                registered[index] = version.number
                row = {"number": version.number, "digest": version.digest, "seconds": seconds, "files": sum(files)}
                _write(log, what="register", index=index, **row)
            if index not in promoted:
                began = time.perf_counter()
                revision = registry.promote(f"{NAME}==v{registered[index]}")
                seconds = time.perf_counter() - began
                _write(log, what="promote", index=index, number=registered[index], revision=revision, seconds=seconds)
            struct.pack_into("q", self.progress, 8 * number, index + 1)

    def _kill_and_wait(self) -> int:
        """Kill processes at random moments, spread over the work, and start them again, until all is done."""
        total, kills = self.options.processes * self.options.count, 0
        killed: set[int] = set()
        while self.children:
            done = sum(struct.unpack(f"{self.options.processes}q", self.progress[:]))
            if kills + len(killed) < self.options.kills and done >= (kills + len(killed)) * total / (
                self.options.kills + 1
            ):
                time.sleep(self.random.random() * 0.02)
                killed.add(pid := self.random.choice(list(self.children)))
                os.kill(pid, signal.SIGKILL)
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                time.sleep(0.002)
                continue
            number = self.children.pop(pid)
            killed.discard(pid)
            if os.waitstatus_to_exitcode(status) == -signal.SIGKILL:
                kills += 1
                self._start(number)
            elif status:
                raise SystemExit(f"process {number} failed")
        return kills

    def _check(self, acknowledged: list[dict[str, Any]]) -> dict[str, Any]:
        """Return what is wrong with the registry, and how large it is."""
        registry = Registry(self.address, blobs=self.blobs)
        versions = {version.number: version for version in registry.list(NAME)}
        history = registry.history(NAME)
        total = self.options.processes * self.options.count
        problems = []
        if sorted(versions) != list(range(1, total + 1)):
            problems.append(f"{len(versions)} versions up to {max(versions)}, {total} were registered")
        for line in acknowledged:
            if line["what"] == "register" and versions[line["number"]].digest != line["digest"]:
                problems.append(f"v{line['number']}: is not what was acknowledged")
            if line["what"] == "promote" and history[line["revision"] - 1].aliases.get("champion") != line["number"]:
                problems.append(f"revision {line['revision']}: is not what was acknowledged")
        if {line["number"] for line in acknowledged if line["what"] == "promote"} != set(versions):
            problems.append("some promotions were not acknowledged")
        before: dict[str, int] = {}
        for place, change in enumerate(history, 1):
            if change.revision != place or change.aliases_before != before:
                problems.append(f"revision {change.revision}: does not follow on the one before it")
            before = change.aliases
        aliases = registry.aliases(NAME)
        if aliases != before or any(number not in versions for number in aliases.values()):
            problems.append(f"aliases {aliases} are not those of the history")
        orphans = [digest for digest in registry.blobs.digests() if digest not in {v.digest for v in versions.values()}]
        registry.remove_orphans(older_than=timedelta(0))
        for version in versions.values():
            version.files() if self.options.files_only else version.load()  # raises where one is missing or differs
        return {"versions": len(versions), "revisions": len(history), "orphans": len(orphans), "problems": problems}

    def _model(self, number: int, index: int) -> Path:
        return self.place / "models" / str(number) / str(index)

    def _log(self, number: int) -> Path:
        return self.place / f"acknowledged-{number}.jsonl"


def _timed(blobs: Blobs) -> list[float]:
    """Return a list that gets the seconds of each time that files are stored."""
    seconds: list[float] = []
    put = blobs.put

    def timed(files: Mapping[str, bytes]) -> str:
        began = time.perf_counter()
        try:
            return put(files)
        finally:
            seconds.append(time.perf_counter() - began)

    blobs.put = timed  # type: ignore[method-assign]
    return seconds


def _write(log: int, **line: Any) -> None:
    os.write(log, json.dumps(line).encode() + b"\n")


def _read_log(path: Path) -> list[dict[str, Any]]:
    """Return the complete lines of a log."""
    lines = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            lines.append(json.loads(line))
        except ValueError:
            continue  # cut off by a kill, so not acknowledged
    return lines


def _percentiles(seconds: list[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    places = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
    return {name: 1000 * ordered[min(int(place * len(ordered)), len(ordered) - 1)] for name, place in places.items()}


if __name__ == "__main__":
    main()
