"""The shadow test: whether the version in the shadow takes over from the one that serves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal, Self, get_args

from pydantic import Field, model_validator

from neuro_divergent.core.config import Config
from neuro_divergent.core.errors import UntrustedFileError
from neuro_divergent.lifecycle.promotion.e_process import EProcess

if TYPE_CHECKING:
    from neuro_divergent.lifecycle.promotion.block import Block

Purpose = Literal["promotion", "rollback"]
Outcome = Literal["switch", "keep"]


@dataclass(frozen=True, kw_only=True)
class ShadowState:
    """How far a shadow test is.

    Attributes:
        purpose: ``promotion``: the challenger runs in the shadow of the champion. ``rollback``: after the switch, the
            version that served before runs in the shadow of the new champion.
        process: The evidence that the version in the shadow is better.
        naive_losses: Sum of the losses of the seasonal naive forecast, over the blocks that have one.
        naive_blocks: Number of those blocks.
        following: Earliest index of the next block; ``None`` before the first one. Pass it to ``read_blocks``.
        outcome: ``switch`` if the version in the shadow takes over, ``keep`` if it does not, ``None`` if undecided.
        reason: ``evidence``, ``time_out``, ``not_finite`` or ``worse_than_naive`` once there is an outcome.
        sentence: Where the test stands, in words.
    """

    purpose: Purpose
    process: EProcess
    naive_losses: float = 0.0
    naive_blocks: int = 0
    following: int | None = None
    outcome: Outcome | None = None
    reason: str = ""
    sentence: str = "No block is complete yet."

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that JSON has; ``from_dict`` continues from them bit for bit."""
        return {field.name: getattr(self, field.name) for field in fields(self)} | {"process": self.process.to_dict()}

    @classmethod
    def from_dict(cls, state: Mapping[str, Any]) -> Self:
        """Restore a state from the result of ``to_dict``, also after JSON."""
        try:
            process = EProcess.from_dict(state["process"])
            made = cls(**{**state, "process": process})
        except (KeyError, TypeError, AttributeError) as error:
            raise UntrustedFileError(f"the state of a shadow test is damaged: {error!r}.") from None
        if made.purpose not in get_args(Purpose) or made.outcome not in (None, *get_args(Outcome)):
            raise UntrustedFileError(f"the state of a shadow test has an unknown purpose or outcome: {dict(state)}.")
        return made


class ShadowTest(Config):
    """Rules by which a version in the shadow takes over.

    The test for a promotion and the one for a roll-back are the same, with the roles exchanged.

    Attributes:
        threshold: Value of the e-process that decides; its inverse is the level, 5 % for 20.
        max_blocks: Number of blocks after which the version that serves stays for good.
        gap: Steps between blocks; ``None``, one horizon. 0 takes half the time, and holds its level only if differences
            of losses in one block say nothing about those in the next.
        naive_limit: A new champion whose loss over one block is more than this many times that of the seasonal naive
            forecast, of the mean of the latter over all blocks, and of the version in the shadow, is rolled back at
            once; ``None`` switches that off. With fewer than about five series, one block says little: raise it.
        bet: Fraction that is bet on each block.
        clip: Largest difference that counts, in units of the usual one.

    Examples:
        >>> import neuro_divergent as nd
        >>> from neuro_divergent.lifecycle.promotion.block import Block
        >>> test = nd.lifecycle.ShadowTest(threshold=20)
        >>> state = test.start()
        >>> for day in range(40):
        ...     losses = {"serving": 1.0 + 0.1 * (day % 3), "shadow": 0.7 + 0.1 * (day % 2), "naive": 2.0}
        ...     block = Block(day, day + 1, origin=str(day), end=str(day), series=9, **losses)
        ...     state = test.update(state, [block])
        >>> state.outcome, state.reason, state.process.blocks < 40
        ('switch', 'evidence', True)
    """

    threshold: float = Field(20.0, gt=1)
    max_blocks: int = Field(60, ge=3)
    gap: int | None = Field(None, ge=0)
    naive_limit: float | None = Field(1.5, gt=1)
    bet: float = Field(0.25, gt=0)
    clip: float = Field(2.5, gt=0)

    @model_validator(mode="after")
    def _check_bet(self) -> Self:
        if self.bet * self.clip >= 1:
            raise ValueError(f"bet {self.bet:g} times clip {self.clip:g} must be below 1")
        return self

    def start(self, purpose: Purpose = "promotion") -> ShadowState:
        """Return the state before the first block."""
        return ShadowState(purpose=purpose, process=EProcess(bet=self.bet, clip=self.clip))

    def update(self, state: ShadowState, blocks: Iterable[Block]) -> ShadowState:
        """Return the state after further blocks.

        Blocks that the state has seen, or that overlap with those, change nothing; nor does any block after the
        outcome.
        """
        for block in sorted(blocks, key=lambda block: block.index):
            if state.outcome is not None:
                break
            if state.following is None or block.index >= state.following:
                state = self._after(state, block)
        return state

    def _after(self, state: ShadowState, block: Block) -> ShadowState:
        process = state.process.update(block.index, block.difference)
        state = replace(state, process=process, following=block.following)
        if math.isfinite(block.naive):
            total, count = state.naive_losses + block.naive, state.naive_blocks + 1
            state = replace(state, naive_losses=total, naive_blocks=count)
        outcome, reason = self._guard(state, block) or self._judge(process)
        return replace(state, outcome=outcome, reason=reason, sentence=self._say(state, block, outcome, reason))

    def _guard(self, state: ShadowState, block: Block) -> tuple[Outcome, str] | None:
        """Return what has to happen at once, whatever the evidence is."""
        if math.isinf(block.shadow):
            return "keep", "not_finite"
        if state.purpose == "promotion":
            return None
        if math.isinf(block.serving):
            return "switch", "not_finite"
        if self.naive_limit is None or not math.isfinite(block.naive):
            return None
        # A naive forecast that happened to be very good makes any version look bad, and switching to one that is no
        # better would not help.
        usual = state.naive_losses / state.naive_blocks
        is_bad = block.serving > self.naive_limit * max(block.naive, usual, block.shadow)
        return ("switch", "worse_than_naive") if is_bad else None

    def _judge(self, process: EProcess) -> tuple[Outcome | None, str]:
        # Clipping must not hide rare large losses: the plain mean has to be in favour, too.
        if process.value >= self.threshold and process.mean > 0:
            return "switch", "evidence"
        if process.blocks >= self.max_blocks:
            return "keep", "time_out"
        return None, ""

    def _say(self, state: ShadowState, block: Block, outcome: Outcome | None, reason: str) -> str:
        process = state.process
        shadow, serving = (
            ("challenger", "champion") if state.purpose == "promotion" else ("previous version", "champion")
        )
        facts = (
            f"Evidence {process.value:.3g} of {self.threshold:g} after {process.blocks} of at most {self.max_blocks} "
            f"blocks; mean difference of the scaled losses {process.mean:+.3g}."
        )
        if outcome is None:
            return f"Undecided whether the {shadow} is better. {facts}"
        does = f"The {shadow} takes over" if outcome == "switch" else f"The {serving} stays"
        why = {
            "evidence": f"the {shadow} is better",
            "time_out": f"the {shadow} was not shown to be better in time",
            "not_finite": f"the {shadow if outcome == 'keep' else serving} gave a forecast that is not finite",
            "worse_than_naive": (
                f"its loss {block.serving:.3g} in the block from {block.origin} is above {self.naive_limit} times "
                f"that of the seasonal naive forecast, {block.naive:.3g}"
            ),
        }[reason]
        return f"{does}: {why}. {facts}"
