"""Muon, with AdamW for what it is not made for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.core.errors import MissingDependencyError
from neuro_divergent.training.optimizers.adam import AdamW
from neuro_divergent.training.optimizers.base import trained
from neuro_divergent.training.optimizers.patterns import matching

if TYPE_CHECKING:
    import torch
    from torch import nn


@register("muon")
class Muon(AdamW):
    """Makes the update of each hidden matrix nearly orthogonal (Jordan et al., 2024); AdamW trains the rest.

    As its authors advise, the rest is everything that is not a matrix, embeddings, and the output layer, taken to be
    the last matrix of the network. Updates have the size of AdamW's (Liu et al., 2025), so that one learning rate and
    one weight decay suit both. ``betas``, ``eps`` and ``amsgrad`` are AdamW's. The orthogonalisation is in bfloat16,
    whatever the precision of the weights.

    Attributes:
        momentum: Momentum of the matrices.
        nesterov: Whether that is Nesterov's.
        iterations: How often the orthogonalisation is repeated.
        exclude: Patterns of more matrices to leave to AdamW, such as the output layers of a network with several.
    """

    momentum: float = Field(0.95, ge=0, lt=1)
    nesterov: bool = True
    iterations: int = Field(5, ge=1, lt=100)
    exclude: tuple[str, ...] = ()

    def build(self, module: nn.Module, names: Iterable[str] | None = None) -> torch.optim.Optimizer:
        """Return Muon and AdamW, joined, each over its share of the parameters."""
        from torch import optim

        from neuro_divergent.training.optimizers.joint import JointOptimizer

        if not hasattr(optim, "Muon"):
            raise MissingDependencyError("optimizer 'muon' needs torch 2.9. Run: pip install \"torch>=2.9\"")
        chosen = trained(module, names)
        hidden = self.hidden_matrices(module)
        shares = [[name for name in chosen if name in hidden], [name for name in chosen if name not in hidden]]
        members: list[optim.Optimizer] = []
        if shares[0]:
            members.append(
                optim.Muon(
                    self.arrange(module, shares[0]),
                    lr=self.lr,
                    momentum=self.momentum,
                    nesterov=self.nesterov,
                    ns_steps=self.iterations,
                    adjust_lr_fn="match_rms_adamw",
                )
            )
        if shares[1]:
            members.append(self.create(self.arrange(module, shares[1])))
        return JointOptimizer(members)

    def hidden_matrices(self, module: nn.Module) -> set[str]:
        """Return the names of the parameters that Muon is for."""
        from torch import nn

        names = [name for name, parameter in module.named_parameters() if parameter.ndim == 2]
        embeddings = {
            f"{name}.weight" if name else "weight"
            for name, part in module.named_modules()
            if isinstance(part, (nn.Embedding, nn.EmbeddingBag))
        }
        everything = [name for name, _ in module.named_parameters()]
        excluded = {name for pattern in self.exclude for name in matching(pattern, everything, "muon: exclude")}
        return set(names[:-1]) - embeddings - excluded
