"""Requests that have arrived are run together, each gets its own rows, and none waits for a timer."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from neuro_divergent.core.arrays import Array, Floats32
from neuro_divergent.serving.server.batcher import Batcher, Run


def double(inputs: Mapping[str, Array]) -> Floats32:
    """Return the values times two, as a forecast of one step."""
    result: Floats32 = 2 * inputs["past_y"][:, :1, :, None]
    return result


def values(*numbers: float) -> dict[str, Array]:
    """Return windows of one value."""
    return {"past_y": np.asarray(numbers, np.float32).reshape(-1, 1, 1)}


def run(work: Callable[[Callable[..., Batcher]], Any]) -> Any:
    """Run a coroutine that gets a function which makes batchers."""

    async def main() -> Any:
        with ThreadPoolExecutor(1) as executor:

            def make(run: Run, *, largest: int = 64, inline_seconds: float = 0.002, seen: Any = None) -> Batcher:
                observe = (lambda inputs, requests: seen.append(requests)) if seen is not None else lambda *_: None
                batcher = Batcher(run, executor, largest=largest, inline_seconds=inline_seconds, observe=observe)
                batcher.warm_up(values(1.0))
                return batcher

            return await work(make)

    return asyncio.run(main())


def later() -> float:
    """Return a deadline that does not matter."""
    return asyncio.get_running_loop().time() + 30


def test_requests_of_one_turn_are_one_batch_and_each_gets_its_rows() -> None:
    async def work(make: Any) -> None:
        seen: list[int] = []
        batcher = make(double, seen=seen)
        futures = [batcher.submit(values(*range(place, 2 * place)), place, later()) for place in (1, 2, 3)]
        results = await asyncio.gather(*futures)
        assert seen == [3]
        for place, result in zip((1, 2, 3), results, strict=True):
            assert result[:, 0, 0, 0].tolist() == [2 * number for number in range(place, 2 * place)]
        assert batcher.depth == 0

    run(work)


def test_requests_above_the_largest_batch_are_split_and_joined_again() -> None:
    async def work(make: Any) -> None:
        sizes: list[int] = []

        def measure(inputs: Mapping[str, Array]) -> Floats32:
            sizes.append(len(inputs["past_y"]))
            return double(inputs)

        batcher = make(measure, largest=4)
        sizes.clear()
        futures = [batcher.submit(values(*range(size)), size, later()) for size in (3, 2, 10)]
        results = await asyncio.gather(*futures)
        assert max(sizes) <= 4
        assert [result[:, 0, 0, 0].tolist() for result in results] == [
            [2.0 * number for number in range(size)] for size in (3, 2, 10)
        ]

    run(work)


def test_slow_batches_run_in_the_thread_while_requests_collect() -> None:
    async def work(make: Any) -> None:
        threads: set[str] = set()
        seen: list[int] = []

        def slow(inputs: Mapping[str, Array]) -> Floats32:
            threads.add(threading.current_thread().name)
            time.sleep(0.05)
            return double(inputs)

        batcher = make(slow, seen=seen)
        threads.clear()
        first = batcher.submit(values(1), 1, later())
        await asyncio.sleep(0.01)
        others = [batcher.submit(values(number), 1, later()) for number in (2, 3, 4)]
        begin = time.perf_counter()
        await asyncio.sleep(0)
        assert time.perf_counter() - begin < 0.02
        assert batcher.depth == 4
        results = await asyncio.gather(first, *others)
        assert [float(result[0, 0, 0, 0]) for result in results] == [2, 4, 6, 8]
        assert seen == [1, 3]
        assert threads.isdisjoint({threading.main_thread().name})

    run(work)


def test_fast_batches_run_on_the_event_loop() -> None:
    async def work(make: Any) -> None:
        names: list[str] = []

        def fast(inputs: Mapping[str, Array]) -> Floats32:
            names.append(threading.current_thread().name)
            return double(inputs)

        batcher = make(fast, inline_seconds=10.0)
        names.clear()
        await batcher.submit(values(1), 1, later())
        assert names == [threading.main_thread().name]

    run(work)


def test_one_request_that_fails_does_not_fail_the_others() -> None:
    async def work(make: Any) -> None:
        def picky(inputs: Mapping[str, Array]) -> Floats32:
            if (inputs["past_y"] == 13).any():
                raise RuntimeError("unlucky")
            return double(inputs)

        batcher = make(picky)
        futures = [batcher.submit(values(number), 1, later()) for number in (1, 13, 3)]
        results = await asyncio.gather(*futures, return_exceptions=True)
        assert isinstance(results[1], RuntimeError)
        assert [float(results[place][0, 0, 0, 0]) for place in (0, 2)] == [2, 6]

    run(work)


def test_requests_past_their_deadline_fail_and_later_ones_do_not() -> None:
    async def work(make: Any) -> None:
        def slow(inputs: Mapping[str, Array]) -> Floats32:
            time.sleep(0.2)
            return double(inputs)

        batcher = make(slow)
        now = asyncio.get_running_loop().time()
        running = batcher.submit(values(1), 1, now + 0.05)
        await asyncio.sleep(0.01)
        waiting = batcher.submit(values(2), 1, now + 0.1)
        patient = batcher.submit(values(3), 1, now + 5)
        for future in (running, waiting):
            with pytest.raises(TimeoutError):
                await future
        assert asyncio.get_running_loop().time() - now < 0.19
        assert float((await patient)[0, 0, 0, 0]) == 6

    run(work)
