"""Learning from series without forecasting them: patches are hidden, and the network fills them in."""

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
from neuro_divergent.forecasting.fitted import build_batcher, build_network
from neuro_divergent.forecasting.prepared_data import PreparedData
from neuro_divergent.losses.point import MSE
from neuro_divergent.models.base import Architecture
from neuro_divergent.models.reconstruction import Reconstructing, Reconstruction
from neuro_divergent.models.reversible import ReversibleNetwork
from neuro_divergent.training.callbacks.base import CallbackLike
from neuro_divergent.training.config import TrainingConfig
from neuro_divergent.training.engine import Trainer
from neuro_divergent.training.state import differences

FORMAT = 1
_DESCRIPTION = "pretrained.json"
_TENSORS = "pretrained.safetensors"
_HEADS = ("head.", "network.head.")
_FOR_FORECASTS = ("freeze", "augment", "curriculum", "teacher_forcing")
_VALIDATION_ROWS = 1024


@dataclass(frozen=True, eq=False)
class Pretrained:
    """What pre-training leaves behind: weights to start from, for forecasts of any horizon.

    Attributes:
        architecture: What was pre-trained.
        weights: All of its numbers that are not under ``head``, by the names they have in the network that forecasts.
        history: Losses, rates and speeds, row by row; empty for one that was loaded.
    """

    architecture: Architecture
    weights: Mapping[str, Tensor]
    history: pl.DataFrame

    def give_to(self, network: nn.Module, architecture: Architecture) -> None:
        """Give a fresh network these weights; those of its head stay as they are.

        Args:
            network: The network, changed in place.
            architecture: What it was built by: the one that was pre-trained, though its dropouts may differ.

        Raises:
            ConfigError: If the network has other parts or sizes.
        """
        before, now = (_shape(item) for item in (self.architecture, architecture))
        if found := list(differences(before, now)):
            raise ConfigError(f"the network was pre-trained with other settings: {'; '.join(found)}.")
        own = network.state_dict()
        for name, tensor in self.weights.items():
            wanted = tuple(own[name].shape) if name in own else "nothing of that name"
            if wanted != tuple(tensor.shape):
                raise ConfigError(
                    f"the pre-trained {name!r} is {tuple(tensor.shape)}, the network has {wanted}. Forecast with the "
                    "input_size, scaler and joint that were pre-trained."
                )
        network.load_state_dict(self.weights, strict=False)

    def save(self, path: str | Path) -> None:
        """Write the weights and the settings of the architecture to a directory, complete or not at all."""
        description = {"format": FORMAT, "version": __version__, "architecture": self.architecture.to_dict()}
        files = [(_TENSORS, dump_tensors(self.weights)), (_DESCRIPTION, strict_json.dumps(description, indent=1))]
        write_directory(Path(path), files)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what ``save`` wrote. Nothing in the directory is ever executed.

        Raises:
            UntrustedFileError: If it is something else, was altered, or was written by a newer version.
            StorageError: If it cannot be read.
        """
        place = Path(path)
        refuse_pickle(place, "what was pre-trained")
        if not (place / _DESCRIPTION).is_file():
            raise UntrustedFileError(f"{path}: was not pre-trained: there is no {_DESCRIPTION}.")
        files = read_directory(place)
        description = strict_json.loads(files.get(_DESCRIPTION, b""), f"{path}/{_DESCRIPTION}")
        version = description.get("format") if isinstance(description, dict) else None
        if type(version) is not int or version < 1 or set(files) != {_DESCRIPTION, _TENSORS}:
            raise UntrustedFileError(f"{path}: does not describe what was pre-trained.")
        if version > FORMAT:
            raise NewerFormatError(path, version, FORMAT)
        weights = load_tensors(files[_TENSORS], f"{path}/{_TENSORS}")
        require_finite(weights, f"{path}/{_TENSORS}")
        try:
            architecture = Architecture.from_dict(description["architecture"])
        except (KeyError, TypeError, ValueError) as error:
            raise UntrustedFileError(f"{path}: does not describe what was pre-trained ({error}).") from None
        return cls(architecture, weights, pl.DataFrame())


def pretrain(
    architecture: Architecture,
    job: PreparedData,
    training: TrainingConfig,
    *,
    mask_share: float,
    callbacks: Sequence[CallbackLike] = (),
    resume: Mapping[str, Any] | str | Path | None = None,
    allow_changes: bool = False,
) -> Pretrained:
    """Train a network to fill in hidden patches of the training part of the data; see ``Forecaster.pretrain``."""
    _check(training, mask_share)
    training = training.for_family(architecture.traits.family)
    with seeded(training.seed):
        network, patch_length = _reconstruction(architecture, job)
    gather = dataclasses.replace(
        build_batcher(job.task, job.panel, job.numbers, job.covariates, resolve_device(training.device)), horizon=0
    )
    size, split = job.task.history, job.split
    # The whole history is target in training; in validation its end is new and the rest may reach back.
    new = min(job.task.horizon, size)
    windows = dataclasses.replace(split.train, input_size=0, horizon=size)
    checked = dataclasses.replace(split.validation, input_size=size - new, horizon=new, step=new)

    def loader(part: Windows, order: Order, **options: Any) -> MaskedLoader:
        return MaskedLoader(part, gather, order, patch_length=patch_length, mask_share=mask_share, **options)

    order = Order(
        batch_size=training.batch_size_for(len(windows)),
        shuffle=training.shuffle,
        seed=training.seed,
        drop_last=training.drop_last,
    )
    train = loader(windows, order, by_time=not training.shuffle, prefetch=training.prefetch)
    validation = loader(checked, dataclasses.replace(order, batch_size=_VALIDATION_ROWS, shuffle=False))
    trainer = Trainer(network, MSE(), training, callbacks=callbacks, restore=gather.restore, name_row=job.name_row)
    trainer.fit(train, validation if _has_targets(validation) else None, resume=resume, allow_changes=allow_changes)
    return Pretrained(architecture, _kept(network), trainer.history.frame())


def settings_for(training: TrainingConfig) -> TrainingConfig:
    """Return the settings of a training that forecasts without those that have no meaning in pre-training."""
    defaults = TrainingConfig.model_fields
    return training.replace(**{name: defaults[name].default for name in _FOR_FORECASTS})


def _check(training: TrainingConfig, mask_share: float) -> None:
    if not 0 < mask_share < 1:
        raise ConfigError(f"mask_share: {mask_share!r} must be above 0 and below 1.")
    if training != settings_for(training):
        raise ConfigError(f"{', '.join(_FOR_FORECASTS)} are for training to forecast; leave them out to pre-train.")


def _reconstruction(architecture: Architecture, job: PreparedData) -> Reconstruction:
    """Build the network to pre-train, and make sure that the one that forecasts can use what it learns."""
    if not isinstance(architecture, Reconstructing):
        raise ConfigError(
            f"{architecture.name} cannot be pre-trained by masking: it has no network that fills in what is hidden. "
            "Choose one that does, such as patchtst."
        )
    made = architecture.reconstruction(job.spec)
    network = ReversibleNetwork(made.network, job.spec.channels) if job.task.scaler.reversible else made.network
    with torch.device("meta"):  # its sizes are all that is needed
        forecasting = build_network(architecture, job.task, job.spec).state_dict()
    strangers = [name for name in _kept(network) if name not in forecasting]
    assert not strangers, f"{architecture.name} forecasts without {strangers[0]}"
    return Reconstruction(network, made.patch_length)


def _has_targets(loader: MaskedLoader) -> bool:
    """Whether anything is asked for: of a short validation part all may be left to see."""
    return any(batch.future_mask is not None and bool(batch.future_mask.any()) for batch in loader.epoch(0))


def _kept(network: nn.Module) -> dict[str, Tensor]:
    """Return what a network that forecasts has as well."""
    weights = network.state_dict()
    return {name: tensor.detach().cpu().clone() for name, tensor in weights.items() if not name.startswith(_HEADS)}


def _shape(architecture: Architecture) -> dict[str, Any]:
    """Return the settings that decide what weights mean."""
    return {key: value for key, value in architecture.to_dict().items() if not key.endswith("dropout")}
