"""Learning from many series what helps to forecast a few: first fill in what is hidden, then forecast."""

import numpy as np
import polars as pl

import neuro_divergent as nd


def waves(num_series: int, length: int, seed: int) -> pl.DataFrame:
    """Return series that rise fast and fall slowly, each in a rhythm of its own."""
    random, time = np.random.default_rng(seed), np.arange(length)
    frames = []
    for index in range(num_series):
        phase = (time / random.uniform(6, 14) + random.uniform()) % 1
        values = np.where(phase < 0.3, phase / 0.3, (1 - phase) / 0.7) + random.normal(0, 0.02, length)
        frames.append(pl.DataFrame({"unique_id": f"wave {index}", "ds": time, "y": values}))
    return pl.concat(frames)


many, few, new = waves(100, 120, seed=0), waves(10, 48, seed=5), waves(200, 40, seed=9)
known, ahead = new.filter(pl.col("ds") < 32), new.filter(pl.col("ds") >= 32)


def error(forecaster: nd.Forecaster) -> float:
    """Return the mean squared error on series that nothing was learned from."""
    compared = forecaster.predict(known).join(ahead, on=["unique_id", "ds"])
    return compared.select((pl.col("forecast") - pl.col("y")).pow(2).mean()).item()


# What is hidden in one patch must not be readable in the next, so the stride is the length of a patch.
patches = nd.PatchTST(
    patch_length=4,
    stride=4,
    hidden_size=32,
    num_heads=4,
    num_layers=2,
    feedforward_size=64,
    dropout=0.0,
    norm="layer",
)
training = nd.TrainingConfig(max_steps=150, batch_size=64, threads=1)
forecaster = nd.Forecaster(patches, horizon=8, input_size=32, loss="mse", validation=0, training=training)
from_scratch = error(forecaster.fit(few))

longer = training.replace(max_steps=500, optimizer=nd.AdamW(lr=3e-3))
pretrained = forecaster.pretrain(many, mask_fraction=0.4, training=longer)
fine_tuned = error(forecaster.fit(few, initial=pretrained))

print(f"mean squared error from scratch: {from_scratch:.4f}, after pre-training: {fine_tuned:.4f}")
print("pre-training helps" if fine_tuned < 0.9 * from_scratch else "pre-training does not help")
