"""The state of a pipeline as its directory says it, and the report."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.lifecycle.pipeline.drawing import arrange, draw_graph
from neuro_divergent.lifecycle.pipeline.function_stage import stage
from neuro_divergent.lifecycle.pipeline.pipeline import Pipeline
from neuro_divergent.lifecycle.pipeline.reading import find_pipelines, is_pipeline, read_pipeline_state
from neuro_divergent.lifecycle.pipeline.report import render_pipeline
from neuro_divergent.lifecycle.pipeline.stage_error import StageFailedError
from neuro_divergent.lifecycle.pipeline.stages.data_validation import DataValidation
from neuro_divergent.runs.events import read_events
from neuro_divergent.runs.status import is_run
from tests.unit.lifecycle.pipeline.tables import daily


def rows(table: pl.DataFrame) -> int:
    return table.height


def broken(rows: int) -> int:
    raise RuntimeError("<script>alert(1)</script> & more")


def after(broken: int) -> int:
    return broken


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("pipelines") / "sales"
    pipeline = Pipeline(
        [
            stage(DataValidation(min_rows=10), name="check"),
            stage(rows, outputs="rows"),
            stage(broken, outputs="broken"),
            stage(after, outputs="x"),
        ],
        data=daily(),
        directory=place,
    )
    with pytest.raises(StageFailedError):
        pipeline.run()
    return place


def test_summary_has_stages_states_times_connections_and_outputs(failed: Path) -> None:
    found = read_pipeline_state(failed)
    assert (found.name, found.state) == ("sales", "failed")
    assert {item.name: item.state for item in found.stages} == {
        "check": "done",
        "rows": "done",
        "broken": "failed",
        "after": "skipped",
    }
    check, _, bad, skipped = found.stages
    assert check.inputs == {"table": "data.table", "schema": "data.schema"}
    assert {item["name"]: item["kind"] for item in check.outputs} == {
        "table": "table",
        "quarantine": "table",
        "findings": "table",
    }
    assert all(Path(item["path"]).is_file() for item in check.outputs)
    assert check.seconds is not None
    assert check.seconds > 0
    assert check.settings["min_rows"] == 10
    assert bad.message.startswith("RuntimeError: <script>")
    assert skipped.message == "it needs 'broken', which failed"
    assert {"producer": "rows", "output": "rows", "stage": "broken", "input": "rows"} in found.edges
    assert found.sources == {"data": "table in memory"}
    assert found.counts == {"done": 2, "failed": 1, "skipped": 1}
    json.dumps(found.to_dict())


def test_events_have_every_step_of_every_stage(failed: Path) -> None:
    events = read_events(failed)
    kinds = [(event["event"], event.get("stage")) for event in events]
    assert kinds == [
        ("start", None),
        ("stage_start", "check"),
        ("stage_computed", "check"),
        ("stage_end", "check"),
        ("stage_start", "rows"),
        ("stage_computed", "rows"),
        ("stage_end", "rows"),
        ("stage_start", "broken"),
        ("stage_failed", "broken"),
        ("stage_skipped", "after"),
        ("end", None),
    ]
    assert "out of" not in events[8]["traceback"]
    assert "RuntimeError" in events[8]["traceback"]


def test_pipelines_of_a_directory_are_found_and_are_no_runs(failed: Path) -> None:
    assert find_pipelines(failed.parent) == [failed]
    assert is_pipeline(failed)
    assert not is_run(failed)
    assert find_pipelines(failed / "absent") == []


def test_held_pipeline_runs_and_a_stage_whose_process_died_was_interrupted(failed: Path, tmp_path: Path) -> None:
    with RunLock(failed / "lock"):
        assert read_pipeline_state(failed).state == "running"
    import shutil

    shutil.copytree(failed, tmp_path / "copy")
    document = json.loads((tmp_path / "copy" / "stages.json").read_text())
    document["state"] = "running"
    document["stages"][1]["state"] = "running"
    (tmp_path / "copy" / "stages.json").write_text(json.dumps(document))
    found = read_pipeline_state(tmp_path / "copy")
    assert (found.state, found.stages[1].state) == ("killed", "interrupted")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "name",
                    "stages",
                    "state",
                    "outputs",
                    "edges",
                    "settings",
                    "sources",
                    "tables",
                    "rows",
                    "columns",
                    "notes",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(one=JSON | st.binary(max_size=20), two=JSON | st.binary(max_size=20))
def test_whatever_is_in_the_files_reading_and_reporting_raise_nothing(
    one: Any, two: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("bad")
    for name, content in (("pipeline.json", one), ("stages.json", two)):
        (place / name).write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    found = read_pipeline_state(place)
    render_pipeline(found)
    json.dumps(found.to_dict())


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in ("meta", "br", "hr", "img", "link", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_report_is_well_formed_and_escapes_messages(failed: Path) -> None:
    page = (failed / "report.html").read_text("utf-8")
    parser = _Tags()
    parser.feed(page)
    assert not parser.open
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "2 done, 1 failed, 1 skipped" in page
    assert 'class="verdict bad"' in page


def test_graph_is_xml_with_a_box_for_each_stage_and_source(failed: Path) -> None:
    drawing = str(draw_graph(read_pipeline_state(failed)))
    root = ElementTree.fromstring(drawing)
    boxes = [item.get("class") for item in root.iter("g")]
    assert sorted(boxes) == sorted(["source", "done", "done", "failed", "skipped"])
    assert len(re.findall(r"<rect", drawing)) == 5
    assert len(re.findall('class="tip"', drawing)) == 4


@given(
    st.integers(1, 8).flatmap(
        lambda n: st.tuples(
            st.just(n),
            st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda pair: pair[0] < pair[1])),
        )
    )
)
def test_columns_of_the_graph_put_needs_to_the_left(case: tuple[int, set[tuple[int, int]]]) -> None:
    count, links = case
    names = [f"s{place}" for place in range(count)]
    layers = arrange(names, [(f"s{a}", f"s{b}") for a, b in sorted(links)])
    column = {name: place for place, layer in enumerate(layers) for name in layer}
    assert sorted(column) == sorted(names)
    assert all(column[f"s{a}"] < column[f"s{b}"] for a, b in links)
    assert all(layers)


def test_page_shows_findings_of_a_validation_that_failed(tmp_path: Path) -> None:
    pipeline = Pipeline([DataValidation(min_rows=500)], data=daily(), directory=tmp_path / "p")
    with pytest.raises(StageFailedError):
        pipeline.run()
    page = (tmp_path / "p" / "report.html").read_text("utf-8")
    assert "Findings" in page
    assert "60 rows, at least 500 expected" in page
