"""Train one model from a Parquet file in a process of its own and print how much memory that needed.

``imported`` is the memory of the process once everything that training needs is imported, and ``peak`` the most it had
from then on, both in bytes.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from timing import process_bytes

STEPS = 25


def main(side: str, kind: str, path: str) -> None:
    """Import one side, read the file, train, print."""
    read = _reader(kind)
    if side == "ours":
        from versus import ours

        _ = ours.nd.Forecaster, ours.nd.NLinear, ours.nd.Panel  # names are loaded when they are used

        def fit() -> object:
            return ours.fit("NLinear", read(path), STEPS)
    else:
        from versus import theirs

        def fit() -> object:
            return theirs.fit("NLinear", read(path), STEPS)

    Path("/proc/self/clear_refs").write_text("5")  # the highest mark so far is forgotten
    imported = process_bytes("VmRSS")
    fit()
    print(json.dumps({"imported": imported, "peak": process_bytes("VmHWM")}))


def _reader(kind: str) -> Callable[[str], Any]:
    """Return what turns the path into what ``fit`` is given."""
    if kind == "path":
        return str
    if kind == "disk":
        import neuro_divergent as nd

        return lambda path: nd.Panel.from_parquet(path, Path(tempfile.mkdtemp(dir=Path(path).parent)) / "panel")
    if kind == "pandas":
        import pandas as pd

        return pd.read_parquet
    import polars as pl

    return pl.read_parquet


if __name__ == "__main__":
    main(*sys.argv[1:4])
