"""Description of a trained network: structure, weights and activations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from neuro_divergent.core.errors import InputError

if TYPE_CHECKING:
    from neuro_divergent.forecasting.forecaster import Forecaster

_FEWEST = 16


def analyse_network(forecaster: Forecaster, *, rows: int = 256) -> dict[str, Any]:
    """Describe the network of a trained forecaster in plain values, finite or ``None``.

    The network does not change: weights, mode, hooks and random state are restored.

    Args:
        forecaster: A trained forecaster. A loaded one holds only the end of each series, so that activations are
            computed on one window per series.
        rows: Windows of the training part for the forward pass. A window of several series counts once for each.

    Returns:
        ``parameters`` (their number), ``blocks`` (as ``structure.describe_network`` gives them), ``weights``
        (``weights.describe_weights``) and ``activations`` (``activations.describe_activations``).

    Examples:
        >>> import neuro_divergent as nd
        >>> forecaster = nd.Forecaster("nlinear", horizon=12, input_size=36, training=nd.TrainingConfig(max_steps=20))
        >>> found = nd.diagnostics.analyse_network(forecaster.fit(nd.datasets.air_passengers()))
        >>> found["parameters"]
        444
        >>> sorted(found)
        ['activations', 'blocks', 'parameters', 'weights']
    """
    from neuro_divergent.diagnostics.activations import describe_activations
    from neuro_divergent.diagnostics.sample import sample_windows
    from neuro_divergent.diagnostics.structure import describe_network
    from neuro_divergent.diagnostics.weights import describe_weights

    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise InputError(f"rows: {rows!r} must be an integer of at least 1.")
    network = forecaster.fitted.predictor.network
    batch = sample_windows(forecaster, max(rows // forecaster.fitted.spec.channels, min(rows, _FEWEST)))
    return {
        "parameters": sum(parameter.numel() for parameter in network.parameters()),
        "blocks": describe_network(network, batch),
        "weights": describe_weights(network),
        "activations": describe_activations(network, batch),
    }
