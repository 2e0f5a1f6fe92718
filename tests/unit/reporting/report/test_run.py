"""The page of a run: escaped, self-contained, true to its files, and there whatever state the run is in."""

from __future__ import annotations

import json
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.data.datasets.synthetic import Synthetic
from neuro_divergent.reporting.report.run import render_run
from neuro_divergent.runs.status import write_status
from tests.unit.reporting.report.runs import EVIL, Page, evil_frame, train_run

SECTIONS = (
    "forecast", "verdict", "scores", "intervals", "series", "residuals", "findings", "training", "data", "layers",
    "architecture", "reproduce",
)  # fmt: skip
JSON_FILES = (
    "scores.json", "calibration.json", "network.json", "diagnosis.json", "data.json", "environment.json", "run.json",
    "status.json", "heartbeat.json",
)  # fmt: skip


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "a run & <b>"
    train_run(path, evil_frame(), model={"name": "mlp", "hidden_size": 8})
    return path


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "run"))


@pytest.fixture(scope="module")
def page(trained: Path) -> Page:
    return Page((trained / "report.html").read_text("utf-8"))


def change(run: Path, name: str, **content: Any) -> None:
    values = json.loads((run / name).read_bytes())
    (run / name).write_text(json.dumps({**values, **content}), "utf-8")


def test_the_page_at_the_end_of_training_is_the_one_made_later(trained: Path) -> None:
    assert (trained / "report.html").read_text("utf-8") == render_run(trained) == render_run(trained)


def test_report_has_every_section_and_a_link_to_it(page: Page) -> None:
    places = page.values("id")
    assert len(set(places)) == len(places)
    assert set(SECTIONS) <= set(places)
    links = [value for value in page.values("href") if value]
    assert [link for link in links if link.removeprefix("#") in SECTIONS][-len(SECTIONS) :] == [
        f"#{name}" for name in SECTIONS
    ]
    assert {link.removeprefix("#") for link in links} <= set(places)
    assert {label for labels in page.values("aria-labelledby") for label in labels.split()} <= set(places)


def test_forecast_comes_first_then_the_verdict_then_how_it_came_about(page: Page) -> None:
    assert [name for name in page.values("id") if name in SECTIONS] == list(SECTIONS)
    opened = [attributes.get("id") or tag for tag, attributes in page.tags if tag in ("section", "figure", "nav")]
    assert opened[:5] == ["forecast", "figure", "figure", "verdict", "nav"]


def test_headings_are_in_order(page: Page) -> None:
    levels = [int(tag[1]) for tag, _ in page.tags if len(tag) == 2 and tag[0] == "h" and tag[1].isdigit()]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_report_is_self_contained_without_scripts_or_requests(page: Page, trained: Path) -> None:
    content = (trained / "report.html").read_text("utf-8")
    assert not {tag for tag, _ in page.tags} & {"script", "iframe", "img", "link", "object", "embed", "form", "base"}
    for attribute in ("src", "href", "xlink:href", "action", "srcset", "poster"):
        assert all(value.startswith("#") for value in page.values(attribute))
    assert not [name for _, attributes in page.tags for name in attributes if name.startswith("on")]
    style = content[content.index("<style>") : content.index("</style>")]
    assert not any(word in style for word in ("url(", "@import", "http:", "https:"))
    assert "default-src 'none'" in page.values("content")[-1]
    assert page.values("lang") == ["en"]
    assert len(content) < 500_000


def test_names_are_escaped(page: Page, trained: Path) -> None:
    content = (trained / "report.html").read_text("utf-8")
    assert "<script" not in content
    assert "<b>" not in content
    assert EVIL in page.text
    assert "a run & <b>" in page.text


