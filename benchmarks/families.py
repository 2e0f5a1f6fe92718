"""Whether the training recommended for a family of architectures (``training="auto"``) is better than the default.

One or two architectures of each family, in small sizes, learn two tables, with the default training and with the
recommended one, for the same number of steps and several seeds. What counts is the mean absolute error on rows that
neither training nor early stopping saw; a ratio below 1 says that the recommendation is better.
``training/presets.py`` is taken from this. Families whose recommendation is the default are named and not trained.

    python benchmarks/families.py --data ../shared/data
    python benchmarks/families.py --models nhits,lstm --set optimizer.lr=0.003    # something else instead of "auto"
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from statistics import geometric_mean
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch is loaded; small networks are faster with one

import numpy as np
import polars as pl

import neuro_divergent as nd
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.data.panel_builder import build_panel
from neuro_divergent.forecasting.run_config import override, parse_setting

SMALL: dict[str, dict[str, Any]] = {
    "dlinear": {},
    "nlinear": {},
    "nhits": {"hidden_size": 128},
    "tide": {"hidden_size": 128},
    "lstm": {"hidden_size": 64, "decoder_hidden_size": 64},
    "gru": {"hidden_size": 64, "decoder_hidden_size": 64},
    "tcn": {"hidden_size": 64, "decoder_hidden_size": 64},
    "bitcn": {},
    "patchtst": {"hidden_size": 64, "num_heads": 4, "feedforward_size": 128},
    "itransformer": {"hidden_size": 128, "feedforward_size": 256},
    "stemgnn": {"multiplier": 1},
}
HORIZON, HISTORY = 24, 72


def tables(data: Path) -> dict[str, nd.Panel]:
    """Return generated series and, where they are, forty days of seven real ones in units of their spread."""
    made = Synthetic(num_series=6, length=900, frequency="1h", seasonalities=(24, 168), trend=0.02, noise=4.0).frame()
    found = {"generated": build_panel(made, nd.Schema())}
    file = data / "etth1.parquet"
    if not file.exists():
        print(f"{file}: not found, so only generated series are measured")
        return found
    table = pl.read_parquet(file).head(960).rename({"date": "ds"})
    long = table.unpivot(index="ds", variable_name="unique_id", value_name="y")
    found["ETTh1"] = build_panel(long.with_columns(pl.col("y") / pl.col("y").std().over("unique_id")), nd.Schema())
    return found


def learn(panel: nd.Panel, name: str, training: nd.TrainingConfig) -> float:
    """Train once and return the error on the test part."""
    architecture = nd.Architecture.from_dict({"name": name, **SMALL.get(name, {})})
    forecaster = nd.Forecaster(
        architecture, horizon=HORIZON, input_size=HISTORY, validation=0.15, test=0.15, training=training
    )
    forecaster.fit(panel)
    assert forecaster.split is not None
    result = forecaster.forecast_windows(forecaster.split.test)
    return float(np.abs(result.point - result.actual).mean())


def training_for(settings: list[str], **common: Any) -> nd.TrainingConfig:
    """Return the recommended training, or the default one with settings changed."""
    if not settings:
        return nd.TrainingConfig.preset("auto", **common)
    values: dict[str, Any] = {"training": common}
    for setting in settings:
        name, value = parse_setting(setting)
        override(values, f"training.{name}", value)
    return nd.TrainingConfig.from_dict(values["training"])


def main() -> None:
    """Train and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--models", default=",".join(SMALL))
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--set", action="append", default=[], help="setting of training to compare instead of auto")
    arguments = parser.parse_args()
    families: dict[str, list[float]] = {}
    print(
        f"{'family':14} {'model':14} {'table':10} {'default':>8} {'auto':>8} {'ratio':>6}  {'of each seed':20} seconds"
    )
    for name in arguments.models.split(","):
        family = nd.Architecture.registry.get(name).traits.family
        if training_for(arguments.set).for_family(family) == nd.TrainingConfig():
            print(f"{family:14} {name:14} the recommendation is the default")
            continue
        for title, panel in tables(arguments.data).items():
            began = time.process_time()
            pairs = []
            for seed in range(1, arguments.seeds + 1):
                common = {"max_steps": arguments.steps, "seed": seed, "threads": 1}
                default, other = nd.TrainingConfig(**common), training_for(arguments.set, **common).for_family(family)
                pairs.append((learn(panel, name, default), learn(panel, name, other)))
            ratios = [other / default for default, other in pairs]
            families.setdefault(family, []).extend(ratios)
            means = np.mean(pairs, 0)
            shown = " ".join(f"{ratio:.3f}" for ratio in ratios)
            spent = time.process_time() - began
            print(
                f"{family:14} {name:14} {title:10} {means[0]:8.4f} {means[1]:8.4f} {geometric_mean(ratios):6.3f}  "
                f"{shown:20} {spent:6.1f}",
                flush=True,
            )
    print()
    for family, ratios in families.items():
        print(f"{family:14} {geometric_mean(ratios):.3f}")


if __name__ == "__main__":
    main()
