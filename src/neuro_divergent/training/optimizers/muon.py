"""Muon for hidden matrices, with AdamW for the other parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from neuro_divergent.core.config import register
from neuro_divergent.core.errors import MissingDependencyError
from neuro_divergent.training.optimizers.adam import AdamW
from neuro_divergent.training.optimizers.base import Scope, trained
from neuro_divergent.training.optimizers.patterns import matching

if TYPE_CHECKING:
    import torch
    from torch import nn


@register("muon")
class Muon(AdamW):
    """Makes the update of each hidden matrix nearly orthogonal (Jordan et al., 2024); AdamW trains the rest.

    As its authors advise, the rest is everything that is not a matrix, embeddings, and the output layer, taken to be
    the last matrix of the network. Updates have the size of AdamW's (Liu et al., 2025), so that one learning rate and
    one weight decay suit both. ``betas``, ``eps`` and ``amsgrad`` are AdamW's.

    Attributes:
        momentum: Momentum of the matrices.
        nesterov: Whether that is Nesterov's.
        iterations: How often the orthogonalisation is repeated.
        exclude: Patterns of more matrices to leave to AdamW, such as the output layers of a network with several.

    Examples:
        The first and the second matrix are hidden ones; the output layer and all biases are left to AdamW:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> layers = [torch.nn.Linear(4, 8), torch.nn.Linear(8, 8), torch.nn.Linear(8, 1)]
        >>> sorted(nd.optimizers.Muon().hidden_matrices(torch.nn.Sequential(*layers)))
        ['0.weight', '1.weight']
    """

    elementwise: ClassVar[bool] = False

    momentum: float = Field(default=0.95, ge=0, lt=1)
    nesterov: bool = True
    iterations: int = Field(default=5, ge=1, lt=100)
    exclude: tuple[str, ...] = ()

    @property
    def scope(self) -> Scope:
        return "tensor"

    def build(self, module: nn.Module, names: Iterable[str] | None = None) -> torch.optim.Optimizer:
        """Return Muon and AdamW, joined, each over its part of the parameters."""
        from torch import optim

        from neuro_divergent.training.optimizers.joint import JointOptimizer

        if not hasattr(optim, "Muon"):
            raise MissingDependencyError("optimizer 'muon' needs torch 2.9. Run: pip install \"torch>=2.9\"")
        chosen = trained(module, names)
        hidden = self.hidden_matrices(module)
        parts = {
            self._orthogonal: [name for name in chosen if name in hidden],
            self.create: [name for name in chosen if name not in hidden],
        }
        return JointOptimizer([make(self.arrange(module, part)) for make, part in parts.items() if part])

    def create(self, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
        return AdamW(lr=self.lr, betas=self.betas, eps=self.eps, amsgrad=self.amsgrad).create(groups)

    def _orthogonal(self, groups: list[dict[str, Any]]) -> torch.optim.Optimizer:
        from torch.optim import Muon

        from neuro_divergent.training.optimizers.orthogonal import FullPrecisionMuon

        on_processor = all(parameter.device.type == "cpu" for group in groups for parameter in group["params"])
        return (FullPrecisionMuon if on_processor else Muon)(
            groups,
            lr=self.lr,
            momentum=self.momentum,
            nesterov=self.nesterov,
            ns_steps=self.iterations,
            adjust_lr_fn="match_rms_adamw",
        )

    def hidden_matrices(self, module: nn.Module) -> set[str]:
        """Return the names of the parameters that Muon is for."""
        from torch import nn

        embeddings = {id(part.weight) for part in module.modules() if isinstance(part, (nn.Embedding, nn.EmbeddingBag))}
        parameters = dict(module.named_parameters())
        matrices = [name for name, item in parameters.items() if item.ndim == 2 and id(item) not in embeddings]
        excluded = {name for pattern in self.exclude for name in matching(pattern, parameters, "muon: exclude")}
        return set(matrices[:-1]) - excluded
