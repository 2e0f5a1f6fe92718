"""NeuralForecast: ``AutoNHITS`` with its own space, searched by Optuna for as long as the budget lasts.

Its last trial and the training of the best one come on top of the budget.
"""

from __future__ import annotations

import logging
import warnings

from automatic.sides.task import Task

_TRIALS = 1000  # more than there is time for


def main() -> None:
    """Search on what is known at the first cut-off, and forecast from all."""
    from neuralforecast import NeuralForecast
    from neuralforecast.auto import AutoNHITS
    from neuralforecast.losses.pytorch import MAE

    for name in ("pytorch_lightning", "lightning_fabric", "lightning.fabric", "lightning.pytorch"):
        logging.getLogger(name).setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    task = Task()
    model = AutoNHITS(
        h=task.horizon,
        loss=MAE(),
        config=_space(task.horizon),
        num_samples=_TRIALS,
        time_budget=int(task.budget),
        refit_with_val=True,
        backend="optuna",
    )
    forecaster = NeuralForecast([model], freq=task.frequency)
    forecaster.fit(task.known(0), val_size=task.horizon)
    for cutoff in range(task.cutoffs):
        task.write(cutoff, forecaster.predict(task.known(cutoff)).reset_index(), "AutoNHITS")


def _space(horizon: int) -> object:
    """Return its default space, with start padding, without which short series are refused, and no files."""
    from neuralforecast.auto import AutoNHITS

    default = AutoNHITS.get_default_config(h=horizon, backend="optuna")
    quiet = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    return lambda trial: {
        **default(trial),
        **quiet,
        "enable_checkpointing": False,
        "start_padding_enabled": True,
        "early_stop_patience_steps": -1,
    }


if __name__ == "__main__":
    main()
