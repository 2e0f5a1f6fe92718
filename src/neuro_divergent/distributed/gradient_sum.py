"""Hooks of ``DistributedDataParallel`` that add gradients up over processes, where its own takes their mean."""

from collections.abc import Callable
from typing import TypeAlias

import torch
import torch.distributed as dist

from neuro_divergent.distributed.waiting import Waiting

Whole: TypeAlias = torch.futures.Future[torch.Tensor]


def add_up(waiting: Waiting, bucket: dist.GradBucket) -> Whole:  # type: ignore[name-defined]
    """Add up a bucket of gradients."""
    return _summed(bucket.buffer(), waiting, bucket.is_last(), lambda whole: whole)


def add_up_in_half(waiting: Waiting, bucket: dist.GradBucket) -> Whole:  # type: ignore[name-defined]
    """Add up a bucket of gradients in float16."""
    buffer = bucket.buffer()
    return _summed(buffer.to(torch.float16), waiting, bucket.is_last(), buffer.copy_)


def _summed(
    buffer: torch.Tensor, waiting: Waiting, is_last: bool, finish: Callable[[torch.Tensor], torch.Tensor]
) -> Whole:
    """Begin to add up a buffer, and return what will be made of the sum."""

    def done(sums: torch.futures.Future[list[torch.Tensor]]) -> torch.Tensor:
        waiting.received()
        return finish(sums.value()[0])

    waiting.sent(is_last=is_last)
    work = dist.all_reduce(buffer, async_op=True)
    assert work is not None
    return work.get_future().then(done)  # type: ignore[no-any-return]
