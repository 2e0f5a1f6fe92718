"""Hooks of ``DistributedDataParallel`` that add gradients up over processes, where its own takes their mean."""

from typing import TypeAlias

import torch
import torch.distributed as dist

Whole: TypeAlias = torch.futures.Future[torch.Tensor]


def add_up(state: object, bucket: dist.GradBucket) -> Whole:  # type: ignore[name-defined]
    """Add up a bucket of gradients."""
    return _begun(bucket.buffer()).then(lambda done: done.value()[0])


def add_up_in_half(state: object, bucket: dist.GradBucket) -> Whole:  # type: ignore[name-defined]
    """Add up a bucket of gradients in float16."""
    buffer = bucket.buffer()
    return _begun(buffer.to(torch.float16)).then(lambda done: buffer.copy_(done.value()[0]))


def _begun(buffer: torch.Tensor) -> torch.futures.Future[list[torch.Tensor]]:
    work = dist.all_reduce(buffer, async_op=True)
    assert work is not None
    return work.get_future()  # type: ignore[no-any-return]
