"""A search over two architectures: the defaults, then what TPE proposes, and the Pareto front of error and size."""

import tempfile
from pathlib import Path

import neuro_divergent as nd
from neuro_divergent.data.datasets.synthetic import Synthetic

DATA = Synthetic(num_series=4, length=200, noise=2.0).frame()

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        study = nd.search.Study(
            nd.Forecaster("nlinear", horizon=7, training=nd.TrainingConfig(max_steps=100)),
            Path(directory) / "study",
            space={
                "model": ["nlinear", "mlp"],
                "mlp.hidden_size": [16, 64],
                "task.input_size": nd.search.horizons(1, 4),
                "training.optimizer.lr": nd.search.log(1e-4, 1e-1),
            },
            objectives=["mae", "parameters"],
        )
        study.run(DATA, trials=10)
        first, best = study.trials[0], study.best
        assert best is not None
        print(study.table.select("trial", "state", "mae", "parameters", "model"))
        print(f"{len(study.front)} trials on the Pareto front; trial {best.number} is recommended: {best.settings}")
        least = min(trial.values["mae"] for trial in study.front)
        print(f"the best error is {least / first.values['mae']:.0%} of that of the defaults")
