"""Windows with masked patches, for pre-training by reconstruction."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from neuro_divergent.core.arrays import Ints
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.spec import Batch
from neuro_divergent.data.batcher import WindowBatcher
from neuro_divergent.data.loader import Order, WindowLoader
from neuro_divergent.data.windows import Windows


class MaskedLoader(WindowLoader):
    """Batches whose target is the history itself, where it is hidden.

    In every channel of every window the same number of complete patches is hidden. Which ones depends on the seed of
    the order, the epoch and the batch number, so that an epoch yields the same batches from any start.
    A target counts where it is hidden, was observed and lies in the range of the windows: a validation window may reach
    back into what was trained on, and those values do not count.

    Args:
        windows: Which windows; history and target together are what the network reads.
        batcher: Cuts and scales them, with no horizon.
        patch_length: Steps that are hidden together; the last patch of a history may be shorter.
        mask_fraction: Fraction of the patches to hide, rounded; at least one is hidden and one is left.

    Raises:
        ConfigError: If there are fewer than two patches.
    """

    def __init__(
        self,
        windows: Windows,
        batcher: WindowBatcher,
        order: Order,
        *,
        patch_length: int,
        mask_fraction: float,
        by_time: bool = False,
        prefetch: int = 0,
    ) -> None:
        super().__init__(windows, batcher, order, by_time=by_time, prefetch=prefetch)
        assert batcher.horizon == 0, "the values to reconstruct are in the history"
        self.patch_length = patch_length
        self.num_patches = -(-batcher.input_size // patch_length)
        if self.num_patches < 2:
            raise ConfigError(
                f"a history of {batcher.input_size} steps is a single patch of {patch_length}: hiding it leaves "
                "nothing to reconstruct it from. Give a longer input_size or shorter patches."
            )
        self.num_hidden = min(max(round(mask_fraction * self.num_patches), 1), self.num_patches - 1)

    def _epoch(self, number: int, start: int) -> Iterator[Batch]:
        for place, (series, rows) in enumerate(self.read(number, start), start):
            batch = self.batcher.windows(series, rows)
            hidden = self._hidden(batch.past_y, number, place)
            hidden_mask, shown_mask = hidden.to(batch.past_y.dtype), (~hidden).to(batch.past_y.dtype)
            if batch.past_mask is not None:
                hidden_mask, shown_mask = batch.past_mask * hidden_mask, batch.past_mask * shown_mask
            yield batch._replace(
                past_y=batch.past_y.masked_fill(hidden, 0.0),
                past_mask=shown_mask,
                future_y=batch.past_y,
                future_mask=hidden_mask * self._in_range(series, rows),
            )

    def _hidden(self, like: Tensor, epoch: int, place: int) -> Tensor:
        """Return which values are hidden, ``(batch, history, channel)``."""
        random = np.random.default_rng([self.order.seed, epoch, place])
        rank = random.random((len(like), self.num_patches, like.shape[2])).argsort(axis=1).argsort(axis=1)
        steps = (rank < self.num_hidden).repeat(self.patch_length, axis=1)[:, : like.shape[1]]
        return torch.from_numpy(steps).to(like.device)

    def _in_range(self, series: Ints, rows: Ints) -> Tensor:
        """Return which steps lie in the range of the windows, ``(batch, history, 1)``."""
        steps = rows[:, None] + np.arange(self.batcher.input_size)
        return torch.from_numpy(steps >= self.windows.begins[series][:, None]).to(self.batcher.device)[..., None]
