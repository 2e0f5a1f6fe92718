"""What server and clients say to each other in a round."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True, eq=False)
class RoundTask:
    """What a client is asked to do in a round.

    Attributes:
        round: Number of the round, from 1.
        weights: The shared weights that training starts from.
        lr_scale: What the learning rate of the client is multiplied with.
        message: Further vectors that the aggregation sends, by name.
    """

    round: int
    weights: Tensor
    lr_scale: float = 1.0
    message: Mapping[str, Tensor] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Update:
    """What a client sends back.

    Attributes:
        client: Name of the client.
        round: Number of the round that it answers.
        delta: How training changed the shared weights.
        examples: Training windows of the client.
        loss: Mean training loss of the round; ``None`` where clients do not tell.
        message: Further vectors for the aggregation, by name.
    """

    client: str
    round: int
    delta: Tensor
    examples: int
    loss: float | None = None
    message: Mapping[str, Tensor] = dataclasses.field(default_factory=dict)
