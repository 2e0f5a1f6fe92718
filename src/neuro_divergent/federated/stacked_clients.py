"""Several clients of one process, trained in one step for all of them."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn

from neuro_divergent.core.arrays import Ints
from neuro_divergent.core.seeding import seeded
from neuro_divergent.core.spec import Batch
from neuro_divergent.core.threads import using_threads
from neuro_divergent.data.loader import WindowLoader
from neuro_divergent.federated.client import Client
from neuro_divergent.federated.update import RoundTask, Update
from neuro_divergent.training.engine import Trainer
from neuro_divergent.training.objective import Example
from neuro_divergent.training.optimizers.base import GroupedOptimizer
from neuro_divergent.training.vectorized.module_stack import ModuleStack
from neuro_divergent.training.vectorized.speed import WORTHWHILE, speedup
from neuro_divergent.training.vectorized.stacked_optimizer import StackedOptimizer, clip_rows
from neuro_divergent.training.vectorized.support import clip_of, why_not
from neuro_divergent.training.vectorized.trainer import Member, vectorized_threads

_MOST_BYTES = 2**28  # of windows that are kept in memory
_FEW = 16  # clients that are enough to see whether it pays


class StackedClients:
    """Trains clients together: the weights of each are a row of a matrix, and a step changes all rows.

    Updates differ by rounding from those that each client makes by itself.

    Args:
        clients: All clients of a federation in this process.
    """

    def __init__(self, clients: Sequence[Client]) -> None:
        self._clients = list(clients)
        self._places = {client.name: place for place, client in enumerate(clients)}

    def why_not(self, *, forced: bool) -> str | None:
        """Return why the clients are not trained so: it is not possible or, unless it is ``forced``, not faster."""
        first = self._clients[0]
        aggregation = first.shared.config.federation.aggregation
        if len(self._clients) < 2:
            return "there is one client"
        if aggregation.has_client_state or aggregation.transforms({}, _Nothing()):
            return f"{aggregation.name} changes the gradients of each client"
        task = first.shared.task
        if task.series_scaler is not None and task.loss.traits.requires_original_scale:
            return f"{task.loss.name} needs the parameters of each series scaler"
        if len({_fields(client) for client in self._clients}) > 1:
            return "some clients have missing values, and others have none"
        if not all(client.training.loader.takes_all for client in self._clients):
            return "long series of a client give fewer windows to an epoch; set task.balance to 0"
        if self._num_bytes > _MOST_BYTES:
            return "the windows of all clients do not fit into memory"
        some = self._clients[:_FEW]
        members = [self._member(client) for client in some]
        reason = why_not(members)
        if reason is not None:
            return reason
        gain = speedup(members)
        if gain == 0:
            return "torch has no batching rule for a layer, or a layer draws random numbers or changes buffers"
        if gain < WORTHWHILE and not forced:
            return f"it is {gain:.2f} times as fast as one after the other"
        return None

    def train(self, task: RoundTask, chosen: Sequence[Client]) -> list[Update | str]:
        """Train some clients for a round; return the update of each, or why it has none."""
        first = chosen[0]
        layout = first.shared.layout
        layout.write(first.shared.network, task.weights)
        modules = [copy.deepcopy(first.shared.network).train() for _ in chosen]
        trainer = first.training.trainer(modules[0], first.seed(task.round), task.lr_scale)
        orders = [_Order(client, task.round) for client in chosen]
        with ExitStack() as contexts:
            contexts.enter_context(seeded(first.seed(task.round)))
            contexts.enter_context(using_threads(self._threads))
            losses = self._run(trainer, modules, orders, [self._places[client.name] for client in chosen])
        found: list[Update | str] = []
        for client, module, loss in zip(chosen, modules, losses, strict=True):
            delta = layout.read(module) - task.weights
            if math.isfinite(loss) and bool(delta.isfinite().all()):
                found.append(client.update(task.round, delta, loss))
            else:
                found.append("the loss or the weights became NaN or infinite")
        return found

    def _run(self, trainer: Trainer, modules: list[nn.Module], orders: list[_Order], places: list[int]) -> list[float]:
        """Make all steps, and return the mean loss of each client."""
        config, objective = trainer.config, trainer.objective
        assert isinstance(config.optimizer, GroupedOptimizer)
        clip, groups = clip_of(config), [group["params"] for group in config.optimizer.build(modules[0]).param_groups]
        stack = ModuleStack(modules, groups, lambda output, batch: objective.mean(output, Example.of(batch), 0.0))
        optimizer = StackedOptimizer(config.optimizer, modules[0], stack)
        rates = [group["lr"] for group in config.optimizer.build(modules[0]).param_groups]
        totals, steps = torch.zeros(len(modules), dtype=torch.float64), torch.zeros(len(modules))
        active = list(range(len(modules)))
        limit = config.max_steps or math.inf
        while True:
            drawn = {row: next(orders[row].windows, None) for row in active}
            going = [row for row in active if drawn[row] is not None and steps[row] < limit]
            if not going:
                break
            if len(going) < len(active):
                kept = [active.index(row) for row in going]
                stack.keep(kept)
                optimizer.keep(kept)
                active = going
            for rows, batch in self._batches(active, drawn, places):
                own = None if len(rows) == len(active) else [active.index(row) for row in rows]
                totals[rows] += stack.differentiate(trainer.precision.cast_batch(batch), own).double()
            clip_rows(clip, stack.gradients)
            optimizer.step([[rate] * len(active) for rate in rates])
            steps[active] += 1
        stack.keep([])
        return (totals / steps).tolist()

    def _batches(
        self, active: list[int], drawn: dict[int, Ints | None], places: list[int]
    ) -> Iterator[tuple[list[int], Batch]]:
        """Yield the batches of a step: those of the same size together, with the rows that they are for."""
        sizes: dict[int, list[int]] = {}
        for row in active:
            sizes.setdefault(_size(drawn[row]), []).append(row)
        for size, rows in sizes.items():
            numbers = np.concatenate([self._offsets[places[row]] + drawn[row] for row in rows])  # type: ignore[operator]
            yield rows, self._windows_of(numbers, len(rows), size)

    def _windows_of(self, numbers: Ints, rows: int, size: int) -> Batch:
        chosen = torch.from_numpy(numbers)
        parts = (None if item is None else item[chosen].view(rows, size, *item.shape[1:]) for item in self._all_windows)
        return Batch(*parts)  # type: ignore[arg-type]

    @cached_property
    def _all_windows(self) -> Batch:
        """The training windows of all clients, one after the other."""
        made = [
            client.training.loader.batcher.windows(*client.training.loader.windows.locate(np.arange(client.examples)))
            for client in self._clients
        ]
        return _joined(made)

    @cached_property
    def _offsets(self) -> list[int]:
        """Where the windows of each client begin."""
        return [0, *np.cumsum([client.examples for client in self._clients]).tolist()]

    @property
    def _num_bytes(self) -> int:
        """Bytes of all windows, about."""
        client = self._clients[0]
        batch = next(iter(client.training.loader.epoch(0)))
        one = sum(item[0].numel() * item.element_size() for item in batch if item is not None)
        return one * self._offsets[-1]

    @cached_property
    def _threads(self) -> int:
        config = self._clients[0].training.config
        if config.threads != "auto":
            return config.threads
        return vectorized_threads([self._member(client) for client in self._clients[:_FEW]])

    def _member(self, client: Client) -> Member:
        network = copy.deepcopy(client.shared.network)
        loader: WindowLoader = client.training.loader
        return Member(client.training.trainer(network, client.seed(1)), loader)


class _Order:
    """The windows of a client in a round, batch by batch, in the order that its own training would have."""

    def __init__(self, client: Client, number: int) -> None:
        self._loader = client.training.loader.reseeded(client.seed(number))
        self._epochs = client.training.config.max_epochs or 1
        self.windows = self._batches()

    def _batches(self) -> Iterator[Ints]:
        for epoch in range(self._epochs):
            yield from self._loader.order.batches(self._loader.num_windows, epoch, 0)


class _Nothing(dict[str, dict[str, Tensor]]):
    """Stands for what an aggregation received, where only the number of its transforms is asked."""

    def __missing__(self, key: str) -> dict[str, Tensor]:
        return {}


def _size(windows: Ints | None) -> int:
    assert windows is not None
    return len(windows)


def _fields(client: Client) -> tuple[bool, ...]:
    """Return which parts the batches of a client have."""
    return tuple(item is not None for item in next(iter(client.training.loader.epoch(0))))


def _joined(batches: list[Batch]) -> Batch:
    parts = [None if items[0] is None else torch.cat(items) for items in zip(*batches, strict=True)]
    return Batch(*parts)  # type: ignore[arg-type]
