"""Self-supervised pre-training: patches of a history are masked, and the network reconstructs them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import polars as pl
import torch
from torch import Tensor, nn

from neuro_divergent import __version__
from neuro_divergent.core.device import resolve_device
from neuro_divergent.core.errors import ConfigError, NewerFormatError, UntrustedFileError
from neuro_divergent.core.seeding import seeded
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import read_directory, write_directory
from neuro_divergent.core.storage.pickle_guard import refuse_pickle
from neuro_divergent.core.storage.tensor_file import dump_tensors, load_tensors, require_finite
from neuro_divergent.data.loader import Order
from neuro_divergent.data.masked import MaskedLoader
from neuro_divergent.data.windows import Windows
from neuro_divergent.forecasting.fitted import build_network
from neuro_divergent.forecasting.prepared_data import PreparedData
from neuro_divergent.forecasting.validation import sample_validation
from neuro_divergent.losses.point import MSE
from neuro_divergent.models.base import Architecture
from neuro_divergent.models.reconstruction import Reconstructing, Reconstruction
from neuro_divergent.models.reversible import ReversibleNetwork
from neuro_divergent.training.callbacks.base import CallbackLike
from neuro_divergent.training.config import TrainingConfig
from neuro_divergent.training.engine import Trainer
from neuro_divergent.training.state import differences

FORMAT = 1
DESCRIPTION = "pretrained.json"
_TENSORS = "pretrained.safetensors"
_HEADS = ("head.", "network.head.")
_FOR_FORECASTS = ("freeze", "augment", "curriculum", "teacher_forcing")
_VALIDATION_ROWS = 1024


@dataclass(frozen=True, eq=False)
class Pretrained:
    """Pre-trained weights, to start the training of forecasts of any horizon from.

    Attributes:
        architecture: The pre-trained architecture.
        weights: All of its numbers that are not under ``head``, by the names they have in the network that forecasts.
        history: Losses, rates and speeds, row by row; empty for one that was loaded.

    Examples:
        >>> import neuro_divergent as nd
        >>> table = nd.datasets.air_passengers()
        >>> settings = {"input_size": 24, "training": nd.TrainingConfig(max_steps=5)}
        >>> small = nd.PatchTST(hidden_size=8, num_heads=2, num_layers=1, patch_length=8, stride=8)
        >>> pretrained = nd.Forecaster(small, horizon=12, **settings).pretrain(table)
        >>> pretrained.save("weights")
        >>> other = nd.Forecaster(small, horizon=6, **settings).fit(table, initial="weights")
        >>> other.predict().height
        6
    """

    architecture: Architecture
    weights: Mapping[str, Tensor]
    history: pl.DataFrame

    def give_to(self, network: nn.Module, architecture: Architecture) -> None:
        """Load these weights into a new network; those of its head stay as they are.

        Args:
            network: The network, changed in place.
            architecture: What it was built by: the one that was pre-trained, though its dropouts may differ.

        Raises:
            ConfigError: If the network has other parts or sizes.
        """
        before, now = (_shape(item) for item in (self.architecture, architecture))
        if found := list(differences(before, now)):
            raise ConfigError(f"initial: the weights are those of a network with other settings: {'; '.join(found)}.")
        own = network.state_dict()
        for name, tensor in self.weights.items():
            wanted = tuple(own[name].shape) if name in own else "nothing of that name"
            if wanted != tuple(tensor.shape):
                raise ConfigError(
                    f"initial: {name!r} is {tuple(tensor.shape)}, the network has {wanted}. Train with the input_size, "
                    "scaler and joint that those weights were trained with."
                )
        network.load_state_dict(self.weights, strict=False)

    def save(self, path: str | Path) -> None:
        """Write the weights and the settings of the architecture to a directory, complete or not at all."""
        description = {"format": FORMAT, "version": __version__, "architecture": self.architecture.to_dict()}
        files = [(_TENSORS, dump_tensors(self.weights)), (DESCRIPTION, strict_json.dumps(description, indent=1))]
        write_directory(Path(path), files)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what ``save`` wrote. Nothing in the directory is ever executed.

        Raises:
            UntrustedFileError: If it is something else, was altered, or was written by a newer version.
            StorageError: If it cannot be read.
        """
        place = Path(path)
        refuse_pickle(place, "pre-trained weights")
        if not (place / DESCRIPTION).is_file():
            raise UntrustedFileError(f"{path}: does not hold pre-trained weights: there is no {DESCRIPTION}.")
        files = read_directory(place)
        description = strict_json.loads(files.get(DESCRIPTION, b""), f"{path}/{DESCRIPTION}")
        version = description.get("format") if isinstance(description, dict) else None
        if type(version) is not int or version < 1 or set(files) != {DESCRIPTION, _TENSORS}:
            raise UntrustedFileError(f"{path}: does not describe pre-trained weights.")
        if version > FORMAT:
            raise NewerFormatError(path, version, FORMAT)
        weights = load_tensors(files[_TENSORS], f"{path}/{_TENSORS}")
        require_finite(weights, f"{path}/{_TENSORS}")
        try:
            architecture = Architecture.from_dict(description["architecture"])
        except (KeyError, TypeError, ValueError) as error:
            raise UntrustedFileError(f"{path}: does not describe pre-trained weights ({error}).") from None
        return cls(architecture, weights, pl.DataFrame())


