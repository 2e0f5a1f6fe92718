"""Running stages: what is run, what is not, and what happens when a stage fails."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from neuro_divergent.core.errors import ConfigError, DataError, InputError
from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.lifecycle.pipeline.error_policy import ErrorPolicy, retry
from neuro_divergent.lifecycle.pipeline.function_stage import stage
from neuro_divergent.lifecycle.pipeline.pipeline import Pipeline
from neuro_divergent.lifecycle.pipeline.pipeline_result import PipelineResult
from neuro_divergent.lifecycle.pipeline.stage_error import StageFailedError
from neuro_divergent.lifecycle.pipeline.stages.data_validation import DataValidation
from neuro_divergent.lifecycle.pipeline.stages.preprocessing import Preprocessing
from tests.unit.lifecycle.pipeline.tables import daily


def double(table: pl.DataFrame, factor: float = 2.0) -> pl.DataFrame:
    return table.with_columns(pl.col("y") * factor)


def total(table: pl.DataFrame) -> float:
    return float(table["y"].sum())


def rows(table: pl.DataFrame) -> int:
    return table.height


def both(total: float, rows: int) -> dict[str, Any]:
    return {"mean": total / rows}


def diamond(
    place: Path, data: Any, *, factor: float = 2.0, limit: float = 1e6, function: Callable[..., Any] = total
) -> Pipeline:
    """Return a pipeline: check -> double -> total and rows -> both."""
    return Pipeline(
        [
            stage(DataValidation(ranges={"y": (0, limit)}), name="check"),
            stage(double, settings={"factor": factor}),
            stage(function, name="total", outputs="total", inputs={"table": "double.table"}),
            stage(rows, outputs="rows", inputs={"table": "check.table"}),
            stage(both, outputs="both"),
        ],
        data=data,
        directory=place,
    )


def ran(result: PipelineResult) -> set[str]:
    assert set(result.states.values()) <= {"done", "cached"}
    return {name for name, state in result.states.items() if state == "done"}


ALL = {"check", "double", "total", "rows", "both"}


def test_second_run_computes_nothing_and_gives_the_same(tmp_path: Path) -> None:
    first = diamond(tmp_path / "p", daily()).run()
    assert ran(first) == ALL
    assert first["both"]["mean"] == pytest.approx(2 * daily()["y"].mean())
    second = diamond(tmp_path / "p", daily()).run()
    assert ran(second) == set()
    assert second.digests == first.digests


def test_changed_setting_reruns_what_depends_on_it(tmp_path: Path) -> None:
    diamond(tmp_path / "p", daily()).run()
    assert ran(diamond(tmp_path / "p", daily(), factor=3.0).run()) == {"double", "total", "both"}
    assert ran(diamond(tmp_path / "p", daily(), factor=2.0).run()) == set()  # the earlier results are there still


def test_changed_setting_without_another_result_reruns_that_stage_only(tmp_path: Path) -> None:
    diamond(tmp_path / "p", daily()).run()
    assert ran(diamond(tmp_path / "p", daily(), limit=2e6).run()) == {"check"}


def test_changed_code_reruns_what_depends_on_it(tmp_path: Path) -> None:
    def load(text: str) -> Callable[..., Any]:
        space: dict[str, Any] = {"__name__": "typed_in"}
        exec(text, space)
        return space["add"]  # type: ignore[no-any-return]

    plain, more = (
        "def add(table):\n    return float(table['y'].sum())\n",
        "def add(table):\n    return float(table['y'].sum() + 1)\n",
    )
    assert ran(diamond(tmp_path / "p", daily(), function=load(plain)).run()) == ALL
    assert ran(diamond(tmp_path / "p", daily(), function=load(plain)).run()) == set()
    assert ran(diamond(tmp_path / "p", daily(), function=load(more)).run()) == {"total", "both"}


def test_one_changed_value_of_the_data_reruns_what_depends_on_it(tmp_path: Path) -> None:
    data = daily()
    diamond(tmp_path / "p", data).run()
    other = data.with_columns(y=pl.when(pl.int_range(pl.len()) == 9).then(pl.col("y") + 1e-9).otherwise("y"))
    # How many rows there are is counted again, and is as many: nothing but the sum changes what follows.
    assert ran(diamond(tmp_path / "p", other).run()) == {"check", "double", "total", "rows", "both"}
    assert ran(diamond(tmp_path / "p", data).run()) == set()


def test_file_with_a_new_time_and_the_same_content_reruns_nothing(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    daily().write_csv(file)
    old = time.time() - 100
    os.utime(file, (old, old))
    assert ran(diamond(tmp_path / "p", str(file)).run()) == ALL
    assert ran(diamond(tmp_path / "p", str(file)).run()) == set()
    os.utime(file, (old + 10, old + 10))
    assert ran(diamond(tmp_path / "p", str(file)).run()) == set()
    moved = tmp_path / "elsewhere" / "data.csv"
    moved.parent.mkdir()
    shutil.copyfile(file, moved)
    assert ran(diamond(tmp_path / "p", str(moved)).run()) == set()


def test_one_changed_byte_of_a_file_reruns_even_at_the_same_size_and_second(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    daily().write_csv(file)
    assert ran(diamond(tmp_path / "p", str(file)).run()) == ALL
    status, text = file.stat(), file.read_text()
    file.write_text(text.replace("10.0", "10.1", 1))
    os.utime(
        file, ns=(status.st_atime_ns, status.st_mtime_ns)
    )  # a file this young is read again whatever its time says
    assert "check" in ran(diamond(tmp_path / "p", str(file)).run())


def test_file_that_changes_while_the_pipeline_runs_is_not_kept_under_its_old_key(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    daily().write_csv(file)

    def change(event: dict[str, Any]) -> None:
        if event["event"] == "stage_start":
            daily(61).write_csv(file)

    with pytest.raises(StageFailedError, match="was changed while the pipeline ran; run it again"):
        diamond(tmp_path / "p", str(file)).run(observe=change)
    assert diamond(tmp_path / "p", str(file)).run()["rows"] == 122


def test_pattern_of_files_counts_all_of_them(tmp_path: Path) -> None:
    for name in ("a", "b"):
        daily(40, 1).with_columns(unique_id=pl.lit(name)).write_parquet(tmp_path / f"{name}.parquet")
    pattern = str(tmp_path / "*.parquet")
    assert diamond(tmp_path / "p", pattern).run()["rows"] == 80
    daily(40, 1).with_columns(unique_id=pl.lit("c")).write_parquet(tmp_path / "c.parquet")
    assert diamond(tmp_path / "p", pattern).run()["rows"] == 120


def test_damaged_result_is_computed_again(tmp_path: Path) -> None:
    first = diamond(tmp_path / "p", daily()).run()
    file = first.artifact("double.table").file
    content = bytearray(file.read_bytes())
    content[100] ^= 1
    file.write_bytes(bytes(content))
    second = diamond(tmp_path / "p", daily()).run()
    assert ran(second) == {"double"}
    assert second.digests == first.digests


def test_stage_runs_what_it_needs_and_only_refuses_to(tmp_path: Path) -> None:
    pipeline = diamond(tmp_path / "p", daily())
    with pytest.raises(InputError, match="the result of stage 'check' is not there"):
        pipeline.run(stage="rows", only=True)
    assert pipeline.run(stage="rows").states == {"check": "done", "rows": "done"}
    assert pipeline.run(stage="rows", only=True).states == {"check": "cached", "rows": "cached"}
    assert pipeline.run(stage="double", only=True).states == {"check": "cached", "double": "done"}
    assert ran(pipeline.run()) == {"total", "both"}
    with pytest.raises(ConfigError, match=r"there is no stage 'rosw'. Did you mean 'rows'"):
        pipeline.run(stage="rosw")


def test_force_runs_a_stage_and_only_what_its_new_result_changes(tmp_path: Path) -> None:
    pipeline = diamond(tmp_path / "p", daily())
    pipeline.run()
    assert ran(pipeline.run(force="double")) == {"double"}


def test_stage_without_cache_runs_each_time_and_what_follows_only_if_it_differs(tmp_path: Path) -> None:
    file = tmp_path / "level"
    file.write_text("1")

    def fetch() -> pl.DataFrame:
        return daily().with_columns(pl.col("y") * float(file.read_text()))

    pipeline = Pipeline([stage(fetch, cache=False), stage(total, outputs="total")], directory=tmp_path / "p")
    assert ran(pipeline.run()) == {"fetch", "total"}
    assert ran(pipeline.run()) == {"fetch"}
    file.write_text("2")
    assert ran(pipeline.run()) == {"fetch", "total"}
    assert ran(pipeline.run(stage="total", only=True)) == set()


def broken(table: pl.DataFrame) -> pl.DataFrame:
    raise RuntimeError("out of paper")


def failing(place: Path, **arguments: Any) -> Pipeline:
    return Pipeline(
        [
            stage(broken, **arguments),
            stage(double, name="after"),
            stage(rows, outputs="rows", inputs={"table": "data.table"}),
            stage(total, outputs="total", inputs={"table": "after.table"}),
        ],
        data=daily(),
        directory=place,
    )


def test_failed_stage_stops_the_pipeline_and_skips_what_depends_on_it(tmp_path: Path) -> None:
    with pytest.raises(
        StageFailedError, match=r"stage 'broken' failed: RuntimeError: out of paper. Skipped.*: after, total"
    ) as caught:
        failing(tmp_path / "p").run()
    assert caught.value.result.states == {"broken": "failed", "after": "skipped", "rows": "waiting", "total": "skipped"}
    assert caught.value.exit_code == 7
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_continue_runs_what_does_not_depend_on_it_and_fails_all_the_same(tmp_path: Path) -> None:
    with pytest.raises(StageFailedError) as caught:
        failing(tmp_path / "p", on_error="continue").run()
    assert caught.value.result.states == {"broken": "failed", "after": "skipped", "rows": "done", "total": "skipped"}


def test_retry_waits_longer_each_time_and_succeeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("neuro_divergent.lifecycle.pipeline.runner.time.sleep", waits.append)
    counter = tmp_path / "count"

    def flaky(table: pl.DataFrame) -> int:
        tries = len(counter.read_text()) if counter.exists() else 0
        counter.write_text("x" * (tries + 1))
        if tries < 3:
            raise OSError("network")
        return tries

    events: list[str] = []
    pipeline = Pipeline([stage(flaky, outputs="tries", on_error=retry(3, 0.5))], data=daily(), directory=tmp_path / "p")
    result = pipeline.run(observe=lambda event: events.append(event["event"]))
    assert result["flaky.tries"] == 3
    assert result.stages[0].attempts == 4
    assert waits == [0.5, 1.0, 2.0]
    assert events.count("stage_retry") == 3


def test_retries_that_do_not_help_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("neuro_divergent.lifecycle.pipeline.runner.time.sleep", lambda seconds: None)
    with pytest.raises(StageFailedError) as caught:
        failing(tmp_path / "p", on_error="retry(2, 1)").run()
    assert caught.value.result.stages[0].attempts == 3


def test_policies_are_read_from_text_and_tables() -> None:
    assert ErrorPolicy.of("stop") == ErrorPolicy()
    assert ErrorPolicy.of("retry(3, 10)") == retry(3, 10) == ErrorPolicy.of({"retry": 3, "backoff": 10})
    assert ErrorPolicy.of("retry(2)").backoff == 1.0
    assert retry(50, 60).wait(40, OSError()) == 3600
    assert retry(3).wait(1, ConfigError("wrong")) is None
    for wrong in ("retyr(3)", "never", "retry(-1)", ""):
        with pytest.raises(ConfigError, match="must be 'stop', 'continue', 'retry"):
            ErrorPolicy.of(wrong)
    with pytest.raises(ConfigError, match="unknown setting 'retires'"):
        ErrorPolicy.of({"retires": 1})


@pytest.mark.parametrize(
    ("returned", "outputs", "words"),
    [
        (None, "table", "returned nothing; its output is table"),
        (1, ["a", "b"], "returned a int; return a dict with the outputs a, b"),
        ({"a": 1}, ["a", "b"], "returned a; its outputs are a, b"),
        ((1, 2, 3), ["a", "b"], "returned a tuple"),
        (1, [], "returned a int, and has no outputs"),
        (object(), "x", "output 'x': a object cannot be kept"),
        ({"a": float("inf")}, "x", "output 'x': a dict cannot be kept"),
        (pl.DataFrame({"a": [object()]}), "x", "output 'x': a table cannot be written as Parquet"),
    ],
)
def test_wrong_outputs_of_a_function_are_said(returned: Any, outputs: Any, words: str, tmp_path: Path) -> None:
    made = stage(lambda: returned, name="made", outputs=outputs, cache=False)
    with pytest.raises(StageFailedError, match=words):
        Pipeline([made], directory=tmp_path / "p").run()


def test_several_outputs_come_as_tuple_or_dict(tmp_path: Path) -> None:
    one = stage(lambda: (1, "a"), name="one", outputs=["number", "text"])
    two = stage(lambda number, text: {"y": text * number, "x": number}, name="two", outputs=["x", "y"])
    result = Pipeline([one, two], directory=tmp_path / "p").run()
    assert (result["two.x"], result["two.y"]) == (1, "a")


def test_functions_get_models_paths_and_a_directory(tmp_path: Path) -> None:
    def draw(directory: Path, text: str = "<svg/>") -> Path:
        (directory / "plot.svg").write_text(text)
        return directory / "plot.svg"

    def look(plot: Path) -> int:
        return len(plot.read_text())

    result = Pipeline([stage(draw, outputs="plot"), stage(look, outputs="size")], directory=tmp_path / "p").run()
    assert result["look.size"] == 6


def test_settings_that_are_no_json_are_refused() -> None:
    with pytest.raises(ConfigError, match="stage 'double': a setting cannot be written as JSON"):
        stage(double, settings={"factor": object()})
    with pytest.raises(ConfigError, match=r"there is no parameter 'facto'. Did you mean 'factor'"):
        stage(double, settings={"facto": 2})
    with pytest.raises(ConfigError, match="'a b' cannot be the name of an output"):
        stage(double, outputs="a b")
    with pytest.raises(ConfigError, match="two outputs have the same name"):
        stage(double, outputs=["a", "A"])
    with pytest.raises(ConfigError, match="a stage is a function or a built-in stage, and this is a int"):
        stage(3)  # type: ignore[arg-type]


def test_further_sources_are_taken_by_their_name(tmp_path: Path) -> None:
    pl.DataFrame({"unique_id": ["s0", "s1"], "size": [1, 2]}).write_csv(tmp_path / "shops.csv")

    def merge(table: pl.DataFrame, shops: pl.DataFrame) -> pl.DataFrame:
        return table.join(shops, on="unique_id")

    pipeline = Pipeline(
        [stage(merge)], data=daily(), sources={"shops": str(tmp_path / "shops.csv")}, directory=tmp_path / "p"
    )
    assert "size" in pipeline.run()["merge"].columns
    assert ran(pipeline.run()) == set()
    pl.DataFrame({"unique_id": ["s0", "s1"], "size": [1, 3]}).write_csv(tmp_path / "shops.csv")
    assert ran(pipeline.run()) == {"merge"}


def test_missing_file_and_empty_tables_are_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="not found"):
        diamond(tmp_path / "p", str(tmp_path / "absent.csv")).run()
    (tmp_path / "empty.csv").write_text("unique_id,ds,y\n")
    with pytest.raises(StageFailedError, match=r"empty.csv: no data rows"):
        diamond(tmp_path / "p", str(tmp_path / "empty.csv")).run()
    with pytest.raises(StageFailedError, match=r"no row is left|no rows"):
        Pipeline([Preprocessing()], data=daily().clear(), directory=tmp_path / "q").run()


def test_paths_with_letters_of_all_kinds_and_backslashes_work(tmp_path: Path) -> None:
    place = tmp_path / "Größe 数据 C:\\Users\\me"
    place.mkdir()
    frame = daily().rename({"y": "Größe"})
    frame.write_csv(place / "Zahlen ß.csv")

    def name(table: pl.DataFrame) -> str:
        return "ü" if "Größe" in table.columns else ""

    pipeline = Pipeline(
        [stage(DataValidation(), name="prüfung"), stage(name, name="名前", outputs="text")],
        data=str(place / "Zahlen ß.csv"),
        directory=place / "pipeline",
        target="Größe",
    )
    assert pipeline.run()["名前"] == "ü"
    assert ran(pipeline.run()) == set()
    assert "prüfung" in (place / "pipeline" / "report.html").read_text("utf-8")


def test_directory_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("...")
    with pytest.raises(InputError, match="holds something else"):
        diamond(tmp_path, daily()).run()
    with pytest.raises(InputError, match="is a file"):
        diamond(tmp_path / "thesis.tex", daily()).run()


def test_second_process_is_refused_with_the_holder_or_waits(tmp_path: Path) -> None:
    pipeline = diamond(tmp_path / "p", daily())
    pipeline.run()
    with RunLock(tmp_path / "p" / "lock"), pytest.raises(InputError, match="in use by this process"):
        pipeline.run()
    assert pipeline.run(wait=1).is_complete


def test_interruption_leaves_a_state_from_which_the_next_run_goes_on(tmp_path: Path) -> None:
    def interrupt(event: dict[str, Any]) -> None:
        if event["event"] == "stage_start" and event["stage"] == "rows":
            raise KeyboardInterrupt

    pipeline = diamond(tmp_path / "p", daily())
    with pytest.raises(KeyboardInterrupt):
        pipeline.run(observe=interrupt)
    assert json.loads((tmp_path / "p" / "stages.json").read_text())["state"] == "interrupted"
    assert ran(pipeline.run()) == {"rows", "both"}


def test_clean_removes_what_the_last_run_did_not_use(tmp_path: Path) -> None:
    diamond(tmp_path / "p", daily()).run()
    pipeline = diamond(tmp_path / "p", daily(), factor=3.0)
    pipeline.run()
    assert len(pipeline.directory.clean()) == 3
    assert ran(pipeline.run()) == set()
    assert ran(diamond(tmp_path / "p", daily()).run()) == {"double", "total", "both"}


def test_result_is_valid_until_it_expires(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datetime

    today = datetime.datetime.now(datetime.UTC).date()
    data = daily(20, 1, first=today - datetime.timedelta(days=19))

    def pipeline() -> Pipeline:
        return Pipeline([DataValidation(freshness="2d")], data=data, directory=tmp_path / "p")

    assert pipeline().run().states == {"data_validation": "done"}
    assert pipeline().run().states == {"data_validation": "cached"}
    later = time.time() + 3 * 86400
    monkeypatch.setattr(time, "time", lambda: later)
    with pytest.raises(StageFailedError, match="last row is"):
        pipeline().run()


def test_unknown_output_of_a_result_names_the_closest(tmp_path: Path) -> None:
    result = diamond(tmp_path / "p", daily()).run()
    with pytest.raises(InputError, match=r"there is no output 'doubel.table'. Did you mean 'double.table'"):
        result["doubel.table"]
