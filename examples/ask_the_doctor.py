"""A training that goes wrong, what the doctor says about it, and the same training with what was said to change."""

import tempfile
import warnings
from pathlib import Path

import neuro_divergent as nd
from neuro_divergent.data.datasets.synthetic import Synthetic

DATA = Synthetic(num_series=8, length=600, frequency="1h", seasonalities=(24,), noise=1.0).frame()

# The first training is hopeless on purpose, and says so by itself.
warnings.simplefilter("ignore", nd.errors.ForecastWarning)


def train(rate: float, run: Path) -> nd.Forecaster:
    """Train in a run directory, where everything that happens is written down."""
    training = nd.TrainingConfig(max_steps=300, optimizer=nd.AdamW(lr=rate), schedule="constant", threads=1)
    forecaster = nd.Forecaster(nd.MLP(hidden_size=64), horizon=24, input_size=72, test=96, training=training)
    return forecaster.fit(DATA, run=run)


with tempfile.TemporaryDirectory() as directory:
    slow = train(1e-7, Path(directory) / "slow")
    diagnosis = slow.diagnose()
    print(diagnosis)
    advised = next(change for change in diagnosis.changes if change.setting == "training.optimizer.lr")

    better = train(advised.value, Path(directory) / "better")
    errors = [nd.evaluate(forecaster).table["mae"][0] for forecaster in (slow, better)]
    print(f"mean absolute error: {errors[0]:.2f}, and {errors[1]:.2f} with lr={advised.value:g}")
    assert errors[1] < errors[0]

    # A run is files, so others can look at it too, also while it trains: nd dashboard, nd report, or a few lines.
    history = nd.runs.read_history(Path(directory) / "better")
    print(f"validation loss: {history['validation_loss'].drop_nulls().to_list()[-1]:.3f}")
    nd.plots.write_figure(nd.plots.plot_history(better), Path(directory) / "losses.html")
