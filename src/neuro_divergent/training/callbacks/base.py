"""What a callback can hear and do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neuro_divergent.training.engine import Trainer


class Callback:
    """Hears of events in training; override the ones of interest.

    Each method gets the trainer: ``trainer.state`` says where training is, ``trainer.history`` what happened so far,
    and ``trainer.stop("reason")`` ends training after the current step. A callback with a memory that must survive a
    restart keeps it in ``state_dict`` and ``load_state_dict``.

    Callbacks hear an event in their order, those that training brings along (averaging, early stopping) first; only
    ``validation_end`` goes the other way round, so that whatever was put in place at ``validation_start`` is still
    there for the others.
    """

    def fit_start(self, trainer: Trainer) -> None:
        """Training is about to begin; the plan is known."""

    def epoch_start(self, trainer: Trainer) -> None:
        """A pass over the training windows begins."""

    def gradients_ready(self, trainer: Trainer) -> None:
        """Gradients are computed and clipped; the weights are about to change."""

    def step_end(self, trainer: Trainer) -> None:
        """The weights have changed."""

    def settled(self, trainer: Trainer) -> None:
        """All that belongs to a step is done, also its validation and its row, so training can go on from here later.

        ``trainer.state_dict()`` taken here is what an interrupted training is resumed from.
        """

    def interrupted(self, trainer: Trainer) -> None:
        """Training is about to end with ``Interrupted``; the state is one to resume from."""

    def logged(self, trainer: Trainer) -> None:
        """A row was added to the history."""

    def validation_start(self, trainer: Trainer) -> None:
        """A validation begins."""

    def validation_batch(self, trainer: Trainer) -> None:
        """Another batch of a validation is done."""

    def validation_end(self, trainer: Trainer) -> None:
        """A validation is over; its results are in ``trainer.state.metrics``."""

    def validation_cancelled(self, trainer: Trainer) -> None:
        """A validation was given up; put back whatever was changed at its start."""

    def threads_lowered(self, trainer: Trainer) -> None:
        """One thread goes on after this step, because other processes kept several waiting for each other."""

    def rolled_back(self, trainer: Trainer) -> None:
        """Training has gone back to an earlier state after its numbers were lost."""

    def epoch_end(self, trainer: Trainer) -> None:
        """A pass over the training windows is over."""

    def finishing(self, trainer: Trainer) -> None:
        """The last step is settled; a last validation and the choice of the weights follow.

        ``trainer.state_dict()`` taken here is what a longer training is resumed from.
        """

    def fit_end(self, trainer: Trainer) -> None:
        """Training is over, and the weights are final."""

    def failed(self, trainer: Trainer, error: BaseException) -> None:
        """Training ended with an error, which will be raised."""

    def state_dict(self) -> dict[str, Any]:
        """Return what must survive a restart."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up a state again."""
