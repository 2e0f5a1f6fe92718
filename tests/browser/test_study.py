"""The page of a study: live, sortable, for everybody."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.interfaces.dashboard.index import id_of
from tests.browser.accessibility import find_problems, walk_by_keyboard
from tests.browser.conftest import SCREENSHOTS, Watch, wait_until
from tests.browser.runs import dashboard_of
from tests.browser.test_appearance import SIZES, Size, overflow, settle
from tests.dashboard.study_maker import StudyMaker, error_of

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=alert('study')>"
TABS = {
    "overview": ".plot .main-svg",
    "trials": "#trials tbody tr",
    "figures": ".plot .main-svg",
    "space": "#space dl",
    "best": "#best-toml",
}


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("studies")
    StudyMaker(root / "shop", with_runs=True).run(12)
    StudyMaker(root / HOSTILE, limit=3, objectives=["mae", "parameters"]).run(3)
    return root


@pytest.fixture
def watch(browser: Browser, studies: Path) -> Iterator[Watch]:
    with dashboard_of(studies) as dashboard:
        watch = Watch(browser, dashboard)
        yield watch
        assert watch.close() == []


@pytest.mark.parametrize("size", SIZES)
def test_pages_of_a_study_fit_and_everybody_can_use_them(watch: Watch, studies: Path, size: Size) -> None:
    page = watch.open(**SIZES[size])
    problems = []
    pages = {tab: (f"#/study/{id_of(studies / 'shop')}/{tab}", shown) for tab, shown in TABS.items()}
    pages["front"] = (f"#/study/{id_of(studies / HOSTILE)}", ".plot .main-svg")
    for name, (fragment, shown) in pages.items():
        page.goto(watch.dashboard.address(fragment))
        settle(page, shown)
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOTS / f"{size}-study-{name}.png", full_page=True)
        problems += [f"{name}: {problem}" for problem in [*overflow(page), *find_problems(page)]]
        if size in ("desktop", "phone"):
            problems += [f"{name}: {problem}" for problem in walk_by_keyboard(page)]
    assert problems == []


def test_study_is_opened_from_the_list_and_its_trials_lead_to_their_runs(watch: Watch, studies: Path) -> None:
    page = watch.open()
    row = page.locator("#runs tbody tr", has_text="shop")
    expect(row).to_contain_text("12 of 12 trials")
    row.get_by_role("link").click()
    page.get_by_role("tab", name="Trials").click()
    rows = page.locator("#trials tbody tr")
    expect(rows).to_have_count(12)
    values = [float(text) for text in rows.locator("td:nth-child(3)").all_inner_texts()]
    assert values == sorted(values)
    page.get_by_role("button", name="mae", exact=True).click()
    expect(page.locator("#trials th[aria-sort=descending]")).to_have_text(re.compile("mae"))
    assert [float(text) for text in rows.locator("td:nth-child(3)").all_inner_texts()] == sorted(values, reverse=True)
    rows.last.get_by_role("link").click()
    expect(page.locator("#run-study a")).to_have_text("shop")
    page.locator("#run-study a").click()
    expect(page.locator("main h1")).to_have_text("shop")


def test_figures_of_settings_are_drawn_when_they_are_chosen(watch: Watch, studies: Path) -> None:
    page = watch.open(f"#/study/{id_of(studies / 'shop')}/figures")
    for kind, words in {
        "partial-dependence": "leave-one-out R²",
        "contour": "Other settings count as noise",
        "parallel-coordinates": "12 trials",
    }.items():
        page.get_by_label("Figure", exact=True).select_option(kind)
        expect(page.locator("#panel-figures .note")).to_contain_text(words)
        wait_until(page, "document.querySelector('#panel-figures .plot')?.data?.length > 0")


def test_best_settings_are_copied_as_toml(watch: Watch, studies: Path) -> None:
    page = watch.open(f"#/study/{id_of(studies / 'shop')}/best")
    page.get_by_role("button", name="Copy").click()
    expect(page.locator("#announcer")).to_have_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("#best-toml").inner_text()


def test_page_follows_a_search_without_being_loaded_again(browser: Browser, tmp_path: Path) -> None:
    made = StudyMaker(tmp_path / "live", limit=8)
    number = made.begin()
    lock = RunLock(made.directory / "locks" / f"{number:05d}")
    lock.path.parent.mkdir(exist_ok=True)
    with dashboard_of(tmp_path) as dashboard:
        watch = Watch(browser, dashboard)
        with lock:
            page = watch.open(f"#/study/{id_of(made.directory)}/trials")
            expect(page.locator("#study-state")).to_have_text("running")
            expect(page.locator("#trials tbody tr")).to_have_count(1)
            page.evaluate("window.isSame = true")
            made.study.store.complete(number, error_of(made.study.trials[0].settings))
            expect(page.locator("#trials tbody tr .state")).to_have_text("complete")
            made.run(4)
            expect(page.locator("#trials tbody tr")).to_have_count(4)
            expect(page.locator("#study-step")).to_contain_text("4 of 8 trials")
        made.run(8)
        expect(page.locator("#study-state")).to_have_text("finished")
        best = min(trial.values["mae"] for trial in made.study.trials)
        expect(page.locator("#study-best")).to_contain_text(re.compile(rf"mae {math.floor(best * 100) / 100}"))
        page.get_by_role("tab", name="Overview").click()
        wait_until(page, "document.querySelector('#panel-overview .plot')?.data?.[0].x.length === 8")
        assert page.evaluate("window.isSame")
        assert watch.close() == []
