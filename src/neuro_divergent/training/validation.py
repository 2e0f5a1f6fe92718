"""What is measured in a validation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from neuro_divergent.data.loader import Loader
from neuro_divergent.training.metrics import metric_for
from neuro_divergent.training.objective import Objective
from neuro_divergent.training.running_metrics import WeightedMean
from neuro_divergent.training.strategy import Strategy
from neuro_divergent.training.train_step import TrainStep

Measure = Callable[[Tensor, Any], Tensor]


class Validation:
    """Measures the loss, metrics that have names and measures, which are functions of output and batch."""

    def __init__(
        self,
        train_step: TrainStep,
        objective: Objective,
        strategy: Strategy,
        names: Sequence[str],
        measures: Mapping[str, Measure],
    ) -> None:
        self._train_step = train_step
        self._objective = objective
        self._strategy = strategy
        self._metrics = {name: metric_for(name, objective.loss) for name in names}
        self._measures = measures

    @torch.inference_mode()
    def measure(self, module: nn.Module, loader: Loader, continues: Callable[[], bool]) -> dict[str, float] | None:
        """Return the loss, each target counted by its weight, and the metrics.

        ``continues`` is called after each batch; the result is ``None`` if it returns ``False``.
        """
        results = WeightedMean()
        for batch in loader.epoch(0):
            output, example = self._train_step.forward(module, batch)
            results.add("validation_loss", *self._objective.total(output, example), self._objective.finish)
            for name, metric in self._metrics.items():
                results.add(f"validation_{name}", *self._objective.measure(metric, output, example), metric.finish)
            for name, measure in self._measures.items():
                measured = torch.as_tensor(measure(output, batch))
                results.add(f"validation_{name}", *self._objective.count(measured, example))
            if not continues():
                return None
        return results.means(self._strategy.all_reduce)
