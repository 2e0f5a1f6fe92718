"""The model that a federation has trained, without anything that comes from a single client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from torch import Tensor

from neuro_divergent import __version__
from neuro_divergent.core.errors import NewerFormatError, UntrustedFileError
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import read_directory, write_directory
from neuro_divergent.core.storage.pickle_guard import refuse_pickle
from neuro_divergent.core.storage.tensor_file import dump_tensors, load_tensors, require_finite
from neuro_divergent.federated.client import Client
from neuro_divergent.federated.settings import FederationConfig
from neuro_divergent.federated.shared_network import SharedNetwork
from neuro_divergent.forecasting.forecaster import Forecaster

DESCRIPTION, _TENSORS = "federated.json", "weights.safetensors"
_FORMAT = 1


@dataclass(frozen=True, eq=False)
class GlobalModel:
    """Shared weights and the settings of the network they belong to.

    It has no scalers, no intervals and no series: ``for_data`` makes a forecaster from it for somebody's data, also for
    those who took no part in training.

    Attributes:
        config: The settings of the federation.
        weights: The shared weights, by name.
        rounds: Rounds that made them.
        epsilon: Privacy that they spent; ``None`` without a promise.

    Examples:
        >>> import neuro_divergent as nd
        >>> forecaster = nd.Forecaster("nlinear", horizon=7, input_size=14)
        >>> federation = nd.federated.Federation(forecaster, rounds=2, local_epochs=1)
        >>> federation.add_clients(nd.datasets.Synthetic(num_series=3, length=60).frame()).fit().save("shared")
        >>> model = nd.federated.GlobalModel.load("shared")
        >>> newcomer = model.for_data(nd.datasets.Synthetic(length=60, seed=9).frame())
        >>> model.rounds, newcomer.predict().height
        (2, 7)
    """

    config: FederationConfig
    weights: dict[str, Tensor]
    rounds: int
    epsilon: float | None = None

    @cached_property
    def shared(self) -> SharedNetwork:
        """The network."""
        return SharedNetwork(self.config)

    def for_data(self, data: Any, *, personalize: bool = False) -> Forecaster:
        """Return a forecaster for somebody's data: the shared weights, with scalers and intervals fitted to the data.

        Args:
            data: A table with the columns of the federation, as for ``Forecaster.fit``.
            personalize: Whether it is trained further on the data, as the settings of the federation say.
        """
        from neuro_divergent.federated.client_models import adapt, personalized

        client = Client("data", self.shared, data)
        vector = self.shared.layout.join(self.weights)
        return personalized(client, vector) if personalize else adapt(client, vector)

    def save(self, path: str | Path) -> None:
        """Write weights and settings to a directory, complete or not at all."""
        description = {
            "format": _FORMAT,
            "version": __version__,
            "config": {**self.config.to_dict(), "clients": {}},
            "rounds": self.rounds,
            "epsilon": self.epsilon,
        }
        files = [(_TENSORS, dump_tensors(self.weights)), (DESCRIPTION, strict_json.dumps(description, indent=1))]
        write_directory(Path(path), files)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what ``save`` wrote. Nothing in the directory is ever executed.

        Raises:
            UntrustedFileError: If it is something else, was altered, or was written by a newer version.
        """
        place = Path(path)
        refuse_pickle(place, "a federated model")
        if not (place / DESCRIPTION).is_file():
            raise UntrustedFileError(f"{path}: does not hold a federated model: there is no {DESCRIPTION}.")
        files = read_directory(place)
        description = strict_json.loads(files.get(DESCRIPTION, b""), f"{path}/{DESCRIPTION}")
        version = description.get("format") if isinstance(description, dict) else None
        if type(version) is not int or version < 1 or set(files) != {DESCRIPTION, _TENSORS}:
            raise UntrustedFileError(f"{path}: does not describe a federated model.")
        if version > _FORMAT:
            raise NewerFormatError(path, version, _FORMAT)
        weights = load_tensors(files[_TENSORS], f"{path}/{_TENSORS}")
        require_finite(weights, f"{path}/{_TENSORS}")
        try:
            config, rounds, epsilon = (description[name] for name in ("config", "rounds", "epsilon"))
            model = cls(FederationConfig.from_dict(config), weights, int(rounds), epsilon)
            model.shared.layout.join(weights)
        except (KeyError, TypeError, ValueError) as error:
            raise UntrustedFileError(f"{path}: does not describe a federated model ({error}).") from None
        return model

    @classmethod
    def of(cls, shared: SharedNetwork, vector: Tensor, rounds: int, epsilon: float | None) -> Self:
        """Return the model with some shared weights."""
        weights: Mapping[str, Tensor] = shared.layout.split(vector)
        return cls(shared.config, {name: item.clone() for name, item in weights.items()}, rounds, epsilon)
