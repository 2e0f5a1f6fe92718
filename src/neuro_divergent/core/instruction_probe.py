"""Computes in short types, to find out in a process of its own whether this processor does.

``python -m neuro_divergent.core.instruction_probe bf16 fp16`` does what training does with each type in turn, and then
what it does in float32, and writes a JSON line for each: ``["bf16", null]``, or the reason why it does not work, after
which it ends. A processor that shows instructions it does not run ends this process without a line.
"""

from __future__ import annotations

import json
import sys

import torch
from torch import Tensor, nn

_TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
_TOLERANCE = 0.05  # bfloat16 has three digits


def _differentiated(module: nn.Module, inputs: Tensor) -> Tensor:
    """Return outputs, after a backward pass through them."""
    output: Tensor = module(inputs)
    output.float().square().mean().backward()  # type: ignore[no-untyped-call]
    if not torch.isfinite(output).all():
        raise ArithmeticError("values that are not finite")
    return output.detach().float()


class _Recurrent(nn.Module):
    """An LSTM, which training leaves in float32 also under short types."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTM(32, 64, batch_first=True)

    def forward(self, inputs: Tensor) -> Tensor:
        with torch.autocast("cpu", enabled=False):
            output: Tensor = self.cell(inputs.float())[0]
        return output


class _Attention(nn.Module):
    """Products of batches of matrices."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(32, 32)

    def forward(self, inputs: Tensor) -> Tensor:
        query: Tensor = self.project(inputs)
        return torch.softmax(query @ query.transpose(1, 2), dim=-1) @ query


def probe(name: str) -> None:
    """Compute in a short type, compare with float32, and compute in float32 afterwards.

    Raises:
        Exception: Whatever torch raises, if it does not work.
    """
    torch.manual_seed(0)
    inputs = torch.randn(16, 64, 32)
    modules = [
        nn.Sequential(nn.Linear(32, 256), nn.GELU(), nn.LayerNorm(256), nn.Linear(256, 64)),
        _Attention(),
        nn.Conv1d(64, 64, 5, padding=2),
        nn.Sequential(nn.Unflatten(1, (8, 8)), nn.Conv2d(8, 16, 3), nn.GELU()),
        _Recurrent(),
    ]
    with torch.autocast("cpu", _TYPES[name]):
        found = [_differentiated(module, inputs) for module in modules]
    expected = [_differentiated(module, inputs) for module in modules]
    for first, second in zip(found, expected, strict=True):
        if (first - second).abs().max() > _TOLERANCE * second.abs().max():
            raise ArithmeticError("values that are wrong")


def main(names: list[str]) -> None:
    """Write a line for each type until one does not work."""
    torch.set_num_threads(1)
    for name in names:
        try:
            probe(name)
            problem = None
        except Exception as error:  # noqa: BLE001 - whatever a type fails with here is the answer
            problem = f"{type(error).__name__}: {' '.join(str(error).split())}"
        sys.stdout.write(json.dumps([name, problem]) + "\n")
        sys.stdout.flush()
        if problem is not None:
            return


if __name__ == "__main__":
    main(sys.argv[1:])
