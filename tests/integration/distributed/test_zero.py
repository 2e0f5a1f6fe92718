"""ZeRO-1 trains as one process does, with a part of the optimizer's state in each process."""

from __future__ import annotations

from typing import Any

import pytest

from tests.integration.distributed import trainings

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "mlp": ("mlp", {"optimizer": "adamw"}),
    "nhits": ("nhits", {"optimizer": {"name": "sgd", "lr": 0.05}}),
    "patchtst": ("patchtst", {"optimizer": "lion", "accumulate": 2}),
}


@pytest.mark.parametrize("size", [2, 3])
def test_all(size, processes) -> None:
    import time

    a = time.time()
    found = processes(size).call(trainings.__name__, "train_all", CASES, "zero")
    print(time.time() - a)
    for case in CASES:
        alone = trainings.train(*CASES[case])
        for one in found:
            print(
                case,
                max(abs(x - y) for x, y in zip(one[case]["weights"], alone["weights"])),
                one[case]["bytes"],
                alone["bytes"],
            )
    assert 0
