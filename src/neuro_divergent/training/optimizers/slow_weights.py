"""Lookahead at work on an optimizer."""

from __future__ import annotations

from pytorch_optimizer import Lookahead


class SlowWeights(Lookahead):
    """The library's ``Lookahead``, with the slow weights in place while weights are used.

    ``eval()`` brings the slow weights into the parameters and ``train()`` the fast ones back, exactly.
    """

    def train(self) -> None:
        """Go on with the fast weights."""
        if self._resting:
            self.clear_and_load_backup()

    def eval(self) -> None:
        """Put the slow weights in place."""
        if not self._resting:
            self.backup_and_load_cache()

    @property
    def _resting(self) -> bool:
        return any("backup_params" in state for state in self.state.values())