def test_tables_can_be_scrolled_with_keys_and_have_a_label(page: Page) -> None:
    boxes = [attributes for _, attributes in page.tags if attributes.get("class") == "wide"]
    assert len(boxes) == page.count("table") + 1 >= 4  # and the diagram of the network
    assert all(box["tabindex"] == "0" and box["role"] == "region" and box["aria-label"] for box in boxes)
    assert all(attributes.get("scope") in ("col", "row") for tag, attributes in page.tags if tag == "th")
    assert page.count("svg") >= 12
    assert page.count("figure") == page.count("figcaption") + 1  # the diagram has its heading


def test_report_shows_the_content_of_the_files(page: Page, trained: Path) -> None:
    scores = json.loads((trained / "scores.json").read_bytes())
    own = scores["scores"][0]
    for words in (
        f"{own['mae']:.4g}", "seasonal naive", "none of these values were used in training", "480 rows", "8 series",
        "4 steps ahead from 12 steps of history", "adamw", "all steps are done", f"{scores['parameters']:,} parameters",
        "hidden_size = 8", "SHA-256", "nd train", "The 80 % interval holds", "lowest validation loss",
    ):  # fmt: skip
        assert words in page.text, words
    assert ("beats every baseline" in page.text) == (own["mae"] < min(row["mae"] for row in scores["scores"][1:]))


def test_the_best_and_the_worst_series_are_shown_with_their_own_errors(page: Page, trained: Path) -> None:
    backtest = pl.read_parquet(trained / "backtest.parquet")
    errors: dict[str, tuple[float, float]] = {}
    for name in backtest["unique_id"].unique().to_list():
        rows = backtest.filter(pl.col("unique_id") == name).to_dicts()
        own = sum(abs(row["forecast"] - row["actual"]) for row in rows) / len(rows)
        errors[name] = (own / (sum(abs(row["seasonal naive"] - row["actual"]) for row in rows) / len(rows)), own)
    order = sorted(errors, key=lambda name: errors[name][0])
    shown = [text for text in page.texts if text.endswith((" (best)", " (worst)"))]
    wanted = [f"{name[:119]}… (best)" if len(name) > 120 else f"{name} (best)" for name in order[:3]]
    wanted += [f"{name[:119]}… (worst)" if len(name) > 120 else f"{name} (worst)" for name in order[-3:]]
    assert shown == wanted
    assert f"MAE {errors[order[0]][1]:.4g}"[:7] in page.text


def test_a_model_that_is_worse_is_called_worse(run: Path) -> None:
    scores = json.loads((run / "scores.json").read_bytes())
    scores["scores"][0]["mae"] = 1e6
    (run / "scores.json").write_text(json.dumps(scores))
    page = Page(render_run(run))
    assert "is worse than a forecast that needs no training" in page.text
    assert "verdict bad" in page.values("class")
    assert "verdict good" not in page.values("class")


def test_findings_are_shown_with_the_setting_to_change(run: Path) -> None:
    finding = {
        "rule": "r", "title": "The rate is <i>too</i> high", "severity": "problem", "evidence": "The loss jumps.",
        "numbers": {"jumps": 7.0},
        "changes": [{"setting": "training.optimizer.lr", "value": 0.0001, "why": "A tenth of it."}],
    }  # fmt: skip
    diagnosis = {"findings": [finding], "checked": ["r"], "not_checked": {"leakage": "there are no covariates"}}
    (run / "diagnosis.json").write_text(json.dumps(diagnosis))
    page = Page(render_run(run))
    for words in ("The rate is <i>too</i> high", "The loss jumps.", "--set training.optimizer.lr=0.0001", "A tenth of"):
        assert words in page.text
    assert "1 problem found by 1 check." in page.text
    assert "leakage: there are no covariates" in page.text
    assert not page.count("i")


def test_one_series_without_a_name(tmp_path: Path) -> None:
    frame = Synthetic(num_series=1, length=60).frame().drop("unique_id")
    train_run(tmp_path / "a", frame)
    page = Page((tmp_path / "a/report.html").read_text("utf-8"))
    assert {"observed", "held out, forecast", "forecast"} <= set(page.texts)  # all three lines of the one figure
    assert "None" not in page.text
    assert "60 rows in 1 series" in page.text


