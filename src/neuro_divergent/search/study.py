"""A study: a directory with a search that can be run, resumed, shared by workers and looked at."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from neuro_divergent import __version__
from neuro_divergent.core import html
from neuro_divergent.core.errors import ConfigError, DataError, InputError, NewerFormatError, UntrustedFileError
from neuro_divergent.core.executor import Executor
from neuro_divergent.core.formatting import format_count, format_number
from neuro_divergent.core.progress import following
from neuro_divergent.core.storage import strict_json
from neuro_divergent.core.storage.atomic import write_file
from neuro_divergent.core.storage.regular_file import read_json
from neuro_divergent.forecasting.run_config import DataConfig, RunConfig
from neuro_divergent.runs.directory import fingerprint
from neuro_divergent.search.config import StudyConfig
from neuro_divergent.search.limits import Limits
from neuro_divergent.search.naive_error import naive_errors
from neuro_divergent.search.objective import Objective
from neuro_divergent.search.pareto import pareto_front, recommend
from neuro_divergent.search.settings import config_for, training_windows
from neuro_divergent.search.space import Space
from neuro_divergent.search.storage.trial_store import TrialStore
from neuro_divergent.search.trial import Trial, best_of
from neuro_divergent.search.trial_table import trial_table

if TYPE_CHECKING:
    import polars as pl
    from plotly.graph_objects import Figure as PlotlyFigure

    from neuro_divergent.data.panel import Panel
    from neuro_divergent.forecasting.forecaster import Forecaster
    from neuro_divergent.forecasting.vectorized_fit import Vectorize
    from neuro_divergent.search.parameter import Point
    from neuro_divergent.workflow.outcome import Outcome

STUDY, BEST, PLOTS = "study.json", "best", "plots"
_MOST_SHOWN = 50  # trials in a notebook
_FORMAT = 1
_LIMIT = 16 << 20


class Study:
    """Searches settings of a forecaster, in a directory.

    Trials are runs under ``trials/`` of the directory; ``study.json`` has the settings of the study, and the storage
    (``journal.log``, unless another is named) the trials. Whatever process is killed, ``Study.load(directory).run()``
    goes on.

    Args:
        forecaster: What is trained, with all settings that are not searched; or all settings of a run.
        directory: New directory for the study.
        space: What to try: a ``Space``, or settings as for one; unset, the default space around the forecaster.
        config: Further fields of ``StudyConfig``: ``objectives``, ``constraints``, ``splitter``, ``seeds``,
            ``method``, ``pruner``, ``seed``, ``storage`` and ``keep``.

    Raises:
        InputError: If the directory exists.
        ConfigError: If a setting is not one of the forecaster, with those that have it, or cannot have a value.

    Examples:
        >>> import neuro_divergent as nd
        >>> forecaster = nd.Forecaster("nlinear", horizon=6, training=nd.TrainingConfig(max_steps=5))
        >>> space = {"task.input_size": [12, 24], "training.optimizer.lr": nd.search.log(1e-4, 1e-1)}
        >>> study = nd.search.Study(forecaster, "study", space, method="random")
        >>> trials = study.run(nd.datasets.air_passengers(), trials=3).trials
        >>> [(trial.number, trial.state, trial.origin) for trial in trials]
        [(0, 'complete', 'defaults'), (1, 'complete', 'method'), (2, 'complete', 'method')]
        >>> sorted(study.best.settings)
        ['task.input_size', 'training.optimizer.lr']
    """

    def __init__(
        self,
        forecaster: Forecaster | RunConfig,
        directory: str | Path,
        space: Space | Mapping[str, Any] | None = None,
        **config: Any,
    ) -> None:
        self.directory = Path(directory)
        if self.directory.exists() and not all(_is_leftover(item) for item in self.directory.iterdir()):
            hint = "; load it with Study.load, or 'nd search resume'" if (self.directory / STUDY).is_file() else ""
            raise InputError(f"{self.directory}: exists already{hint}.")
        base = forecaster if isinstance(forecaster, RunConfig) else _as_run(forecaster)
        chosen = Space.of(base=base) if space is None else space if isinstance(space, Space) else Space(space)
        chosen.around(base)  # which refuses settings that the forecaster does not have
        if not isinstance(config.get("splitter"), (type(None), str, Mapping)):
            from neuro_divergent.evaluation.splitters.function import as_splitter

            config["splitter"] = as_splitter(config["splitter"])
        self.config = StudyConfig(run=base, space=chosen.to_dict(), **config)
        self.config.method.check(chosen, len(self.config.objectives))
        self._chooses_objective = "objectives" not in config
        self.name = f"{self.directory.resolve().name}-{uuid.uuid4().hex[:8]}"
        self._document: dict[str, Any] = {}
        self._vectorize: Vectorize = "auto"

    @classmethod
    def load(cls, directory: str | Path) -> Self:
        """Open a study that was begun.

        Raises:
            InputError: If there is none.
        """
        path = Path(directory) / STUDY
        if not path.is_file():
            raise InputError(f"{directory}: there is no study; 'nd search FILE --horizon 24' begins one.")
        document = read_json(path, _LIMIT)
        if not isinstance(document, dict) or type(document.get("format")) is not int:
            raise UntrustedFileError(f"{path}: does not describe a study.")
        if document["format"] > _FORMAT:
            raise NewerFormatError(path, document["format"], _FORMAT)
        study = cls.__new__(cls)
        study.directory, study.name, study._document = Path(directory), str(document["name"]), document
        study.config = StudyConfig.from_dict(document["config"])
        study._chooses_objective = False
        study._vectorize = document.get("vectorize", False)  # not in a study of an earlier version
        return study

    def enqueue(self, settings: Mapping[str, Any]) -> None:
        """Add a point to be tried after the defaults and before the method proposes others.

        Settings that are left out have their defaults. The study must have been begun (``run``), or be begun later.
        """
        point = self._space().require(settings)
        if not self._document:
            self._waiting.append(point)
            return
        claims = self.store.claims()
        try:
            with claims.exclusive():
                self.store.enqueue(point)
        finally:
            claims.close()

    def run(
        self,
        data: Any = None,
        *,
        trials: int | None = None,
        seconds: float | None = None,
        target_value: float | None = None,
        patience: int | None = None,
        jobs: int = 1,
        threads: int | None = None,
        executor: Executor | None = None,
        vectorize: Vectorize | None = None,
        progress: bool = False,
        **schema: Any,
    ) -> Self:
        """Run trials until a limit is reached.

        The first trial has the defaults of the forecaster (the nearest values of the space), then come enqueued points,
        then what the method proposes. A study that was interrupted or killed goes on where it was.

        Args:
            data: As for ``Forecaster.fit``; of a study that was begun with a file, that file if left out.
            trials: Number of trials of the study, those of earlier calls included; unset in all calls, 50.
            seconds: Time from now on. A trial that runs then is stopped, and goes on when the study is resumed.
            target_value: Value of the first objective that is good enough.
            patience: Trials since the best one after which none is begun.
            jobs: Processes to run trials in; -1 for one per core. A script that uses several needs
                ``if __name__ == "__main__":``.
            threads: Threads of all processes together; unset, the cores are shared.
            executor: What starts the processes instead of this machine, such as ``nd.distributed.RayExecutor("auto")``.
                The directory of the study must be on storage that all machines see.
            vectorize: Whether trainings that differ in seed, fold or learning rate alone are done in one step for all
                of them, which gives the same values up to rounding: seeds and folds of a trial, and trials of a method
                that does not look at results, if there is no pruner. ``"auto"``, which is the default of a new study,
                where a short measurement shows that it is faster; ``True`` always, with an error where it is not
                possible; ``False`` never, so that each has checkpoints of its own.
            progress: Whether progress is shown, as inside of ``nd.show_progress()``.
            schema: Fields of ``Schema``, as for ``Forecaster.fit``; of a new study.
        """
        given = {"trials": trials, "seconds": seconds, "target_value": target_value, "patience": patience}
        given = {key: value for key, value in given.items() if value is not None}
        limits = Limits(**(given or self._document.get("limits") or {"trials": 50}))
        deadline = limits.deadline()
        self._choose_vectorize(vectorize, limits)
        if not self.is_begun:
            self._describe_data(data, schema)
        panel = self._open(data, limits)
        from neuro_divergent.search.parallel import run_workers

        with following(progress):
            run_workers(self, panel, limits, jobs=jobs, threads=threads, deadline=deadline, executor=executor)
        return self

    def work(
        self,
        panel: Panel,
        limits: Limits,
        *,
        threads: int | None = None,
        deadline: float | None = None,
        num_workers: int = 1,
    ) -> str:
        """Run trials in this process until a limit is reached, and return which.

        Args:
            panel: The data.
            limits: When to end.
            threads: Threads that training may use.
            deadline: When the time is up in terms of ``time.monotonic``; unset, what the limits say from now on.
            num_workers: Processes that run trials at the same time.
        """
        import neuro_divergent.forecasting.network_training  # noqa: F401 (torch, so that one who waits can begin at once)
        from neuro_divergent.search.settings import require_buildable
        from neuro_divergent.search.trial_runner import TrialRunner
        from neuro_divergent.search.worker import Worker

        store = self._open_store(self._space(panel))
        deadline = limits.deadline() if deadline is None else deadline
        runner = TrialRunner(
            self.config, self.directory, store, panel, threads=threads, deadline=deadline, vectorize=self._vectorize
        )
        check = partial(require_buildable, self.config.run, panel=panel)
        groups = runner.groups(limits, num_workers)
        worker = Worker(self.config, store, self.start(panel), run=runner.run, check=check, groups=groups)
        runner.remove_models()  # which a process that died may have left
        try:
            return worker.work(limits, deadline)
        finally:
            store.close()

    def join(self, data: Any = None) -> str:
        """Work on a study that another process has begun, and return why no more trials are begun.

        Raises:
            DataError: If the data are not those of the study.
        """
        return self.work(self._open(data, None), self.limits)

    def close(self) -> None:
        """Close the connections to a database; they are opened again when they are needed."""
        if "store" in self.__dict__:
            self.store.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.directory)!r}, {self._summary()})"

    def _repr_html_(self) -> str:
        pairs: list[tuple[str, object]] = [("directory", self.directory), ("space", ", ".join(self.config.space))]
        if not self.is_begun:
            return html.card(type(self).__name__, self._summary(), html.facts(pairs))
        best, goal, table = self.best, self.config.objectives[0].name, self.table
        if best is not None:
            settings = ", ".join(f"{name}={value}" for name, value in best.settings.items())
            pairs.append((f"best, trial {best.number}", settings))
        pairs.append((goal, html.sparkline(table[goal].drop_nulls().to_list(), f"{goal} of the trials")))
        rows = html.details("trials", html.table(table.columns, table.rows(), most=_MOST_SHOWN))
        return html.card(type(self).__name__, self._summary(), html.facts(pairs), rows)

    def _summary(self) -> str:
        """Return how far it is, and the best value, in a few words."""
        if not self.is_begun:
            return "not run yet: call run(data)"
        trials, best, goal = self.trials, self.best, self.config.objectives[0].name
        done = f"{sum(trial.is_done for trial in trials)} of {format_count(len(trials), 'trial')} done"
        return done if best is None else f"{done}, best {goal} {format_number(best.values[goal])}"

    @property
    def is_begun(self) -> bool:
        """Whether it has been run, so that its files exist."""
        return bool(self._document)

    @property
    def limits(self) -> Limits:
        """When the study ends, as the last ``run`` was told."""
        return Limits(**self._document["limits"])

    @property
    def trials(self) -> list[Trial]:
        """All trials, in the order in which they were begun."""
        return self.store.trials()

    @property
    def table(self) -> pl.DataFrame:
        """A row for each trial: number, state, objectives, constraints, settings and the reason of a failure."""
        return trial_table(self.trials)

    @property
    def best(self) -> Trial | None:
        """The best trial that meets the constraints; of several objectives, the one that is recommended."""
        objectives = self.config.objectives
        if len(objectives) == 1:
            return best_of(self.trials, objectives[0].name, objectives[0].sign)
        return recommend(self.front, objectives)

    @property
    def front(self) -> list[Trial]:
        """The Pareto front: the trials that no other one beats in all objectives."""
        return pareto_front(self.trials, self.config.objectives)

    @cached_property
    def store(self) -> TrialStore:
        """The trials in their storage."""
        if not self._document:
            raise InputError(f"{self.directory}: the study has not been run yet.")
        return self._open_store(self._space())

    @property
    def space(self) -> Space:
        """What is searched, for the settings that are not."""
        return self._space()

    @property
    def importances(self) -> dict[str, float]:
        """How much of the first objective each setting explains, the most important first."""
        from neuro_divergent.search.figures import importances

        return importances(self)

    def plot(self, name: str = "convergence") -> PlotlyFigure:
        """Return a plotly figure; without plotly, one that a notebook shows as a static picture.

        Args:
            name: ``convergence``, ``importances``, ``parallel-coordinates``, ``pareto-front``, ``slice-<setting>``,
                ``partial-dependence-<setting>`` or ``contour-<setting>,<setting>``.

        Raises:
            InputError: If there is no such figure, or not enough trials for it.
        """
        from neuro_divergent.reporting.plotly.notebook_figure import draw
        from neuro_divergent.search.figures import StudyFigures

        return draw(StudyFigures(self).figure(name))

    def write_plots(self) -> Path:
        """Draw all figures as SVG files in ``plots/`` of the study, and return that directory."""
        from neuro_divergent.reporting.svg.file import render_svg
        from neuro_divergent.search.figures import figures_of

        place = self.directory / PLOTS
        place.mkdir(exist_ok=True)
        for name, figure in figures_of(self).items():
            write_file(place / f"{name}.svg", render_svg(figure).encode("utf-8"))
        return place

    def settings_of(self, trial: Trial) -> RunConfig:
        """Return all settings of a trial, as those of a run of its own."""
        return config_for(self.config.run, trial.settings)

    def fit_best(
        self, data: Any = None, *, run: str | Path | None = None, refit: bool = True, trial: Trial | None = None
    ) -> Outcome:
        """Train the best trial again as a run of its own, with model, forecasts, scores and report.

        Args:
            data: As for ``run``.
            run: Directory of the run; ``best`` in the study if left out.
            refit: Whether it is then trained on all rows but the test part.
            trial: Another trial than the best one.

        Raises:
            InputError: If no trial is complete.
        """
        from neuro_divergent.search.report import write_best_report
        from neuro_divergent.workflow.train_run import train_run

        best = trial or self.best
        if best is None:
            raise InputError(self.why_no_best())
        config = self.settings_of(best)
        config = config.replace(task=config.task.replace(refit=refit and self.config.run.task.refit))
        outcome = train_run(config, self.directory / BEST if run is None else run, data)
        write_best_report(self, Path(outcome.files["report"]), best)
        return outcome

    def why_no_best(self) -> str:
        """Return what to say where no trial can be the best."""
        stopped = [trial.number for trial in self.trials if trial.state == "stopped"]
        hint = f" Trial {stopped[0]} was stopped when the time was up; resume the study with more." if stopped else ""
        return f"{self.directory}: no trial is complete and meets the constraints.{hint}"

    def start(self, panel: Panel) -> Point:
        """Return the first point: the settings of the forecaster, or the nearest values of the space."""
        run = self.config.run.resolve_training().resolve_model()
        values = run.to_dict()
        values["task"]["input_size"] = run.task.history_for(panel)
        values["training"]["batch_size"] = run.training.batch_size_for(len(training_windows(run.task, panel)))
        return self._space(panel).start(values)

    def _choose_vectorize(self, given: Vectorize | None, limits: Limits) -> None:
        """Take what was given, if it can be."""
        from neuro_divergent.search.grouping import require_groups

        chosen = self._vectorize if given is None else given
        if not (isinstance(chosen, bool) or chosen == "auto"):
            raise ConfigError(f"vectorize: {chosen!r} must be 'auto', True or False.")
        require_groups(self.config, limits, chosen)
        self._vectorize = chosen

    def _open_store(self, space: Space) -> TrialStore:
        return TrialStore(self.config, self.name, self.directory, space, self._document.get("queue", ()))

    @cached_property
    def _waiting(self) -> list[Point]:
        return []

    def _space(self, panel: Panel | None = None) -> Space:
        """Return the space of this study; ranges of the history depend on the data when it was begun."""
        run, stored = self.config.run, self._document.get("history")
        history = stored if panel is None or stored is not None else run.task.history_for(panel)
        return Space.from_dict(self.config.space).around(run, history)

    def _describe_data(self, data: Any, schema: dict[str, Any]) -> None:
        """Write down which file is searched on, for workers and for resuming, and what its columns are."""
        run = self.config.run
        if schema or isinstance(data, (str, Path)):
            path = str(data) if isinstance(data, (str, Path)) else run.data.path
            fields = {**dict(run.data.schema_fields), **schema}
            self.config = self.config.replace(run=run.replace(data=DataConfig(path=path, **fields)))

    def _open(self, data: Any, limits: Limits | None) -> Panel:
        """Read the data, and write ``study.json`` if the study is new or its limits are."""
        from neuro_divergent.data.load import load_panel
        from neuro_divergent.data.panel import Panel

        schema, path = self.config.run.data.schema_fields, self.config.run.data.path
        if data is None and path is None:
            raise InputError(f"{self.directory}: was begun with a table in memory; pass it as data.")
        panel = data if isinstance(data, Panel) else load_panel(path if data is None else data, schema)
        now = fingerprint(panel, self._document["data"].get("sha256") if self._document else None)
        if self._document and self._document["data"] != now:
            raise DataError(f"{self.directory}: the data have changed since the study began; begin a new one.")
        if limits is not None:
            if self._chooses_objective:
                self._choose_objective(panel)
            self._write(panel, now, limits)
        return panel

    def _choose_objective(self, panel: Panel) -> None:
        """Take the mean absolute error where no series has a naive error that others could be divided by."""
        windows = training_windows(self.config.run.task, panel)
        if not (naive_errors(windows.panel, windows.ends) > 0).any():
            self.config = self.config.replace(objectives=(Objective(name="mae"),))

    def _write(self, panel: Panel, data: dict[str, Any], limits: Limits) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        document = {
            "format": _FORMAT,
            "version": __version__,
            "name": self.name,
            "created": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            "data": data,
            "history": self.config.run.task.history_for(panel),
            "queue": self._waiting,
            **self._document,
            "config": self.config.to_dict(),
            "limits": limits.to_dict(),
            "vectorize": self._vectorize,
        }
        write_file(self.directory / STUDY, strict_json.dumps(document, indent=1))
        self._document = document


def _is_leftover(path: Path) -> bool:
    """Whether a file is what a process left that was killed before the study had begun."""
    return path.name.startswith(f".{STUDY}.")


def _as_run(forecaster: Forecaster) -> RunConfig:
    return RunConfig(
        data=DataConfig(), model=forecaster.architecture, task=forecaster.task, training=forecaster.training
    )
