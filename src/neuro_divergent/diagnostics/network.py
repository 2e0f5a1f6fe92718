"""A look inside a trained network: what it is made of, its weights, and what its units do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuro_divergent.core.errors import InputError

if TYPE_CHECKING:
    from neuro_divergent.forecasting.forecaster import Forecaster

_FEWEST = 16


def analyse_network(forecaster: Forecaster, *, rows: int = 256) -> dict[str, Any]:
    """Describe the network of a trained forecaster in plain values, finite or ``None``.

    The network stays as it is: weights, mode, hooks and random state.

    Args:
        forecaster: A trained forecaster. One that was loaded holds no more than the end of each series, so that there
            are as many windows as series to see activations with.
        rows: Windows of the training part to send through it. One that spans many series counts as many.

    Returns:
        ``parameters`` (their number), ``blocks`` (as ``structure.describe_network`` gives them), ``weights``
        (``weights.describe_weights``) and ``activations`` (``activations.describe_activations``).
    """
    from neuro_divergent.diagnostics.activations import describe_activations
    from neuro_divergent.diagnostics.sample import sample_windows
    from neuro_divergent.diagnostics.structure import describe_network
    from neuro_divergent.diagnostics.weights import describe_weights

    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise InputError(f"rows: {rows!r} must be a whole number of at least 1.")
    network = forecaster.fitted.predictor.network
    batch = sample_windows(forecaster, max(rows // forecaster.fitted.spec.channels, min(rows, _FEWEST)))
    return {
        "parameters": sum(parameter.numel() for parameter in network.parameters()),
        "blocks": describe_network(network, batch),
        "weights": describe_weights(network),
        "activations": describe_activations(network, batch),
    }
