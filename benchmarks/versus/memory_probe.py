"""Train one model in a process of its own and print how much memory it needed.

``imported`` is the memory of the process once everything that training needs is imported, and ``peak`` the most it had
from then on, both in bytes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

STEPS = 25


def main(side: str, kind: str, path: str, threads: int) -> None:
    """Import one side, read the table, train, print."""
    if kind == "pandas":
        import pandas

        read = pandas.read_parquet
    else:
        import polars

        read = polars.read_parquet
    if side == "ours":
        from versus import ours

        _ = ours.nd.Forecaster, ours.nd.NLinear  # names are loaded when they are used

        def fit() -> object:
            return ours.fit("NLinear", read(path), ours.step_config(STEPS, threads))
    else:
        from versus import theirs

        def fit() -> object:
            return theirs.fit("NLinear", read(path), STEPS, threads)

    Path("/proc/self/clear_refs").write_text("5")  # the highest mark so far is forgotten
    imported = _status("VmRSS")
    fit()
    print(json.dumps({"imported": imported, "peak": _status("VmHWM")}))


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {field}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
