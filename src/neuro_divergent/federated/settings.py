"""The settings of a federation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from neuro_divergent.core.config import Config, read_toml
from neuro_divergent.core.errors import ConfigError
from neuro_divergent.federated.aggregation.base import Aggregation
from neuro_divergent.federated.aggregation.fedavg import FedAvg
from neuro_divergent.federated.client_name import check_name
from neuro_divergent.forecasting.run_config import RunConfig
from neuro_divergent.privacy.client_level import ClientLevel
from neuro_divergent.training.schedules.base import Plan, Schedule
from neuro_divergent.training.schedules.constant import Constant

if TYPE_CHECKING:
    from pathlib import Path

Count = Annotated[int, Field(ge=1)]
Weighting = Literal["examples", "equal"]
Vectorize = bool | Literal["auto"]


class Personalization(Config):
    """How each client trains the finished global model further on its own data.

    Attributes:
        epochs: Passes over the training windows of the client.
        layers: Names of the parameters that are trained, as patterns such as ``"head.*"``; unset, all of them.

    Examples:
        >>> import neuro_divergent as nd
        >>> forecaster = nd.Forecaster("nlinear", horizon=7, input_size=14)
        >>> personal = nd.federated.Personalization(epochs=2)
        >>> federation = nd.federated.Federation(forecaster, rounds=2, local_epochs=1, personalization=personal)
        >>> _ = federation.add_clients(nd.datasets.Synthetic(num_series=2, length=60).frame()).fit()
        >>> federation.evaluate()["model"].to_list()
        ['global', 'personal', 'global', 'personal']
    """

    epochs: Count = 5
    layers: tuple[str, ...] = ()


class FederationSettings(Config):
    """How a federation trains.

    Attributes:
        aggregation: How the server makes new weights from the updates of clients.
        rounds: Rounds of training.
        local_epochs: Passes of a client over its training windows in a round.
        local_steps: Optimizer steps of a client in a round at most; unset, as many as the epochs have.
        participation: Fraction of the clients that take part in a round. With privacy, the probability with which each
            takes part, independently of all others.
        min_clients: Updates that a round needs; with fewer it is void and the weights stay as they are.
        deadline: Seconds after which a round does not wait for more updates of clients on other machines; unset, it
            waits for all.
        weighting: What updates count by: ``examples``, the training windows of a client, or ``equal``. Unset, by
            examples, and equally with privacy.
        max_examples: Largest number of windows that a client may count for, since a client can claim any.
        max_norm: Norm of an update above which it is refused; unset, none is too large. With privacy updates are
            clipped instead.
        local_schedule: Learning rate of the clients over rounds, relative to that of ``training.optimizer``. Within a
            round it is constant.
        server_schedule: Learning rate of the server over rounds, relative to that of the aggregation.
        privacy: Budget of differential privacy for each client; ``None`` for no promise.
        personalization: How clients train the finished model further; ``None`` for not at all.
        vectorize: Whether clients in one process are trained in one step for all of them; ``"auto"`` where that is
            faster on this machine.
        seed: Decides about the first weights, who takes part and the order of windows. With privacy, who takes part and
            the noise come from the operating system.

    Examples:
        >>> import neuro_divergent as nd
        >>> settings = nd.federated.FederationSettings(rounds=20, participation=0.5, local_schedule="cosine")
        >>> [round(settings.local_scale(number), 2) for number in (1, 11, 20)]
        [1.0, 0.5, 0.01]
        >>> privacy = nd.privacy.ClientLevel(epsilon=3.0, delta=1e-5)
        >>> nd.federated.FederationSettings(privacy=privacy, aggregation="median")
        Traceback (most recent call last):
            ...
        neuro_divergent.core.errors.ConfigError: privacy: no proof covers aggregation='median': what one client ...
    """

    aggregation: Aggregation = FedAvg()
    rounds: Count = 50
    local_epochs: Count = 5
    local_steps: Count | None = None
    participation: Annotated[float, Field(gt=0, le=1)] = 1.0
    min_clients: Count = 1
    deadline: Annotated[float, Field(gt=0)] | None = None
    weighting: Weighting | None = None
    max_examples: Count | None = None
    max_norm: Annotated[float, Field(gt=0)] | None = None
    local_schedule: Schedule = Constant()
    server_schedule: Schedule = Constant()
    privacy: ClientLevel | None = None
    personalization: Personalization | None = None
    vectorize: Vectorize = "auto"
    seed: Annotated[int, Field(ge=0)] = 1

    @model_validator(mode="after")
    def _keeps_promise(self) -> Self:
        if self.privacy is None:
            return self
        if not self.aggregation.is_mean:
            raise ValueError(
                f"privacy: no proof covers aggregation={self.aggregation.name!r}: what one client can change is "
                "bounded by its clipped update only where updates are added up. Choose 'fedavg', 'fedprox', 'fedadam', "
                "'fedyogi', 'fedadagrad' or 'fedbn'; the clipping itself bounds what a hostile client can do"
            )
        if self.weighting == "examples":
            raise ValueError(
                "weighting: 'examples' tells how many windows a client has, and lets it count for more than the noise "
                "covers; leave it out, or choose 'equal'"
            )
        if self.max_norm is not None:
            raise ValueError("max_norm: with privacy updates are clipped to privacy.clip_norm; leave max_norm out")
        return self

    @property
    def counts_equally(self) -> bool:
        """Whether all clients count the same."""
        return self.privacy is not None or self.weighting == "equal"

    def local_scale(self, number: int) -> float:
        """Return what the learning rate of clients is multiplied with in a round."""
        return _scale(self.local_schedule, self.rounds, number)

    def server_scale(self, number: int) -> float:
        """Return what the learning rate of the server is multiplied with in a round."""
        return _scale(self.server_schedule, self.rounds, number)


_FORECASTER = ("data", "model", "task", "training")


class FederationConfig(Config):
    """A federation as one document: what is trained, how, and by whom.

    Attributes:
        run: Columns of the tables, model, task and training, as for ``nd train``; in TOML these are sections of the
            document.
        federation: How the federation trains.
        categories: Values of each categorical covariate. Clients must agree on them beforehand, since the network has
            a weight for each.
        clients: Name and table of each client, for a federation in one process.

    Examples:
        >>> import neuro_divergent as nd
        >>> document = {"federation": {"rounds": 20, "aggregation": "fedprox"}, "model": {"name": "nlinear"}}
        >>> document |= {"task": {"horizon": 12, "input_size": 36}}
        >>> config = nd.federated.FederationConfig.from_dict(document)
        >>> nd.federated.FederationConfig.from_toml(config.to_toml()) == config
        True
        >>> nd.federated.Federation(config)
        Federation(nlinear, horizon=12, fedprox, 0 clients, 0 of 20 rounds done)
    """

    run: RunConfig
    federation: FederationSettings = FederationSettings()
    categories: dict[str, list[Any]] = {}  # noqa: RUF012
    clients: dict[str, str] = {}  # noqa: RUF012

    @field_validator("clients")
    @classmethod
    def _names(cls, value: dict[str, str]) -> dict[str, str]:
        for name in value:
            check_name(name)
        return value

    @model_validator(mode="after")
    def _can_be_shared(self) -> Self:
        self.federation.aggregation.check_training(self.run.training)
        if self.run.task.joint:
            raise ValueError(
                "task.joint: a network that takes all series at once has a shape that depends on them, so clients with "
                "other series cannot share its weights; leave joint out"
            )
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, by section."""
        run = self.run.to_dict()
        return {
            "federation": self.federation.to_dict(),
            **{name: run[name] for name in _FORECASTER if name in run},
            "categories": self.categories,
            "clients": self.clients,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        rest = dict(values)
        run = {name: rest.pop(name) for name in _FORECASTER if name in rest}
        if "task" not in run:
            raise ConfigError("task: is missing; write [task] with horizon = 12 and input_size = 36, for example.")
        federation = FederationSettings.from_dict(rest.pop("federation", {}))
        strange = [name for name in rest if name not in ("categories", "clients")]
        if strange:
            known = ", ".join(("federation", *_FORECASTER, "categories", "clients"))
            raise ConfigError(f"unknown section {strange[0]!r}; a federation has {known}.")
        return cls(run=RunConfig.from_dict({"data": {}, **run}), federation=federation, **rest)

    @classmethod
    def from_toml(cls, source: str | Path) -> Self:
        """Read settings from a TOML file (``Path``) or document (``str``)."""
        return cls.from_dict(read_toml(source))


def _scale(schedule: Schedule, rounds: int, number: int) -> float:
    """Return the rate of a schedule over rounds at one of them, counted from 1."""
    state = schedule.begin(Plan(total_steps=rounds, steps_per_epoch=1))
    for _ in range(number - 1):
        state.step()
    return state.rate(1.0)