def test_report_says_that_nothing_was_held_out(tmp_path: Path) -> None:
    train_run(tmp_path / "a", evil_frame(3), task={"validation": 0, "test": 0})
    page = Page((tmp_path / "a/report.html").read_text("utf-8"))
    assert "Nothing was held out" in page.text
    assert "There are no scores" in page.text
    assert "Forecasts by series" in page.text


def test_report_of_a_run_in_training_shows_its_progress(run: Path) -> None:
    for name in ("scores.json", "backtest.parquet", "forecasts.csv", "calibration.json", "network.json"):
        (run / name).unlink()
    shutil.rmtree(run / "model")
    write_status(run, "running")
    change(run, "heartbeat.json", step=12, total_steps=20, phase="training")
    with RunLock(run / "lock"):
        page = Page(render_run(run))
        again = Page(render_run(run))
    assert "Still training. This run is still training, at step 12 of 20." in page.text
    assert "There are no scores: training is not done." in page.text
    assert "lowest validation loss" in page.text
    assert page.text == again.text


@pytest.mark.parametrize("state", ["diverged", "failed", "interrupted"])
def test_report_of_a_failed_run_shows_state_and_message(run: Path, state: Any) -> None:
    shutil.rmtree(run / "model")
    write_status(run, state, step=7, total_steps=20, message=f"the loss is {EVIL}")
    page = Page(render_run(run))
    assert "Not finished." in page.text
    assert "at step 7 of 20" in page.text
    assert f"Message: the loss is {EVIL}" in page.text
    assert "<script" not in render_run(run)


def test_every_file_may_be_missing_alone(run: Path) -> None:
    for file in sorted(run.iterdir()):
        hidden = run.with_name("hidden")
        file.rename(hidden)
        Page(render_run(run))
        hidden.rename(file)


def test_every_file_may_be_damaged_alone(run: Path) -> None:
    for file in sorted(run.iterdir()):
        if not file.is_file():
            continue
        content = file.read_bytes()
        for damaged in (content[: len(content) // 2], b"\xff\xfe<script>"):
            file.write_bytes(damaged)
            assert "<script" not in render_run(run)
        file.write_bytes(content)


def test_a_link_or_a_directory_in_place_of_a_file_is_not_followed(run: Path, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text('{"model": "secret words"}')
    for name in ("scores.json", "data.json", "config.toml"):
        (run / name).unlink()
        (run / name).symlink_to(tmp_path / "secret")
    (run / "events.jsonl").unlink()
    (run / "events.jsonl").mkdir()
    assert "secret words" not in Page(render_run(run)).text


def test_an_empty_directory_is_a_page_too(tmp_path: Path) -> None:
    page = Page(render_run(tmp_path))
    assert set(SECTIONS) <= set(page.values("id"))
    assert "Its settings cannot be read" in page.text


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_json_in_any_place_makes_a_page(run: Path, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(JSON_FILES))
    kept = (run / name).read_bytes()
    content = json.loads(kept)
    place: Any = content
    for _ in range(data.draw(st.integers(0, 4))):  # somewhere in the file, one value becomes another
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        inner = [key for key in keys if isinstance(place[key], (dict, list)) and place[key]]
        if not inner:
            break
        place = place[data.draw(st.sampled_from(inner))]
    key = data.draw(st.sampled_from(list(place) if isinstance(place, dict) else range(len(place))))
    place[key] = data.draw(plain)
    try:
        (run / name).write_text(json.dumps(content), "utf-8")
        Page(render_run(run))
    finally:
        (run / name).write_bytes(kept)


@pytest.mark.long
def test_ten_thousand_series_make_no_large_page(tmp_path: Path) -> None:
    train_run(tmp_path / "a", Synthetic(num_series=10_000, length=60).frame(), training={"max_steps": 2, "threads": 1})
    content = (tmp_path / "a/report.html").read_text("utf-8")
    assert "of 10,000" in Page(content).text
    assert len(content) < 500_000
