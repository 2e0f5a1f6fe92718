"""The settings of a run that a point of a space stands for, and whether its network can be built."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from neuro_divergent.core.errors import ConfigError, InputError
from neuro_divergent.core.spec import TaskSpec
from neuro_divergent.forecasting.run_config import RunConfig, override

if TYPE_CHECKING:
    from neuro_divergent.data.panel import Panel
    from neuro_divergent.data.windows import Windows
    from neuro_divergent.forecasting.task import Task


def config_for(base: RunConfig, point: Mapping[str, Any]) -> RunConfig:
    """Return the settings of a run with those of a point in place of its own.

    Raises:
        ConfigError: If settings do not fit together.
    """
    values = base.to_dict()
    if "model" in point:
        override(values, "model", point["model"])
    # What the family of the model recommends comes first, so that it does not replace what is searched.
    values = RunConfig.from_dict(values).resolve_training().to_dict()
    for key in sorted(point):  # a component comes before its settings
        override(values, key, point[key])
    return RunConfig.from_dict(values)


def require_buildable(base: RunConfig, point: Mapping[str, Any], panel: Panel) -> RunConfig:
    """Return the settings of a point, if its network can be built for some data; nothing is computed.

    Raises:
        InputError: With the reason why not.
    """
    import torch

    from neuro_divergent.data.lengths import check_lengths
    from neuro_divergent.forecasting.fitted import build_network
    from neuro_divergent.forecasting.forecaster import Forecaster

    config = config_for(base, point)
    forecaster = Forecaster.for_run(config)
    architecture, task = forecaster.architecture, forecaster.task
    task = task.replace(input_size=task.history_for(panel))
    check_lengths(panel, input_size=task.history, horizon=task.horizon)
    joint = architecture.traits.mixes_channels if task.joint is None else task.joint
    spec = TaskSpec(
        horizon=task.horizon,
        input_size=task.history,
        channels=panel.num_series if joint else 1,
        outputs=task.loss.outputs,
        past=panel.past,
        future=panel.future,
        static=panel.static,
    )
    try:
        try:
            with torch.device("meta"):  # shapes only: no memory, no random numbers
                build_network(architecture, task, spec)
        except NotImplementedError:  # a network that computes something from numbers while it is built
            build_network(architecture, task, spec)
    except InputError:
        raise
    except (ValueError, RuntimeError, AssertionError) as error:
        raise ConfigError(f"{architecture.name} cannot be built with these settings: {error}") from error
    return config


def training_windows(task: Task, panel: Panel) -> Windows:
    """Return the windows that a network is trained on, of a panel in which short series are padded or left out."""
    from neuro_divergent.data.lengths import check_lengths

    task = task.replace(input_size=task.history_for(panel), joint=False)
    return task.split(check_lengths(panel, input_size=task.history, horizon=task.horizon)).train