def pretrain(
    architecture: Architecture,
    prepared: PreparedData,
    training: TrainingConfig,
    *,
    mask_fraction: float,
    callbacks: Sequence[CallbackLike] = (),
    resume: Mapping[str, Any] | str | Path | None = None,
    allow_changes: bool = False,
) -> Pretrained:
    """Train a network to fill in hidden patches of the training part of the data; see ``Forecaster.pretrain``."""
    _check(training, mask_fraction)
    training = training.for_family(architecture.traits.family)
    with seeded(training.seed):
        network, patch_length = _reconstruction(architecture, prepared)
    batcher = dataclasses.replace(prepared.batcher(resolve_device(training.device)), horizon=0, weight=None)
    size, split = prepared.task.history, prepared.split
    # The whole history is target in training; in validation its end is new and the rest may reach back.
    new = min(prepared.task.horizon, size)
    begins = prepared.panel.first_observed
    windows = dataclasses.replace(split.train, input_size=0, horizon=size, begins=begins)
    checked = dataclasses.replace(split.validation, input_size=size - new, horizon=new, step=new)
    checked = sample_validation(checked)

    def loader(part: Windows, order: Order, **options: Any) -> MaskedLoader:
        return MaskedLoader(part, batcher, order, patch_length=patch_length, mask_fraction=mask_fraction, **options)

    order = Order(
        batch_size=training.batch_size_for(len(windows)),
        shuffle=training.shuffle,
        seed=training.seed,
        drop_last=training.drop_last,
    )
    train = loader(windows, order, by_time=not training.shuffle, prefetch=training.prefetch)
    validation = loader(checked, dataclasses.replace(order, batch_size=_VALIDATION_ROWS, shuffle=False))
    restore, name_row = batcher.restore, prepared.name_row
    trainer = Trainer(network, MSE(), training, callbacks=callbacks, restore=restore, name_row=name_row)
    trainer.fit(train, validation if _has_targets(validation) else None, resume=resume, allow_changes=allow_changes)
    return Pretrained(architecture, _kept(network), trainer.history.frame())


def settings_for(training: TrainingConfig) -> TrainingConfig:
    """Return the settings of a training that forecasts without those that have no meaning in pre-training."""
    defaults = TrainingConfig.model_fields
    return training.replace(**{name: defaults[name].default for name in _FOR_FORECASTS})


def _check(training: TrainingConfig, mask_fraction: float) -> None:
    if not 0 < mask_fraction < 1:
        raise ConfigError(f"mask_fraction: {mask_fraction!r} must be above 0 and below 1.")
    if training != settings_for(training):
        raise ConfigError(f"{', '.join(_FOR_FORECASTS)} are for training to forecast; leave them out to pre-train.")


def _reconstruction(architecture: Architecture, prepared: PreparedData) -> Reconstruction:
    """Build the network to pre-train, and make sure that the one that forecasts can use what it learns."""
    if not isinstance(architecture, Reconstructing):
        raise ConfigError(
            f"{architecture.name} cannot be pre-trained by masking: it has no network that fills in what is hidden. "
            "Choose one that does, such as patchtst."
        )
    made = architecture.reconstruction(prepared.spec)
    network = (
        ReversibleNetwork(made.network, prepared.spec.channels) if prepared.task.scaler.reversible else made.network
    )
    with torch.device("meta"):  # its sizes are all that is needed
        forecasting = build_network(architecture, prepared.task, prepared.spec).state_dict()
    unknown = [name for name in _kept(network) if name not in forecasting]
    assert not unknown, f"{architecture.name} forecasts without {unknown[0]}"
    return Reconstruction(network, made.patch_length)


def _has_targets(loader: MaskedLoader) -> bool:
    """Whether anything is masked: in a short validation part nothing may be."""
    return any(batch.future_mask is not None and bool(batch.future_mask.any()) for batch in loader.epoch(0))


def _kept(network: nn.Module) -> dict[str, Tensor]:
    """Return the weights that the forecasting network has as well."""
    weights = network.state_dict()
    return {name: tensor.detach().cpu().clone() for name, tensor in weights.items() if not name.startswith(_HEADS)}


def _shape(architecture: Architecture) -> dict[str, Any]:
    """Return the settings that must be equal for weights to fit: all but dropouts."""
    return {key: value for key, value in architecture.to_dict().items() if not key.endswith("dropout")}
