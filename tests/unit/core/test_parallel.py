"""A pool of real worker processes: results, errors, deaths, interrupts."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from neuro_divergent.core import parallel
from neuro_divergent.core import threads as thread_budget
from neuro_divergent.core.errors import InputError, NeuroDivergentError, TaskTimeoutError, WorkerDiedError
from neuro_divergent.core.parallel import WorkerPool
from tests.unit.core.parallel_tasks import (
    Payload,
    act,
    fail_to_start,
    ignore_termination,
    nested,
    process_of,
    record_start,
    square,
    thread_variables,
    torch_threads,
    use_shared,
    wait_for,
)

ROOT = Path(__file__).parents[3]
LONG = 120.0  # seconds after which a test that waits for something has failed


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] != "Z"


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def started_in(directory: Path) -> list[int]:
    return [int(path.name.partition("-")[2]) for path in directory.glob("worker-*")]


@pytest.fixture(scope="module")
def squares() -> Iterator[WorkerPool[int, int]]:
    with WorkerPool[int, int](square, workers=2) as pool:
        yield pool


def test_200_tiny_tasks_all_give_their_result(squares: WorkerPool[int, int]) -> None:
    results = list(squares.run(range(200)))
    assert sorted(result.index for result in results) == list(range(200))
    assert all(result.get() == result.task**2 == result.index**2 for result in results)


def test_no_tasks_give_no_results_and_start_no_process() -> None:
    with WorkerPool[int, int](square, workers=2) as pool:
        assert list(pool.run([])) == []
        assert pool._workers == []


def test_more_workers_than_tasks_start_one_process_for_each_task() -> None:
    with WorkerPool[int, int](process_of, workers=8) as pool:
        pids = {result.get() for result in pool.run(range(2))}
        assert len(pool._workers) <= 2
    assert not any(is_alive(pid) for pid in pids)


def test_results_come_as_tasks_end_and_not_in_order(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    with WorkerPool[tuple[Path, Path], str](wait_for, workers=2) as pool:
        # The first task waits until this process has seen the result of the second.
        release = tmp_path / "release"
        order = []
        for result in pool.run([(first, release), (second, first)]):
            order.append(result.index)
            release.touch()
    assert order == [1, 0]


def test_tasks_are_taken_from_the_iterable_as_workers_become_free(squares: WorkerPool[int, int]) -> None:
    taken: list[int] = []

    def tasks() -> Iterator[int]:
        for number in range(20):
            taken.append(number)
            yield number

    ahead = [len(taken) - done for done, _ in enumerate(squares.run(tasks()), start=1)]
    assert len(ahead) == 20
    assert max(ahead) <= 2


def test_progress_counts_finished_tasks_up_to_their_number(squares: WorkerPool[int, int]) -> None:
    calls: list[tuple[int, int | None]] = []
    list(squares.run([3, 1, 2], lambda done, total: calls.append((done, total))))
    list(squares.run(iter([5]), lambda done, total: calls.append((done, total))))
    assert calls == [(1, 3), (2, 3), (3, 3), (1, None)]


def test_a_worker_that_is_killed_fails_its_task_only() -> None:
    tasks = ["a", "kill", "b", "kill", "c", "exit", "d"]
    with WorkerPool[str, str](act, workers=2) as pool:
        results = {result.index: result for result in pool.run(tasks)}
    assert len(results) == len(tasks)
    for index, task in enumerate(tasks):
        error = results[index].error
        if task in ("kill", "exit"):
            assert isinstance(error, WorkerDiedError)
            assert f"task {index}" in str(error)
            assert ("killed by SIGKILL" if task == "kill" else "exit code 7") in str(error)
            with pytest.raises(WorkerDiedError):
                results[index].get()
        else:
            assert results[index].get() == f"done {task}"


def test_a_task_that_takes_longer_than_it_may_is_ended_and_the_others_go_on(tmp_path: Path) -> None:
    never, there = tmp_path / "never", tmp_path / "there"
    there.touch()
    stuck, quick = (tmp_path / "stuck", never), (tmp_path / "quick", there)
    with WorkerPool[tuple[Path, Path], str](wait_for, workers=1) as pool:
        list(pool.run([quick]))  # a worker is ready, so that the limit is that of the task
        tasks = [stuck, quick, quick]
        results = {
            result.index: result for result in pool.run(tasks, limit=lambda task: 0.2 if task is stuck else LONG)
        }
    assert isinstance(results[0].error, TaskTimeoutError)
    assert "task 0 was ended after 0.2 s" in str(results[0].error)
    assert [results[index].get() for index in (1, 2)] == ["quick", "quick"]


def test_an_idle_worker_that_is_killed_is_replaced() -> None:
    with WorkerPool[int, int](process_of, workers=1) as pool:
        (first,) = (result.get() for result in pool.run([0]))
        os.kill(first, signal.SIGKILL)
        pool._workers[0].process.join()
        (second,) = (result.get() for result in pool.run([1]))
    assert second != first


@pytest.mark.parametrize(
    ("task", "kind", "text"),
    [
        ("raise", ValueError, "raised by the task"),
        ("sys.exit", SystemExit, "3"),
        ("two arguments", NeuroDivergentError, "TwoArgumentsError: one and two"),
    ],
)
def test_an_exception_of_a_task_arrives_with_its_traceback(task: str, kind: type[BaseException], text: str) -> None:
    with WorkerPool[str, str](act, workers=1) as pool:
        bad, good = pool.run([task, "a"])
    assert good.get() == "done a"
    assert type(bad.error) is kind
    assert text in str(bad.error)
    assert "in act" in bad.error.__notes__[0]
    with pytest.raises(kind, match=text):
        bad.get()


def test_a_value_that_cannot_be_pickled_is_an_error_that_names_it() -> None:
    with WorkerPool[str, str](act, workers=1) as pool:
        bad, good = pool.run(["lambda", "a"])
    assert isinstance(bad.error, InputError)
    assert "the returned value.inner[1] (<function act" in str(bad.error)
    assert good.get() == "done a"


def test_a_task_that_cannot_be_pickled_is_an_error_that_names_it() -> None:
    cycle = Payload(fields={"loss": Payload(function=lambda: 1)})
    cycle.itself = cycle  # type: ignore[attr-defined]
    with WorkerPool[Any, Any](process_of, workers=1) as pool:
        good, bad = sorted(pool.run([1, cycle]), key=lambda result: result.index)
    assert isinstance(bad.error, InputError)
    assert "task 1.fields['loss'].function (<function" in str(bad.error)
    assert good.error is None


def test_a_function_that_cannot_be_pickled_is_refused_at_once() -> None:
    with pytest.raises(InputError, match=r"^function\.keywords\['key'\] \(<function"):
        WorkerPool[int, int](partial(square, key=lambda: 1), workers=1)


def test_no_workers_are_refused() -> None:
    with pytest.raises(InputError, match="workers: 0"):
        WorkerPool[int, int](square, workers=0)


def test_warnings_of_a_task_are_issued_in_this_process() -> None:
    with (
        WorkerPool[str, str](act, workers=1) as pool,
        pytest.warns(UserWarning, match="a warning of the task"),
    ):
        assert [result.get() for result in pool.run(["warn"])] == ["done warn"]


def test_shared_arguments_are_made_once_in_each_worker(tmp_path: Path) -> None:
    with WorkerPool[int, tuple[int, int, int]](
        use_shared, workers=2, initializer=partial(record_start, tmp_path)
    ) as pool:
        results = [result.get() for result in pool.run(range(20))]
    starts = [int(line) for line in (tmp_path / "starts").read_text().split()]
    assert len(starts) == len(set(starts)) <= 2
    assert {pid for _, pid, _ in results} <= set(starts)
    assert {size for _, _, size in results} == {1_000_000}


def test_an_initializer_that_raises_ends_the_run_with_its_error() -> None:
    with (
        WorkerPool[int, int](use_shared, workers=2, initializer=fail_to_start) as pool,
        pytest.raises(ValueError, match="raised by the initializer"),
    ):
        list(pool.run(range(3)))
    assert pool._workers == []


@pytest.mark.parametrize(("threads", "workers", "each"), [(8, 2, 4), (7, 2, 3), (1, 3, 1)])
def test_the_thread_budget_is_divided_among_workers(threads: int, workers: int, each: int) -> None:
    with WorkerPool[int, dict[str, str]](thread_variables, workers=workers, threads=threads) as pool:
        assert pool.threads == each
        (found,) = (result.get() for result in pool.run([0]))
    assert set(found.values()) == {str(each)}


def test_the_thread_budget_defaults_to_the_available_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_budget, "available_cores", lambda: 12)
    assert WorkerPool[int, int](square, workers=3).threads == 4


def test_torch_uses_the_threads_of_its_worker() -> None:
    with WorkerPool[int, int](torch_threads, workers=2, threads=2) as pool:
        assert [result.get() for result in pool.run([0, 1])] == [1, 1]


def test_a_pool_works_inside_a_worker() -> None:
    with WorkerPool[int, list[int]](nested, workers=1) as pool:
        assert [result.get() for result in pool.run([3])] == [[0, 1, 4]]


def test_an_exception_of_the_caller_ends_all_workers(tmp_path: Path) -> None:
    tasks: list[tuple[Path, Path]] = [(tmp_path / "a", tmp_path), *((tmp_path / "b", tmp_path / "never"),) * 3]
    pool = WorkerPool[tuple[Path, Path], str](wait_for, workers=2)
    pids: list[int] = []

    def use() -> None:
        with pool:
            for _ in pool.run(tasks):
                pids.extend(worker.process.pid or 0 for worker in pool._workers)
                raise RuntimeError("of the caller")

    with pytest.raises(RuntimeError, match="of the caller"):
        use()
    assert pids
    assert not any(is_alive(pid) for pid in pids)


def test_leaving_the_loop_early_leaves_a_pool_that_works(tmp_path: Path) -> None:
    never = tmp_path / "never"
    with WorkerPool[tuple[Path, Path], str](wait_for, workers=2) as pool:
        for result in pool.run([(tmp_path / "a", tmp_path), (tmp_path / "b", never), (tmp_path / "c", never)]):
            assert result.get() == "a"
            break
        assert [result.get() for result in pool.run([(tmp_path / "d", tmp_path)])] == ["d"]


def test_a_worker_that_ignores_sigterm_is_ended_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "_GRACE_SECONDS", 0.1)
    with WorkerPool[Path | None, None](ignore_termination, workers=2) as pool:
        assert len(list(pool.run([None, None]))) == 2  # both workers are ready, so the next tasks are sent at once
        for result in pool.run([tmp_path, None]):
            assert result.task is None
            wait_until(lambda: bool(started_in(tmp_path)))
            process = next(worker.process for worker in pool._workers if worker.assignment is not None)
            break
    assert process.exitcode == -signal.SIGKILL


def test_importing_the_module_loads_neither_torch_nor_numpy() -> None:
    code = "import sys, neuro_divergent.core.parallel; assert not {'torch', 'numpy', 'polars'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, env=environment())


SCRIPT = """
import signal, sys
from pathlib import Path
from neuro_divergent.core.parallel import WorkerPool
from tests.unit.core.parallel_tasks import sleep_for_ever

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell ignores for what runs in its background
    with WorkerPool(sleep_for_ever, workers=2) as pool:
        for result in pool.run([Path(sys.argv[1])] * 4):
            raise AssertionError(result)
