"""The weights of several networks of one shape, as rows of a few matrices."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from neuro_divergent.core.spec import Batch

Cost = Callable[[Tensor, Any], Tensor]
"""The loss of a batch as a function of the output of a network and the batch."""


class _Slot(NamedTuple):
    """Where a parameter is: the matrix, and its first and last column there."""

    name: str
    shape: torch.Size
    matrix: int
    begin: int
    end: int


class ModuleStack:
    """Networks whose weights are rows of matrices, so that one operation works on all of them.

    There is one matrix for each parameter group of the optimizer, ``(networks, weights of the group)``. The parameters
    of the networks are views of them: whatever reads or writes the weights of a network reads or writes its row.

    Args:
        modules: Networks with parameters of the same names and shapes. Buffers must be the same in all of them, and
            stay so.
        groups: Parameters of the first network, by group.
        cost: The loss of a batch.

    Attributes:
        modules: The networks that are in it, one for each row.
        matrices: The weights.
        gradients: Their gradients, after ``differentiate``.
    """

    def __init__(self, modules: Sequence[nn.Module], groups: Sequence[Sequence[nn.Parameter]], cost: Cost) -> None:
        self.modules = list(modules)
        names = {parameter: name for name, parameter in modules[0].named_parameters()}
        self._slots: list[_Slot] = []
        for matrix, group in enumerate(groups):
            places = pairwise(accumulate((parameter.numel() for parameter in group), initial=0))
            for parameter, (begin, end) in zip(group, places, strict=True):
                self._slots.append(_Slot(names[parameter], parameter.shape, matrix, begin, end))
        of_modules = [dict(module.named_parameters()) for module in modules]
        self.matrices = [
            nn.Parameter(
                torch.stack(
                    [
                        torch.cat([own[slot.name].detach().flatten() for slot in self._slots if slot.matrix == matrix])
                        for own in of_modules
                    ]
                )
            )
            for matrix in range(len(groups))
        ]
        # A network of its own: those in the stack are switched between training and validation.
        self._template = copy.deepcopy(modules[0]).train()
        self._cost = cost
        self._fields: tuple[str, ...] = ()
        self._losses = vmap(self._loss)
        self._connect()

    def differentiate(self, batch: Batch, rows: Sequence[int] | None = None) -> Tensor:
        """Set the gradients of the losses of some networks, each on its own part of a batch, and return the losses.

        The batch has an axis for the networks before the others. ``rows`` are those of the networks; ``None`` for all.
        """
        present = {name: item for name, item in batch._asdict().items() if item is not None}
        self._fields = tuple(present)
        weights = self._weights
        if rows is not None:
            places = torch.tensor(rows, device=weights[0].device)
            weights = [item.detach()[places].requires_grad_() for item in weights]
        losses: Tensor = self._losses(weights, tuple(present.values()))
        found = torch.autograd.grad(losses.sum(), weights)
        for number, gradient in enumerate(self.gradients):
            parts = [
                item.reshape(len(losses), -1)
                for item, slot in zip(found, self._slots, strict=True)
                if slot.matrix == number
            ]
            if rows is None:
                torch.cat(parts, dim=1, out=gradient)
            else:
                gradient[places] = torch.cat(parts, dim=1)
        return losses.detach()

    def keep(self, rows: Sequence[int]) -> None:
        """Keep some networks only; the others get weights of their own."""
        for row in set(range(len(self.modules))) - set(rows):
            for parameter in self.modules[row].parameters():
                parameter.data = parameter.data.clone()
        self.modules = [self.modules[row] for row in rows]
        for matrix in self.matrices:
            matrix.data = matrix.data[list(rows)]
        self._connect()

    def expose_gradients(self, row: int) -> None:
        """Give the parameters of a network its gradients, for those who explain what went wrong with them."""
        parameters = dict(self.modules[row].named_parameters())
        for slot in self._slots:
            parameters[slot.name].grad = self._part(self.gradients[slot.matrix][row], slot).clone()

    def split(self, matrix: int, row: Tensor) -> dict[str, Tensor]:
        """Return a row that belongs to a matrix, such as one of the optimizer's state, by parameter."""
        return {slot.name: self._part(row, slot) for slot in self._slots if slot.matrix == matrix}

    def _connect(self) -> None:
        """Make the parameters of the networks views of the matrices."""
        self.gradients = [torch.empty_like(matrix, requires_grad=False) for matrix in self.matrices]
        for matrix, gradient in zip(self.matrices, self.gradients, strict=True):
            matrix.grad = gradient
        self._weights = [
            self.matrices[slot.matrix]
            .detach()[:, slot.begin : slot.end]
            .view(len(self.modules), *slot.shape)
            .requires_grad_()
            for slot in self._slots
        ]
        for row, module in enumerate(self.modules):
            parameters = dict(module.named_parameters())
            for slot in self._slots:
                parameters[slot.name].data = self._part(self.matrices[slot.matrix].data[row], slot)

    def _loss(self, weights: list[Tensor], tensors: tuple[Tensor, ...]) -> Tensor:
        """Return the loss of one network on its batch."""
        batch = Batch(**dict(zip(self._fields, tensors, strict=True)))
        named = {slot.name: item for slot, item in zip(self._slots, weights, strict=True)}
        return self._cost(functional_call(self._template, named, (batch,)), batch)

    @staticmethod
    def _part(row: Tensor, slot: _Slot) -> Tensor:
        return row[slot.begin : slot.end].view(slot.shape)
