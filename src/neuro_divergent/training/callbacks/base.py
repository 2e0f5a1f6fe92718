"""The contract of callbacks, and of configs that build them."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from neuro_divergent.core.config import Component, Config
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.core.registry import Registry

if TYPE_CHECKING:
    from neuro_divergent.training.engine import Trainer


class Callback:
    """Runs code at the events of training; override the methods of the events of interest.

    Each method gets the trainer: ``trainer.state`` has the step and epoch, ``trainer.history`` the rows so far, and
    ``trainer.stop("reason")`` ends training after the current step. State that must be part of checkpoints is returned
    by ``state_dict`` and restored by ``load_state_dict``.

    Callbacks are called in their order, those of the config (averaging, early stopping) first. Only ``validation_end``
    is in reverse order, so that weights put in place at ``validation_start`` are still there for the others.

    Attributes:
        in_refit: Whether it also receives the events of the second training of a forecaster, on all rows.
        main_only: Whether it receives events in the first process alone, where several train together: because it
            writes files or prints, and neither changes training nor asks for its state.
        in_vectorized: Whether it works where several networks are trained in one step (``training/vectorized``): it
            does not look at gradients.

    Examples:
        A callback of one's own, which stops training when the loss is low enough:

        >>> import neuro_divergent as nd
        >>> import torch
        >>> class StopBelow(nd.callbacks.Callback):
        ...     def logged(self, trainer):
        ...         if trainer.history.rows[-1]["train_loss"] < 0.01:
        ...             trainer.stop("the loss is low enough")
        >>> network, config = torch.nn.Linear(1, 1, bias=False), nd.TrainingConfig(log_every=5)
        >>> trainer = nd.Trainer(network, nd.losses.MAE(), config, callbacks=StopBelow())
        >>> history = trainer.fit((torch.zeros(8, 1), torch.zeros(8, 1)))
        >>> trainer.state.step, trainer.state.stop_reason
        (5, 'the loss is low enough')
    """

    in_refit: ClassVar[bool] = False
    main_only: ClassVar[bool] = False
    in_vectorized: ClassVar[bool] = False

    def fit_start(self, trainer: Trainer) -> None:
        """Training is about to begin; the plan is known."""

    def epoch_start(self, trainer: Trainer) -> None:
        """A pass over the training windows begins."""

    def gradients_ready(self, trainer: Trainer) -> None:
        """Gradients are computed and clipped; the weights are about to change."""

    def step_end(self, trainer: Trainer) -> None:
        """The weights have changed."""

    def checkpoint_safe(self, trainer: Trainer) -> None:
        """A step is complete, with its validation and its row, so that training can be resumed from here.

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
        """A validation was cancelled; undo what was changed at its start."""

    def threads_lowered(self, trainer: Trainer) -> None:
        """One thread goes on after this step, because other processes kept several waiting for each other."""

    def rolled_back(self, trainer: Trainer) -> None:
        """Training was rolled back to an earlier state after the loss or the gradients became NaN or infinite."""

    def epoch_end(self, trainer: Trainer) -> None:
        """A pass over the training windows is over."""

    def finishing(self, trainer: Trainer) -> None:
        """The last step is complete; a last validation and the choice of the weights follow.

        ``trainer.state_dict()`` taken here is what a longer training is resumed from.
        """

    def fit_end(self, trainer: Trainer) -> None:
        """Training is over, and the weights are final."""

    def failed(self, trainer: Trainer, error: BaseException) -> None:
        """Training ended with an error, which will be raised."""

    def wants_state(self, trainer: Trainer) -> bool:
        """Whether it will call ``trainer.state_dict()`` at ``checkpoint_safe``, which is next; see ``takes_state``.

        Where several processes train together, the answer in the first one decides. All of them then call
        ``trainer.state_dict()``, which has parts of each, if ``trainer.takes_state``.
        """
        return False

    def state_dict(self) -> dict[str, Any]:
        """Return the checkpointable state."""
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore the checkpointable state."""


class ClosingCallback(Callback):
    """A callback that holds something, such as a file, which it gives back however training ends."""

    def fit_end(self, trainer: Trainer) -> None:
        self.close()

    def failed(self, trainer: Trainer, error: BaseException) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Give back what is held, if something is."""


class CallbackConfig(Config):
    """Settings that build a callback; accepted wherever a callback is.

    Examples:
        Settings can be written to a file; the callback itself is built when training begins:

        >>> import neuro_divergent as nd
        >>> config = nd.TrainingConfig(callbacks=[nd.callbacks.CSVLog("losses.csv")])
        >>> config.to_dict()["callbacks"]
        [{'name': 'csv', 'path': 'losses.csv'}]
    """

    @abstractmethod
    def build(self) -> Callback:
        """Return a new callback."""


class NamedCallback(CallbackConfig, Component):
    """Settings of a callback that is known by name, also in TOML: ``[[training.callbacks]]``, ``name = "csv"``."""

    registry: ClassVar[Registry] = Registry("callback", "neuro_divergent.training.callbacks")


CallbackLike = Callback | CallbackConfig


def as_callback(item: object) -> Callback:
    """Return a callback for one, or for a config that builds one."""
    if isinstance(item, CallbackConfig):
        return item.build()
    if isinstance(item, Callback):
        _require_events(item)
        return item
    hint = f" Call it: {item.__name__}()." if isinstance(item, type) and issubclass(item, CallbackLike) else ""
    raise ConfigError(
        f"callbacks: {item!r} is neither a callback nor a config that builds one, such as EarlyStopping().{hint}"
    )


def _require_events(callback: Callback) -> None:
    """Refuse a callback that handles nothing because its methods have names of another library, like on_epoch_end."""
    bases = [kind for kind in type(callback).__mro__ if not issubclass(Callback, kind)]
    own = {name for kind in bases for name in vars(kind) if not name.startswith("_")}
    foreign = sorted(name for name in own if name.startswith("on_"))
    if foreign and not own & set(vars(Callback)):
        raise ConfigError(
            f"callbacks: {type(callback).__name__} handles no event: there is no {foreign[0]}. Events are "
            "methods such as epoch_end, step_end, validation_end and fit_end."
        )
