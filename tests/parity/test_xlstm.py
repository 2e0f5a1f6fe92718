"""xLSTM gives the same forecasts as NeuralForecast 3.3.0 with the blocks of the authors' package, ``xlstm`` 2.0.6."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from neuro_divergent.core.spec import TaskSpec
from neuro_divergent.models.xlstm import XLSTM
from tests.parity.test_neuralforecast import batches, theirs

pytest.importorskip("xlstm", reason="xlstm is not installed: pip install --no-deps xlstm==2.0.6")

ENDS = ("weight", "bias")
INSIDE = {
    "widen": "proj_up",
    "convolution": "conv1d.conv",
    "query": "q_proj",
    "key": "k_proj",
    "value": "v_proj",
    "write": "mlstm_cell.igate",
    "keep": "mlstm_cell.fgate",
    "narrow": "proj_down",
}
OUTSIDE = {"encoder.0": "feature_projection", "to_horizon": "temporal_projection"}


def renamed(network: nn.Module) -> dict[str, Tensor]:
    """Return their weights under our names; their norms multiply by 1 more than their weights."""
    weights = network.state_dict()
    found = {f"{mine}.{end}": weights[f"{other}.{end}"] for mine, other in OUTSIDE.items() for end in ENDS}
    for block in range(2):
        root, own = f"hist_encoder.blocks.{block}.xlstm", f"encoder.{block + 1}"
        found |= {
            f"{own}.{mine}.{end}": weights[f"{root}.{other}.{end}"] for mine, other in INSIDE.items() for end in ENDS
        }
        found[f"{own}.skip"] = weights[f"{root}.learnable_skip"]
        found[f"{own}.norm.weight"] = 1 + weights[f"{root}_norm.weight"]
        found[f"{own}.heads_norm.gain"] = 1 + weights[f"{root}.mlstm_cell.outnorm.weight"]
    found["encoder.3.weight"] = 1 + weights["hist_encoder.post_blocks_norm.weight"]
    layers = {"decoder.0": "mlp_decoder.layers.0", "decoder.2": "mlp_decoder.layers.3"}
    return found | {f"{mine}.{end}": weights[f"{other}.{end}"] for mine, other in layers.items() for end in ENDS}


@pytest.mark.parametrize("spec", [TaskSpec(24, 96), TaskSpec(7, 13, outputs=3)], ids=["plain", "outputs"])
@torch.no_grad()
def test_same_size_and_same_forecast_with_the_same_weights(spec: TaskSpec) -> None:
    torch.manual_seed(0)
    their_network, network = theirs("xLSTM", spec), XLSTM().build(spec).eval()
    for value in their_network.parameters():  # the gates start at zero, and nothing would be seen of them
        nn.init.normal_(value, std=0.1)
    network.load_state_dict(renamed(their_network))
    batch, windows = batches(spec, missing=False)
    torch.testing.assert_close(network(batch)[:, :, 0], their_network(windows), atol=1e-5, rtol=1e-5)
