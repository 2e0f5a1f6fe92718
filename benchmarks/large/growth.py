"""Step time and own memory as a function of the number of rows; each size in a process of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from large.panels import show, write_panel
from large.training import probe

NAMES = ("NLinear", "NHITS")
STEPS = {"NLinear": 400, "NHITS": 60}
GOAL = 1.15


def measure(directory: Path, sizes: list[int], rounds: int) -> dict[str, Any]:
    """Return the best measurements of each size, and how they grow from the least to the largest."""
    found: dict[str, Any] = {}
    for name in NAMES:
        results: dict[int, dict[str, float]] = {}
        for _ in range(rounds):
            for size in sizes:
                made = probe(write_panel(directory, size), name, True, STEPS[name], disk=True, cold=False)
                best = results.get(size, made)
                results[size] = {key: min(best[key], made[key]) for key in made}
        first, last = results[sizes[0]], results[sizes[-1]]
        growth = {key: last[key] / first[key] for key in first}
        found[name] = {"rows": results, "growth": growth}
        table = [
            [f"{size:,}", item["milliseconds"], item["RssAnon"] / 2**20, item["VmData"] / 2**20]
            for size, item in results.items()
        ]
        show(f"(c) Growth, {name}, warm", ["rows", "step ms", "RssAnon MB", "VmData MB"], table)
        for key, value in growth.items():
            print(f"{key}: {value:.2f}x, goal {GOAL}: {'reached' if value <= GOAL else 'MISSED'}")
    return found
