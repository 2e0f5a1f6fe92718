"""An ensemble as one module: its members on the same windows, and their combination."""

from __future__ import annotations

from torch import Tensor, nn

from neuro_divergent.forecasting.ensemble.fitted import FittedEnsemble
from neuro_divergent.forecasting.predictor import Values
from neuro_divergent.serving.export.combination_module import CombinationModule
from neuro_divergent.serving.export.inputs import GraphInputs, together
from neuro_divergent.serving.export.network_module import NetworkModule
from neuro_divergent.serving.export.window_module import WindowModule


class EnsembleModule(WindowModule):
    """Members, each on as much of the history as it reads, and their combination.

    Args:
        fitted: The fitted ensemble.
        quantiles: Quantiles to forecast.

    Raises:
        ExportError: If a member or the combination cannot be exported.
        InputError: If the ensemble does not forecast these quantiles.
    """

    offsets: Tensor | None  # 1 H 1 Q

    def __init__(self, fitted: FittedEnsemble, quantiles: tuple[float, ...] = ()) -> None:
        super().__init__()
        combination = fitted.combination
        requested = combination.member_quantiles(quantiles)
        members = [NetworkModule(member, own) for member, own in zip(fitted.members, requested, strict=True)]
        self.members = nn.ModuleList(members)
        self.combination = CombinationModule(combination, quantiles)
        self.joint, self.lead_place = bool(fitted.task.joint), fitted.lead_place
        self.channels = fitted.members[self.lead_place].spec.channels
        self.input_size = fitted.task.history
        self.requires_known = any(member.requires_known for member in members)
        self.takes_series = not self.joint and any(member.takes_series for member in members)
        self.integer_valued = not combination.is_measured and all(member.integer_valued for member in members)
        offsets = fitted.quantile_offsets(quantiles) if combination.is_measured and quantiles else None
        if offsets is None:
            self.offsets = None
        else:
            self.register_buffer("offsets", offsets[None, :, None, :], persistent=False)

    def forward(self, inputs: GraphInputs) -> Values:
        point, quantiles = self.combination([self._member(member, inputs) for member in self.members])
        if self.offsets is None:
            return point, quantiles
        lead = self.members[self.lead_place]
        assert isinstance(lead, NetworkModule)
        return point, lead.around(inputs.last(lead.input_size), point, self.offsets)

    def _member(self, member: nn.Module, inputs: GraphInputs) -> Values:
        assert isinstance(member, NetworkModule)
        inputs = inputs.last(member.input_size)
        if member.joint == self.joint:
            values: Values = member(inputs)
            return values
        point, quantiles = member(inputs.apart())
        return together(point, self.channels), None if quantiles is None else together(quantiles, self.channels)
