"""A gradient tape, as TensorFlow has one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Literal, Self

import torch
from torch import Tensor, nn
from torch.autograd.graph import GradientEdge, get_gradient_edge

from neuro_divergent.core.errors import InputError, did_you_mean
from neuro_divergent.training.gradients.transforms.clip import Clip, ClipNorm

Source = Tensor | str | nn.Module | Sequence["Source"] | Mapping[str, "Source"]

_RECORDING: ContextVar[tuple[GradientTape, ...]] = ContextVar("recording", default=())


class GradientTape:
    """Records what is computed inside a ``with`` block, and differentiates it.

    It is torch's own tape with a face of its own: parameters and other tensors that require gradients are watched
    already, ``.grad`` is never touched, and gradients are recorded also inside ``torch.no_grad``.

    ::

        with nd.GradientTape() as tape:
            rate = tape.watch(torch.tensor(0.1), "rate")
            loss = tape.record(network(inputs) * rate, "output").square().mean()
        of_rate, of_output = tape.gradient(loss, ["rate", "output"])

    A gradient computed inside the block of another tape can be differentiated by that tape: this is how second
    derivatives are made.

    Args:
        persistent: Whether gradients can be computed more than once. What it recorded then stays in memory for as long
            as the recorded tensors do.

    Examples:
        First and second derivative of the third power at 2:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> with nd.GradientTape() as outer:
        ...     x = outer.watch(torch.tensor(2.0))
        ...     with nd.GradientTape() as inner:
        ...         slope = inner.gradient(x**3, x)
        >>> slope.item(), outer.gradient(slope, x).item()
        (12.0, 12.0)
    """

    def __init__(self, *, persistent: bool = False) -> None:
        self.persistent = persistent
        self._values: dict[str, Tensor] = {}
        self._watched: dict[int, tuple[Tensor, GradientEdge]] = {}
        self._was_read = False
        self._block = ExitStack()

    def __enter__(self) -> Self:
        self._values, self._watched, self._was_read = {}, {}, False
        # Leaving inference mode turns gradients on, whether it was on or only ``no_grad`` was.
        self._block.enter_context(torch.inference_mode(False))
        token = _RECORDING.set((*_RECORDING.get(), self))
        self._block.callback(_RECORDING.reset, token)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for tensor, _ in self._watched.values():
            tensor.requires_grad_(False)
        self._block.close()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of watched and recorded values, in the order they came."""
        return tuple(self._values)

    def value(self, name: str) -> Tensor:
        """Return a watched or recorded value by its name."""
        if name not in self._values:
            known = f" Known: {', '.join(self.names)}." if self.names else " None has a name."
            raise InputError(f"the tape holds no value {name!r}.{did_you_mean(name, self.names)}{known}")
        return self._values[name]

    def watch(self, tensor: Tensor, name: str | None = None) -> Tensor:
        """Follow what happens to a tensor from here to the end of the block, and return it.

        Args:
            tensor: Any tensor of real or complex numbers. After the block it requires gradients only if it did before.
            name: A name to ask for it by.
        """
        if self not in _RECORDING.get():
            raise InputError("a tape watches inside its block only: with GradientTape() as tape: tape.watch(...)")
        if not tensor.is_floating_point() and not tensor.is_complex():
            raise InputError(f"{tensor.dtype} has no gradient; watch floating point numbers.")
        if tensor.is_inference():
            raise InputError("a tensor made in inference mode cannot be watched; watch a clone() of it.")
        if not tensor.requires_grad:
            tensor.requires_grad_(True)
            self._watched[id(tensor)] = (tensor, get_gradient_edge(tensor))
        return tensor if name is None else self.record(tensor, name)

    def record(self, value: Tensor, name: str) -> Tensor:
        """Record a value under a name, for reading it or its gradient later, and return it."""
        if name in self._values:
            raise InputError(f"the tape already holds a value {name!r}; give each its own name.")
        self._values[name] = value
        return value

    def gradient(
        self,
        target: Tensor | str,
        sources: Source,
        *,
        clip: Clip | float | None = None,
        create_graph: bool | None = None,
        unconnected: Literal["none", "zero"] = "none",
    ) -> Any:
        """Return how the target changes with each source.

        Args:
            target: A tensor or the name of one. The gradient of a tensor of several numbers is that of their sum.
            sources: A tensor, the name of one, a module (which stands for a dict of its parameters), or a list, tuple
                or dict of these, also nested.
            clip: How to bound the gradients, all together; a number is the largest norm. Clipped gradients cannot be
                differentiated again.
            create_graph: Whether the gradients can be differentiated again; by default if another tape is recording.
            unconnected: What to return where the target does not depend on the source: ``None`` or zeros.

        Returns:
            Gradients, in the structure of the sources.

        Raises:
            InputError: If a source was not watched, or the tape was read before and is not persistent.
        """
        wanted = self._resolve(sources)
        tensors = list(_leaves(wanted))
        recording = _RECORDING.get()
        again = any(tape is not self for tape in recording) if create_graph is None else create_graph
        if clip is not None:
            if create_graph:
                raise InputError("clipped gradients cannot be differentiated again: leave out clip or create_graph.")
            again = False
        if create_graph and self not in recording and any(id(tensor) in self._watched for tensor in tensors):
            raise InputError("a watched tensor is differentiated twice inside the block: ask for its gradient there.")
        gradients = self._read(self._target(target), tensors, create_graph=again)
        if clip is not None:
            gradients = _clip(tensors, gradients, ClipNorm(clip) if isinstance(clip, (int, float)) else clip)
        if unconnected == "zero":
            gradients = [
                torch.zeros_like(tensor) if gradient is None else gradient
                for tensor, gradient in zip(tensors, gradients, strict=True)
            ]
        return _refill(wanted, iter(gradients))

    def jacobian(self, target: Tensor | str, source: Tensor | str) -> Tensor:
        """Return the derivative of every number of the target by every number of the source.

        All of it is worked out at once, which takes memory for each number of the target.

        Returns:
            A tensor of the target's shape followed by the source's; zeros where nothing depends.
        """
        output, tensor = self._target(target), self._tensor(source)
        each = torch.eye(output.numel(), dtype=output.dtype, device=output.device).view(-1, *output.shape)
        (rows,) = self._read(output, [tensor], each)
        return (
            tensor.new_zeros(*output.shape, *tensor.shape) if rows is None else rows.view(*output.shape, *tensor.shape)
        )

    def _read(
        self, target: Tensor, tensors: list[Tensor], each: Tensor | None = None, *, create_graph: bool = False
    ) -> list[Tensor | None]:
        """Go backwards from the target, once, or for each of several weightings of its numbers."""
        if self._was_read and not self.persistent:
            raise InputError("this tape was read already; GradientTape(persistent=True) can be read more than once.")
        self._was_read = True
        found = [place for place, tensor in enumerate(tensors) if self._is_watched(tensor)]
        result: list[Tensor | None] = [None] * len(tensors)
        if not found or not target.requires_grad:
            return result
        # A tensor that was watched for the block alone is found in the graph after it too.
        known = {key: edge for key, (_, edge) in self._watched.items()}
        edges = [known.get(id(tensors[place])) or get_gradient_edge(tensors[place]) for place in found]
        gradients = torch.autograd.grad(
            [target],
            edges,
            [torch.ones_like(target) if each is None else each],
            retain_graph=self.persistent or create_graph,
            create_graph=create_graph,
            allow_unused=True,
            is_grads_batched=each is not None,
        )
        for place, gradient in zip(found, gradients, strict=True):
            result[place] = gradient
        return result

    def _is_watched(self, tensor: Tensor) -> bool:
        return tensor.requires_grad or id(tensor) in self._watched

    def _target(self, target: Tensor | str) -> Tensor:
        return self.value(target) if isinstance(target, str) else target

    def _tensor(self, source: Tensor | str) -> Tensor:
        tensor = self.value(source) if isinstance(source, str) else source
        if not self._is_watched(tensor):
            name = f" {source!r}" if isinstance(source, str) else f" shaped {tuple(tensor.shape)}"
            raise InputError(f"the source{name} was not watched: call tape.watch(tensor) before it is used.")
        return tensor

    def _resolve(self, source: Source) -> Any:
        """Return the sources as tensors in lists, tuples and dicts."""
        if isinstance(source, (Tensor, str)):
            return self._tensor(source)
        if isinstance(source, nn.Module):
            return dict(source.named_parameters())  # frozen ones too: their gradient is unconnected
        if isinstance(source, Mapping):
            return {name: self._resolve(item) for name, item in source.items()}
        if isinstance(source, (list, tuple)):
            resolved = [self._resolve(item) for item in source]
            return resolved if isinstance(source, list) else tuple(resolved)
        raise InputError(f"a source is a tensor, a name, a module, or a list or dict of these; got {source!r}.")


def _leaves(structure: Any) -> Iterator[Tensor]:
    if isinstance(structure, Tensor):
        yield structure
    else:
        for item in structure.values() if isinstance(structure, dict) else structure:
            yield from _leaves(item)


def _refill(structure: Any, values: Iterator[Tensor | None]) -> Any:
    """Return the structure with its tensors exchanged, in order."""
    if isinstance(structure, Tensor):
        return next(values)
    if isinstance(structure, dict):
        return {name: _refill(item, values) for name, item in structure.items()}
    return type(structure)(_refill(item, values) for item in structure)


def _clip(tensors: list[Tensor], gradients: list[Tensor | None], clip: Clip) -> list[Tensor | None]:
    """Bound gradients the way training does it, on temporary parameters that hold them."""
    carriers: list[nn.Parameter] = []
    for tensor, gradient in zip(tensors, gradients, strict=True):
        carrier = nn.Parameter(tensor.detach())
        # Two sources may share one gradient, and clipping writes to it.
        carrier.grad = None if gradient is None else gradient.detach().clone()
        carriers.append(carrier)
    clip.clip([carrier for carrier in carriers if carrier.grad is not None])
    return [carrier.grad for carrier in carriers]
