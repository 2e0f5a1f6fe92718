"""Score many series from Parquet files with an exported model, in fresh processes, and print time and memory.

Series have text ids, daily timestamps and 32-bit values, sorted by id and time, in files of 50,000 series (zstd). The
goal is a million series of 500 rows, NLinear from 96 to 24 steps, in 30 s of processor time and 1 GB. Another process
is killed in the middle and resumed, and must have written the same files.

    python benchmarks/scoring.py --series 1000000 --directory build/scoring      # 1.8 GB of data, deleted afterwards
    python benchmarks/scoring.py --series 100000
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timedelta
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"
ROWS, PER_FILE, HISTORY, HORIZON = 500, 50_000, 96, 24
GOAL_SECONDS, GOAL_BYTES = 30.0, 1_000_000_000
MADE_AT = "2026-01-01T00:00:00+00:00"

# Peak memory is that of this process alone: with a fork it would begin at that of its parent.
_WORKER = """
import json, resource, sys, time
from datetime import datetime
from neuro_divergent.serving.scoring.score_files import score_files
model, source, output, made_at = sys.argv[1:]
began = time.perf_counter()
summary = score_files(model, source, output, made_at=datetime.fromisoformat(made_at))
wall = time.perf_counter() - began
used = resource.getrusage(resource.RUSAGE_SELF)
peak = next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps({"series": summary.series, "rows": summary.rows, "processor": used.ru_utime + used.ru_stime,
                  "wall": wall, "peak": peak, "torch": "torch" in sys.modules}))
"""


def main() -> None:
    """Generate the data, score them in several ways and delete them."""
    arguments = _parse()
    base = Path(tempfile.mkdtemp(prefix="scoring-", dir=arguments.directory))
    try:
        data = base / "data"
        generate(data, arguments.series)
        size = sum(path.stat().st_size for path in data.iterdir())
        print(f"{arguments.series:,} series x {ROWS} rows: {size / 1e9:.2f} GB in {len(list(data.iterdir()))} files")
        model = export(data, base)
        source = str(data / "*.parquet")
        for threads in arguments.threads:
            found = score_files(model, source, base / f"out-{threads}", threads)
            _show(f"{threads} thread" + "s" * (threads != "1"), found)
        if not arguments.without_kill:
            same = kill_and_resume(model, source, base / "killed", base / f"out-{arguments.threads[0]}")
            print(f"killed in the middle and resumed: {'the same files' if same else 'DIFFERENT FILES'}")
    finally:
        shutil.rmtree(base, ignore_errors=True)


def generate(directory: Path, series: int) -> None:
    """Write sorted series to Parquet files."""
    import numpy as np
    import polars as pl

    directory.mkdir()
    first = datetime(2023, 1, 1)
    days = pl.datetime_range(first, first + timedelta(days=ROWS - 1), "1d", eager=True, time_unit="us")
    generator = np.random.default_rng(0)
    for begin in range(0, series, PER_FILE):
        count = min(PER_FILE, series - begin)
        ids = pl.Series([f"store-{number:07d}" for number in range(begin, begin + count)])
        values = 100 + 10 * generator.standard_normal(count * ROWS, dtype=np.float32)
        frame = pl.DataFrame(
            {
                "unique_id": ids.gather(np.repeat(np.arange(count), ROWS)),
                "ds": days.gather(np.tile(np.arange(ROWS), count)),
                "y": values,
            }
        )
        frame.write_parquet(directory / f"part-{begin // PER_FILE:04d}.parquet", compression="zstd")


def export(data: Path, directory: Path) -> Path:
    """Train a model on some of the series and export it."""
    import polars as pl

    from neuro_divergent import Forecaster, TrainingConfig
    from neuro_divergent.serving.export.exporter import export_model

    table = pl.read_parquet(data / "part-0000.parquet", n_rows=200 * ROWS)
    training = TrainingConfig(max_steps=50)
    model = Forecaster("nlinear", horizon=HORIZON, input_size=HISTORY, training=training).fit(table)
    return export_model(model, directory / "model.onnx")


def score_files(model: Path, source: str, output: Path, threads: str) -> dict[str, float]:
    """Score in a fresh process and return what it measured."""
    done = subprocess.run(_command(model, source, output), env=_environment(threads), capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout)


def kill_and_resume(model: Path, source: str, output: Path, expected: Path) -> bool:
    """Kill a process after some parts, resume it, and compare the files with those of an uninterrupted one."""
    process = subprocess.Popen(_command(model, source, output), env=_environment("1"), stdout=subprocess.DEVNULL)
    total = len(list(expected.glob("*.parquet")))
    while len(list(output.glob("*.parquet"))) < max(1, total // 2) and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = len(list(output.glob("*.parquet")))
    score_files(model, source, output, "1")
    print(f"killed after {kept} of {total} parts")
    return _digests(output) == _digests(expected)


def _digests(directory: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(directory.glob("*.*[!k]"))}


def _command(model: Path, source: str, output: Path) -> list[str]:
    return [sys.executable, "-c", _WORKER, str(model), source, str(output), MADE_AT]


def _environment(threads: str) -> dict[str, str]:
    one = {"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1"} if threads == "1" else {}
    return {**os.environ, **one, "PYTHONPATH": str(SOURCE)}


def _show(name: str, found: dict[str, float]) -> None:
    goals = found["processor"] <= GOAL_SECONDS and found["peak"] <= GOAL_BYTES
    print(
        f"{name}: {found['series']:,} series, {found['processor']:.1f} s of processor time with imports, "
        f"{found['wall']:.1f} s of wall time, peak {found['peak'] / 1e6:.0f} MB"
        f"{', goals reached' if goals else ', GOALS MISSED'}{', torch was imported' if found['torch'] else ''}",
        flush=True,
    )


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--series", type=int, default=100_000)
    parser.add_argument(
        "--directory", type=Path, default=None, help="where to put the data; a temporary place if unset"
    )
    parser.add_argument("--threads", nargs="*", default=["1", "default"], help="among 1 and default")
    parser.add_argument("--without-kill", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