"""


def environment() -> dict[str, str]:
    source = os.pathsep.join([str(ROOT), *sys.path])
    return {**os.environ, "PYTHONPATH": source}


def start_script(text: str, directory: Path, **options: Any) -> subprocess.Popen[bytes]:
    script = directory / "script.py"
    script.write_text(text)
    return subprocess.Popen(
        [sys.executable, str(script), str(directory)], env=environment(), stderr=subprocess.PIPE, **options
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_to_the_parent_leaves_no_worker_running(tmp_path: Path, number: signal.Signals) -> None:
    parent = start_script(SCRIPT, tmp_path)
    wait_until(lambda: len(started_in(tmp_path)) == 2)
    workers = started_in(tmp_path)
    parent.send_signal(number)
    _, stderr = parent.communicate(timeout=LONG)
    assert parent.returncode == -number
    assert (b"KeyboardInterrupt" in stderr) == (number == signal.SIGINT)
    wait_until(lambda: not any(is_alive(pid) for pid in workers))


@pytest.mark.parametrize("attempt", range(3))
def test_ctrl_c_at_any_moment_of_the_start_leaves_no_worker_running(tmp_path: Path, attempt: int) -> None:
    parent = start_script(SCRIPT, tmp_path, start_new_session=True)
    time.sleep(random.Random(attempt).uniform(0.1, 1.0))
    os.killpg(parent.pid, signal.SIGINT)  # as a terminal does: to the workers as well
    _, stderr = parent.communicate(timeout=LONG)
    assert parent.returncode != 0
    assert stderr.count(b"Traceback") <= 1, stderr.decode()  # none from a worker
    wait_until(lambda: not group_members(parent.pid))


def group_members(group: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[2]) == group and fields[0] != "Z":
            found.append(int(path.parent.name))
    return found


def test_a_script_that_forgets_its_pool_ends(tmp_path: Path) -> None:
    text = SCRIPT.replace("    with WorkerPool", "    pool = WorkerPool").replace(
        " as pool:", "\n    results = iter(())"
    )
    text = text.partition("        for")[0] + (
        "    import threading, time\n"
        "    threading.Thread(target=lambda: list(pool.run([Path(sys.argv[1])])), daemon=True).start()\n"
        "    while not list(Path(sys.argv[1]).glob('worker-*')):\n"
        "        time.sleep(0.01)\n"
    )
    parent = start_script(text, tmp_path)
    _, stderr = parent.communicate(timeout=LONG)
    assert parent.returncode == 0, stderr.decode()
    (pid,) = started_in(tmp_path)
    wait_until(lambda: not is_alive(pid))


def test_a_script_without_a_main_guard_is_told_so(tmp_path: Path) -> None:
    text = SCRIPT.replace('if __name__ == "__main__":', "if True:")
    parent = start_script(text, tmp_path)
    _, stderr = parent.communicate(timeout=LONG)
    assert parent.returncode == 1
    assert b"needs `if __name__ == '__main__':`" in stderr
    assert not started_in(tmp_path)


def test_workers_start_with_torch_loaded_in_the_parent(tmp_path: Path) -> None:
    text = "import torch\ntorch.ones(64, 64) @ torch.ones(64, 64)\n" + SCRIPT.replace("sleep_for_ever", "square")
    text = text.replace("[Path(sys.argv[1])] * 4", "range(4)").replace(
        "raise AssertionError(result)", "assert result.get() == result.task ** 2"
    )
    parent = start_script(text, tmp_path)
    _, stderr = parent.communicate(timeout=LONG)
    assert parent.returncode == 0, stderr.decode()
