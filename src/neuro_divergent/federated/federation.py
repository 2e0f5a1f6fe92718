"""A federation: clients that train one model without showing each other their data."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from neuro_divergent.core.errors import ConfigError, InputError, NotFittedError
from neuro_divergent.core.formatting import format_count
from neuro_divergent.federated.client_name import check_name
from neuro_divergent.federated.directory import CLIENTS, FederationDirectory
from neuro_divergent.federated.settings import FederationConfig, FederationSettings
from neuro_divergent.forecasting.run_config import DataConfig, RunConfig

if TYPE_CHECKING:
    import polars as pl

    from neuro_divergent.data.panel import Panel
    from neuro_divergent.federated.client import Client
    from neuro_divergent.federated.global_model import GlobalModel
    from neuro_divergent.federated.round_store import RoundState
    from neuro_divergent.federated.shared_network import SharedNetwork
    from neuro_divergent.federated.transport.in_process import InProcess
    from neuro_divergent.forecasting.forecaster import Forecaster
    from neuro_divergent.privacy.budget_meaning import BudgetMeaning

Row = dict[str, Any]


class Federation:
    """Trains one model on the data of several clients in this process.

    For clients on other machines see ``nd federated server`` and ``nd federated client``.

    Args:
        forecaster: What is trained: architecture, task and training, as a ``Forecaster`` or as settings. Its task
            decides which rows of each client are held out.
        schema: Fields of ``Schema``, the same for all clients.
        categories: Values of each categorical covariate.
        settings: Fields of ``FederationSettings``: ``aggregation``, ``rounds``, ``local_epochs``, ``participation``,
            ``privacy``, ...

    Attributes:
        config: All settings; after training, with nothing left open.
        rounds: What happened in each round of the last call of ``fit``.

    Raises:
        ConfigError: If the model cannot be federated, with the reason.

    Examples:
        >>> import neuro_divergent as nd
        >>> shops = nd.datasets.Synthetic(num_series=3, length=60).frame()
        >>> forecaster = nd.Forecaster("nlinear", horizon=7, input_size=14)
        >>> federation = nd.federated.Federation(forecaster, rounds=2, local_epochs=1).add_clients(shops)
        >>> federation.fit()
        Federation(nlinear, horizon=7, fedavg, 3 clients, 2 of 2 rounds done)
        >>> federation.client("series-1").predict().height
        7
        >>> federation.evaluate().select("client", "model").rows()[0]
        ('series-0', 'global')
    """

    def __init__(
        self,
        forecaster: Forecaster | FederationConfig,
        *,
        schema: Mapping[str, Any] | None = None,
        categories: Mapping[str, list[Any]] | None = None,
        **settings: Any,
    ) -> None:
        if isinstance(forecaster, FederationConfig):
            if schema or categories or settings:
                raise ConfigError("a FederationConfig has all settings; give no others.")
            self.config = forecaster
        else:
            self.config = FederationConfig(
                run=_as_run(forecaster, schema or {}),
                federation=FederationSettings(**settings),
                categories=dict(categories or {}),
            )
        self._tables: dict[str, Any] = {}
        self._clients: dict[str, Client] = {}
        self._state: RoundState | None = None
        self.rounds: list[Row] = []
        for name, path in self.config.clients.items():
            self.add_client(name, path)

    @property
    def settings(self) -> FederationSettings:
        """How the federation trains."""
        return self.config.federation

    @property
    def clients(self) -> list[str]:
        """Names of the clients."""
        return sorted(self._tables)

    def add_client(self, name: str, data: Any) -> Self:
        """Add a client with its table; also to a federation that goes on later.

        Args:
            name: Name of the client: letters, digits, ``-``, ``_`` and ``.``.
            data: As for ``Forecaster.fit``, with the columns that the schema of the federation names.
        """
        if check_name(name) in self._tables:
            raise InputError(f"client {name!r} is there already.")
        self._tables[name] = data
        return self

    def add_clients(self, data: Any, *, by: str | None = None) -> Self:
        """Add a client for each value of a column of a table, or for each of its series.

        Args:
            data: A table, as for ``Forecaster.fit``.
            by: Column that says whose rows they are; unset, each series is a client.
        """
        from neuro_divergent.federated.client_tables import split_table

        for name, table in split_table(data, self.config.run.data, by).items():
            self.add_client(name, table)
        return self

    def fit(
        self,
        *,
        run: str | Path | None = None,
        observe: Callable[[Row], None] | None = None,
        stops: Callable[[], bool] = lambda: False,
    ) -> Self:
        """Train all rounds.

        Args:
            run: Directory for the federation: every round is on disk, complete or absent, and a federation that was
                interrupted or killed goes on after its last complete round. With privacy it also holds the ledger.
            observe: Called with the row of each round.
            stops: Called before each round; true stops, to go on later.

        Raises:
            DataError: If the table of a client cannot be used.
            ConfigError: If clients do not fit together, or settings differ from those of the directory.
        """
        if not self._tables:
            raise InputError("there are no clients; add them with add_client(name, table).")
        place = None if run is None else FederationDirectory(Path(run))
        shared = self._share()
        self._remember(None if place is None else place.path / CLIENTS)
        self.rounds = []
        if place is None:
            self._train_in_memory(shared, observe, stops)
        else:
            from neuro_divergent.federated.stored_run import opened_run

            chosen = {"vectorize": None if place.has_begun else self._vectorizes()}
            with opened_run(place, self.config, chosen) as opened:
                transport = self._transport(vectorize=bool(opened.chosen["vectorize"]))
                self._state, self._is_stopped = opened.train(
                    shared, transport, observe=partial(self._observe, observe), stops=stops
                )
        return self

    def __repr__(self) -> str:
        run, done = self.config.run, 0 if self._state is None else self._state.round
        parts = (run.model["name"], f"horizon={run.task.horizon}", self.settings.aggregation.name)
        progress = f"{done} of {format_count(self.settings.rounds, 'round')} done"
        return f"Federation({', '.join(parts)}, {format_count(len(self._tables), 'client')}, {progress})"

    @property
    def is_complete(self) -> bool:
        """Whether no round is left: all are done, or the privacy budget is spent."""
        return self._state is not None and not self._is_stopped

    @property
    def model(self) -> GlobalModel:
        """The global model, which holds nothing of any single client."""
        from neuro_divergent.federated.global_model import GlobalModel

        state = self._fitted
        return GlobalModel.of(self.shared, state.weights, state.round, state.row.get("epsilon"))

    @property
    def shared(self) -> SharedNetwork:
        """The network that all clients train."""
        from neuro_divergent.federated.shared_network import SharedNetwork

        if self._network is None:
            self._network = SharedNetwork(self.config)
        return self._network

    def client(self, name: str, *, personalize: bool = False) -> Forecaster:
        """Return the forecaster of a client: the shared weights, with its own scalers, intervals and context.

        Args:
            name: The client.
            personalize: Whether it is trained further on its data, as ``personalization`` says.
        """
        from neuro_divergent.federated.client_models import adapt, personalized

        weights = self._fitted.weights
        if name not in self._clients:
            raise InputError(f"there is no client {name!r}; there are {', '.join(self.clients[:10])}.")
        return (personalized if personalize else adapt)(self._clients[name], weights)

    def evaluate(self, *, local: bool = False) -> pl.DataFrame:
        """Score the models of each client on rows that they were not trained on.

        Args:
            local: Whether each client also trains a model of its own alone, to compare with.

        Returns:
            A row per client and model: ``global``, ``personal`` (if ``personalization`` is set) and ``local``.
        """
        import polars as pl

        from neuro_divergent.federated.client_models import score_client

        weights = self._fitted.weights
        return pl.concat([score_client(self._clients[name], weights, local=local) for name in self.clients])

    def save(self, path: str | Path) -> None:
        """Write the global model to a directory; ``GlobalModel.load`` reads it."""
        self.model.save(path)

    def describe_budget(self) -> BudgetMeaning | None:
        """Return what the privacy budget means for this model and these clients; ``None`` without privacy."""
        from neuro_divergent.privacy.budget_meaning import explain_budget

        settings, privacy = self.settings, self.settings.privacy
        if privacy is None:
            return None
        size = self._share().layout.size
        return explain_budget(privacy, settings.participation, settings.rounds, len(self._tables), size)

    _network: SharedNetwork | None = None
    _is_stopped = False

    @property
    def _fitted(self) -> RoundState:
        if self._state is None:
            raise NotFittedError("this federation has not been trained: call fit() first.")
        return self._state

    def _train_in_memory(
        self, shared: SharedNetwork, observe: Callable[[Row], None] | None, stops: Callable[[], bool]
    ) -> None:
        from neuro_divergent.federated.round_store import MemoryRounds
        from neuro_divergent.federated.server import Server
        from neuro_divergent.privacy.ledger import Ledger

        server = Server(
            self.settings,
            shared.layout,
            self._transport(vectorize=self._vectorizes()),
            MemoryRounds(),
            ledger=None if self.settings.privacy is None else Ledger(None),
            observe=partial(self._observe, observe),
            stops=stops,
        )
        self._state, self._is_stopped = server.run(shared.initial), server.is_stopped

    def _transport(self, *, vectorize: bool) -> InProcess:
        from neuro_divergent.federated.transport.in_process import InProcess

        return InProcess(self._clients, vectorize=vectorize)

    def _observe(self, other: Callable[[Row], None] | None, row: Row) -> None:
        self.rounds.append(row)
        if other is not None:
            other(row)

    def _vectorizes(self) -> bool:
        """Decide whether clients are trained in one step for all of them."""
        from neuro_divergent.federated.stacked_clients import StackedClients

        how = self.settings.vectorize
        if how is False:
            return False
        reason = StackedClients([self._clients[name] for name in self.clients]).why_not(forced=how is True)
        if reason is not None and how is True:
            raise ConfigError(f"vectorize: the clients cannot be trained so: {reason}.")
        return reason is None

    def _remember(self, directory: Path | None) -> None:
        """Give each client what it kept in a directory; without one, they begin with nothing."""
        from neuro_divergent.federated.client_memory import ClientMemory

        for name, client in self._clients.items():
            client.memory = ClientMemory(None if directory is None else directory / name)

    def _share(self) -> SharedNetwork:
        """Settle what data must decide, and make the clients."""
        from neuro_divergent.federated.client import Client, read_client_panel

        missing = [name for name in self.clients if name not in self._clients]
        panels: dict[str, Panel] = {name: read_client_panel(self.config, self._tables[name], name) for name in missing}
        if self._network is None:
            self.config = self.config.replace(run=_settled(self.config.run, list(panels.values())))
        for name, panel in panels.items():
            self._clients[name] = Client(name, self.shared, panel)
        _require_same_frequency(self._clients)
        return self.shared


def _as_run(forecaster: Any, schema: Mapping[str, Any]) -> RunConfig:
    from neuro_divergent.forecasting.forecaster import Forecaster

    if not isinstance(forecaster, Forecaster):
        raise ConfigError(
            f"{type(forecaster).__name__} cannot be federated: its parts or its shape depend on the data of a client. "
            "Pass a Forecaster."
        )
    return RunConfig(
        data=DataConfig(**schema),
        model=forecaster.architecture.to_dict(),
        task=forecaster._task,
        training=forecaster.training,
    )


def _settled(run: RunConfig, panels: list[Panel]) -> RunConfig:
    """Return the settings with what the data of clients decide: the median of what each would choose."""
    from neuro_divergent.forecasting.history import choose_season

    task = run.task
    if task.input_size is None:
        task = task.replace(input_size=statistics.median_low(task.history_for(panel) for panel in panels))
    if task.baseline is not None and task.season_length is None:
        task = task.replace(season_length=statistics.median_low(choose_season(task, panel) for panel in panels))
    return run.replace(task=task)


def _require_same_frequency(clients: Mapping[str, Client]) -> None:
    names = sorted(clients)
    for name in names:
        if clients[name].frequency != clients[names[0]].frequency:
            raise ConfigError(
                f"client {name!r} has a row every {clients[name].frequency}, and {names[0]!r} every "
                f"{clients[names[0]].frequency}; all clients need the same frequency."
            )
