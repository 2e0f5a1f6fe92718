"""The page of a study, and the section about the search in reports of its runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from neuro_divergent.interfaces.cli.report import report
from neuro_divergent.reporting.report.run import render_run
from neuro_divergent.search.report import search_section
from tests.dashboard.study_maker import RATE, StudyMaker, error_of
from tests.unit.reporting.report.runs import Page


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> StudyMaker:
    def sometimes(point: dict[str, float]) -> dict[str, float]:
        if point[RATE] > 0.03:
            raise ArithmeticError("<b>not finite</b>")
        return error_of(point)

    return StudyMaker(tmp_path_factory.mktemp("report") / "study", limit=16, evaluate=sometimes, with_runs=True).run(16)


def test_page_of_a_study_has_trials_figures_space_failures_and_best_settings(
    made: StudyMaker, capsys: pytest.CaptureFixture[str]
) -> None:
    report(made.directory)
    text = (made.directory / "report.html").read_text("utf-8")
    Page(text)  # which refuses markup that does not fit together, scripts and requests
    best = made.study.best
    assert best is not None
    assert f"Best: trial {best.number} with mae" in text
    assert f'<a href="trials/{best.name}/">{best.number}</a>' in text
    assert "16 trials by random with the median pruner, to minimize mae" in text
    for title in ("mae over the trials", "Importance of the settings", f"Partial dependence of mae on {RATE}"):
        assert title in text
    assert "diverged: &lt;b&gt;not finite" in text
    assert f"lr = {best.settings[RATE]}" in text
    assert "1e-05 to 0.1 (logarithmic)" in text
    assert "report.html" in capsys.readouterr().out


def test_page_of_the_same_study_is_the_same(made: StudyMaker, tmp_path: Path) -> None:
    pages = [tmp_path / "one.html", tmp_path / "two.html"]
    for page in pages:
        report(made.directory, output=page)
    assert pages[0].read_bytes() == pages[1].read_bytes()


def test_report_of_a_trial_says_how_it_was_searched(made: StudyMaker) -> None:
    best = made.study.best
    assert best is not None
    run = made.directory / "trials" / best.name
    section = search_section(run, run / "report.html")
    assert section is not None
    complete = sum(trial.state == "complete" for trial in made.study.trials)
    assert (
        section.role == f"This run is trial {best.number} of a search: number 1 of {complete} in the order of results."
    )
    assert section.rows[0][0] == str(best.number)
    assert len(section.rows) == 10
    assert (section.trials, section.links[0]) == ("../", "./")
    text = render_run(run, search=section)
    Page(text)
    assert 'id="search"' in text
    assert 'id="search"' not in render_run(run)


def test_report_of_a_run_without_a_study_has_no_search(tmp_path: Path) -> None:
    assert search_section(tmp_path / "run", tmp_path / "page.html") is None


def test_report_of_a_study_with_several_objectives_shows_the_front(tmp_path: Path) -> None:
    made = StudyMaker(tmp_path / "study", limit=6, objectives=["mae", "parameters"]).run(4)
    report(made.directory)
    text = (made.directory / "report.html").read_text("utf-8")
    assert "Pareto front" in text
    assert "Recommended: trial" in text
    assert "<strong>" in text  # that it is not finished
