"""A model that is served by name, whose versions are swapped without a failed request."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

from neuro_divergent.serving.server.metrics import Metrics
from neuro_divergent.serving.server.model_source import ModelSource
from neuro_divergent.serving.server.served_version import ServedVersion
from neuro_divergent.serving.server.settings import ServerSettings

_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 300.0  # seconds from a failed load to the next attempt
_LONGEST_REASON = 500
_Result = TypeVar("_Result")
_log = logging.getLogger(__name__)


class HostedModel:
    """The present version of a model, and where the next comes from.

    Args:
        source: Where versions come from.
        settings: Settings of the server.
        metrics: Where loads and batches are counted.
        executor: Thread for batches that take long.
        loader: Thread for loading versions.
    """

    def __init__(
        self,
        source: ModelSource,
        *,
        settings: ServerSettings,
        metrics: Metrics,
        executor: Executor,
        loader: Executor,
    ) -> None:
        self.name = source.name
        self.source = source
        self.problem: str | None = None
        self._current: ServedVersion | None = None
        self._settings = settings
        self._metrics = metrics
        self._executor = executor
        self._loader = loader
        self._state: object = None
        self._lock = asyncio.Lock()
        self._pause, self._not_before = _FIRST_PAUSE, 0.0

    @property
    def current(self) -> ServedVersion:
        """The version that new requests get; there is one from the first load on."""
        assert self._current is not None
        return self._current

    @property
    def depth(self) -> int:
        """Requests without a forecast at the present version."""
        return 0 if self._current is None else self._current.batcher.depth

    async def load(self) -> None:
        """Load the first version.

        Raises:
            NeuroDivergentError: If it cannot be loaded.
        """
        async with self._lock:
            await self._load(await self._in_thread(self.source.state))

    async def refresh(self, *, force: bool = False) -> bool:
        """Look for a new version, and serve it once it is loaded and warm; return whether there was one.

        A version that cannot be loaded leaves the present one in place; ``problem`` says why.

        Args:
            force: Whether to look again at once where the last attempt failed, or nothing seems to have changed.
        """
        loop = asyncio.get_running_loop()
        if not force and (self._lock.locked() or loop.time() < self._not_before):
            return False
        async with self._lock:
            before = self.current.version
            try:
                state = await self._in_thread(self.source.state)
                if force or state != self._state or self.problem is not None:
                    await self._load(state)
            except Exception as error:  # noqa: BLE001 - a version that cannot be loaded must not stop the present one
                self._fail(error, loop.time())
            return self.current.version != before

    async def _load(self, state: object) -> None:
        model = await self._in_thread(self.source.load)
        present = self._current
        is_same = present is not None and (present.version, present.model.description) == (
            model.version,
            model.description,
        )
        if not is_same:
            version = await ServedVersion.start(
                model,
                self.name,
                settings=self._settings,
                metrics=self._metrics,
                executor=self._executor,
                loader=self._loader,
            )
            self._current = version  # requests under way keep theirs
            self._metrics.swaps.add((("model", self.name), ("outcome", "loaded")))
            _log.info("%s: serving version %s", self.name, version.version[:12])
        self._state, self.problem = state, None
        self._pause, self._not_before = _FIRST_PAUSE, 0.0

    def _fail(self, error: Exception, now: float) -> None:
        self.problem = " ".join(f"{error}".split())[:_LONGEST_REASON] or type(error).__name__
        self._not_before = now + self._pause
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        self._metrics.swaps.add((("model", self.name), ("outcome", "failed")))
        _log.error("%s: a new version could not be loaded, the present one stays: %s", self.name, self.problem)

    async def _in_thread(self, function: Callable[[], _Result]) -> _Result:
        return await asyncio.get_running_loop().run_in_executor(self._loader, function)
