"""The list of series of a run that has very many of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.accessibility import find_problems, walk_by_keyboard
from tests.browser.conftest import SCREENSHOTS, Watch, open_run
from tests.browser.runs import Dashboard, dashboard_of
from tests.browser.test_appearance import SIZES, Size, overflow, settle
from tests.dashboard.large_run import HORIZON, make_large_run, name_of

pytestmark = pytest.mark.browser

SERIES = 20_000


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dashboard]:
    root = tmp_path_factory.mktemp("large") / "runs"
    make_large_run(root / "large", SERIES, "text")
    make_large_run(root / "numbered", SERIES, "numbers")
    with dashboard_of(root) as dashboard:
        yield dashboard


@pytest.fixture
def watch(browser: Browser, large: Dashboard) -> Iterator[Watch]:
    watch = Watch(browser, large)
    yield watch
    assert watch.close() == []


def names(page: Page) -> list[str]:
    return page.locator("#series li").all_inner_texts()


def expect_shown(page: Page, name: str) -> None:
    """The forecast of a series is shown, and the list says so if it has it."""
    expect(page.locator("#panel-forecasts .view h3").first).to_have_text(name)
    expect(page.locator("#forecast-rows tbody tr")).to_have_count(HORIZON)


def test_series_are_listed_by_pages_of_which_one_is_in_the_page(watch: Watch) -> None:
    page = open_run(watch, "large", "forecasts")
    expect(page.locator("#series-found")).to_have_text("20,000 series")
    expect(page.locator("#series-pages")).to_have_text("1 to 50 of 20,000")
    assert names(page) == [name_of(number, "text") for number in range(50)]
    expect_shown(page, name_of(0, "text"))
    expect(page.locator("#series [aria-current]")).to_have_text(name_of(0, "text"))
    expect(page.get_by_role("button", name="Earlier page")).to_be_disabled()
    page.get_by_role("button", name="Next page").click()
    expect(page.locator("#series-pages")).to_have_text("51 to 100 of 20,000")
    assert names(page) == [name_of(number, "text") for number in range(50, 100)]
    page.get_by_role("button", name="Earlier page").click()
    expect(page.locator("#series-pages")).to_have_text("1 to 50 of 20,000")
    assert page.locator("main *").count() < 1500


def test_series_are_searched_by_any_part_and_by_the_begin_of_their_names(watch: Watch) -> None:
    page = open_run(watch, "large", "forecasts")
    page.get_by_label("Search series").fill("e-00199")
    expect(page.locator("#series-found")).to_have_text("100 series found")
    page.get_by_role("button", name="Next page").click()
    expect(page.locator("#series-pages")).to_have_text("51 to 100 of 100")
    expect(page.get_by_role("button", name="Next page")).to_be_disabled()
    page.get_by_label("Search in").select_option("prefix")
    expect(page.locator("#series-found")).to_have_text("0 series found")
    page.get_by_label("Search series").fill("store-001999")
    expect(page.locator("#series-found")).to_have_text("10 series found")
    expect(page.get_by_role("navigation", name="Pages of series")).to_be_hidden()
    page.get_by_role("button", name=name_of(19_993, "text"), exact=True).click()
    expect_shown(page, name_of(19_993, "text"))


@pytest.mark.parametrize(("run", "kind"), [("large", "text"), ("numbered", "numbers")])
def test_enter_goes_to_the_series_of_exactly_the_name(watch: Watch, run: str, kind: str) -> None:
    page = open_run(watch, run, "forecasts")
    name = name_of(1234, kind)  # type: ignore[arg-type]
    page.get_by_label("Search series").fill(name)
    page.keyboard.press("Enter")
    expect_shown(page, name)
    expect(page.locator("#series-pages")).to_have_text("1,201 to 1,250 of 20,000")
    expect(page.locator("#series [aria-current]")).to_have_text(name)
    expect(page.get_by_label("Search series")).to_have_value("")
    expect(page.locator("#series [aria-current]")).to_be_in_viewport()
    assert page.evaluate("scrollY") == 0
    page.get_by_label("Search series").fill(name[:-1] + "x")
    page.keyboard.press("Enter")  # no series has this name
    expect(page.locator("#series-found")).to_have_text("0 series found")
    expect_shown(page, name)


def test_list_is_worked_by_keyboard(watch: Watch) -> None:
    page = open_run(watch, "large", "forecasts")
    expect(page.locator("#series-pages")).to_have_text("1 to 50 of 20,000")
    page.get_by_label("Search series").focus()
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp"):
        page.keyboard.press(key)
    expect(page.get_by_role("button", name=name_of(1, "text"), exact=True)).to_be_focused()
    page.keyboard.press("PageDown")
    expect(page.get_by_role("button", name=name_of(50, "text"), exact=True)).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    expect_shown(page, name_of(99, "text"))
    page.keyboard.press("PageUp")
    expect(page.get_by_role("button", name=name_of(0, "text"), exact=True)).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_label("Search series")).to_be_focused()


@pytest.mark.parametrize("size", SIZES)
def test_list_fits_and_everybody_can_use_it(watch: Watch, size: Size) -> None:
    page = open_run(watch, "large", "forecasts", **SIZES[size])
    settle(page, "#forecast-rows")
    page.get_by_label("Search series").fill("00199")
    expect(page.locator("#series-found")).to_contain_text("found")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=SCREENSHOTS / f"{size}-series.png", full_page=True)
    problems = [*overflow(page), *find_problems(page)]
    if size in ("desktop", "phone"):
        problems += walk_by_keyboard(page)
    assert problems == []


def test_path_of_the_data_is_shown_in_the_list_and_on_the_page(browser: Browser, tmp_path: Path) -> None:
    run = make_large_run(tmp_path / "runs" / "run", 10, "text")
    config = (run / "config.toml").read_text()
    (run / "config.toml").write_text(config.replace('"sales.csv"', '"/data/panels/sales"'))
    with dashboard_of(run.parent) as dashboard:
        watch = Watch(browser, dashboard)
        page = watch.open()
        expect(page.locator("#runs td.data")).to_have_text("/data/panels/sales")
        page.get_by_role("link", name="run", exact=True).click()
        expect(page.locator("#run-line")).to_contain_text("/data/panels/sales")
        assert watch.close() == []
