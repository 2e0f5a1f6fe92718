"""The page of a federation and its report: live, for everybody, and safe from the names of clients."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from neuro_divergent.federated.report import write_federation_report
from neuro_divergent.interfaces.dashboard.index import id_of
from tests.browser import test_report
from tests.browser.accessibility import find_problems, walk_by_keyboard
from tests.browser.conftest import SCREENSHOTS, Watch, wait_until
from tests.browser.runs import dashboard_of
from tests.browser.test_appearance import SIZES, Size, overflow, settle
from tests.dashboard.federation_maker import CLIENTS, PRIVACY, FederationMaker

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=alert('federation')>"
TABS = {
    "overview": "#federation-facts dl, .plot .main-svg",
    "rounds": "#rounds tbody tr",
    "clients": "#clients tbody tr, #client-scores tbody tr",
    "settings": "#federation-config",
}


@pytest.fixture(scope="module")
def federations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("federations")
    reason = "an update with norm 12.3; at most 5.0 is accepted"
    FederationMaker(
        root / "shops",
        dropped={3: ["west"], 7: ["north", "west"], 9: CLIENTS},
        refused={4: {"east": reason}},
        max_norm=5.0,
    ).make().score()
    FederationMaker(root / "private", rounds=40, privacy=PRIVACY).make(30)
    hostile = FederationMaker(root / HOSTILE, clients=["plain", HOSTILE], refused={2: {HOSTILE: HOSTILE}})
    hostile.make(3, state="failed").score()
    FederationMaker(root / "begun").make(0)
    for path in root.iterdir():
        write_federation_report(path, path / "report.html")
    return root


@pytest.fixture
def watch(browser: Browser, federations: Path) -> Iterator[Watch]:
    with dashboard_of(federations) as dashboard:
        watch = Watch(browser, dashboard)
        yield watch
        assert watch.close() == []


@pytest.mark.parametrize("size", SIZES)
def test_pages_of_a_federation_fit_and_everybody_can_use_them(watch: Watch, federations: Path, size: Size) -> None:
    page = watch.open(**SIZES[size])
    problems = []
    pages = {"list": ("#/", "#runs tbody tr")}
    pages |= {tab: (f"#/federation/{id_of(federations / 'shops')}/{tab}", shown) for tab, shown in TABS.items()}
    pages |= {
        "private": (f"#/federation/{id_of(federations / 'private')}", "#federation-secret, .plot .main-svg"),
        "private-rounds": (f"#/federation/{id_of(federations / 'private')}/rounds", "#rounds tbody tr"),
        "hostile": (f"#/federation/{id_of(federations / HOSTILE)}/clients", "#clients tbody tr"),
        "hostile-rounds": (f"#/federation/{id_of(federations / HOSTILE)}/rounds", "#rounds tbody tr"),
        "begun": (f"#/federation/{id_of(federations / 'begun')}", "#federation-facts dl"),
    }
    for name, (fragment, shown) in pages.items():
        page.goto(watch.dashboard.address(fragment))
        settle(page, shown)
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOTS / f"{size}-federation-{name}.png", full_page=True)
        problems += [f"{name}: {problem}" for problem in [*overflow(page), *find_problems(page)]]
        if size in ("desktop", "phone"):
            problems += [f"{name}: {problem}" for problem in walk_by_keyboard(page)]
    assert problems == []


def test_federation_is_opened_from_the_list_and_shows_rounds_and_clients(watch: Watch, federations: Path) -> None:
    page = watch.open()
    row = page.locator("#runs tbody tr", has_text="shops")
    expect(row).to_contain_text("12 of 12 rounds")
    expect(row.get_by_role("checkbox")).to_have_count(0)
    expect(page.locator("#runs-summary")).to_contain_text("runs and federations")
    row.get_by_role("link").click()
    expect(page.locator("main h1")).to_have_text("shops")
    expect(page.locator("#federation-facts")).to_contain_text("40 counted, 1 refused, 7 did not come")
    page.get_by_role("tab", name="Rounds").click()
    rows = page.locator("#rounds tbody tr")
    expect(rows).to_have_count(12)
    expect(rows.first.locator("th")).to_have_text("12")
    expect(rows.nth(8)).to_contain_text("east refused: an update with norm 12.3; at most 5.0 is accepted")
    expect(rows.nth(5)).to_contain_text("no answer from north, west")
    expect(rows.nth(3)).to_contain_text("void: too few updates")
    page.get_by_role("tab", name="Clients").click()
    expect(page.locator("#clients tbody tr", has_text="west").locator("td").nth(1)).to_have_text("3")
    expect(page.locator("#client-scores tbody tr")).to_have_count(12)


def test_page_follows_a_federation_without_being_loaded_again(browser: Browser, tmp_path: Path) -> None:
    made = FederationMaker(tmp_path / "live", rounds=8)
    with dashboard_of(tmp_path) as dashboard:
        watch = Watch(browser, dashboard)
        with made.opened("finished"):
            page = watch.open(f"#/federation/{id_of(made.path)}/rounds")
            expect(page.locator("#federation-state")).to_have_text("running")
            expect(page.locator("#panel-rounds .nothing")).to_be_visible()
            page.evaluate("window.isSame = true")
            made.run(2)
            expect(page.locator("#rounds tbody tr")).to_have_count(2)
            expect(page.locator("#federation-step")).to_have_text("round 2 of 8")
            expect(page.locator("#federation-left")).to_have_text(re.compile("about 12 s left"))
            page.get_by_role("tab", name="Overview").click()
            wait_until(page, "document.querySelector('#panel-overview .plot')?.data?.[0].x.length === 2")
            made.run(5)
            wait_until(page, "document.querySelector('#panel-overview .plot')?.data?.[0].x.length === 5")
            page.get_by_role("tab", name="Clients").click()
            expect(page.locator("#clients tbody tr", has_text="east").locator("td").first).to_have_text("5")
            made.run(8)
            expect(page.locator("#clients tbody tr", has_text="east").locator("td").first).to_have_text("8")
        expect(page.locator("#federation-state")).to_have_text("finished")
        expect(page.locator("#federation-result")).to_contain_text("Training loss 0.3250")
        assert page.evaluate("window.isSame")
        assert watch.close() == []


def test_page_follows_a_federation_that_goes_on_after_it_was_interrupted(browser: Browser, tmp_path: Path) -> None:
    made = FederationMaker(tmp_path / "again", rounds=6).make(2)
    with dashboard_of(tmp_path) as dashboard:
        watch = Watch(browser, dashboard)
        page = watch.open(f"#/federation/{id_of(made.path)}/rounds")
        expect(page.locator("#federation-state")).to_have_text("interrupted")
        with made.opened("finished"):
            made.run(4)
            expect(page.locator("#federation-state")).to_have_text("running")
            expect(page.locator("#rounds tbody tr")).to_have_count(4)
            made.run(6)
        expect(page.locator("#federation-state")).to_have_text("finished")
        expect(page.locator("#rounds tbody tr")).to_have_count(6)
        assert watch.close() == []


@pytest.mark.parametrize("name", ["shops", "private", "begun", HOSTILE], ids=["shops", "private", "begun", "hostile"])
@pytest.mark.parametrize("size", test_report.SIZES)
def test_report_fits_and_everybody_can_read_it(browser: Browser, federations: Path, name: str, size: str) -> None:
    context = browser.new_context(**test_report.SIZES[size])
    complaints: list[str] = []
    page = context.new_page()
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("dialog", lambda dialog: complaints.append(dialog.message) or dialog.dismiss())
    page.on("request", lambda request: complaints.append(request.url) if request.url.startswith("http") else None)
    page.goto((federations / name / "report.html").as_uri())
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    shown = "hostile" if name == HOSTILE else name
    page.screenshot(path=SCREENSHOTS / f"{size}-federation-report-{shown}.png", full_page=True)
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    assert page.locator("script").count() == 0
    assert find_problems(page) == []
    assert walk_by_keyboard(page) == []
    assert complaints == []
    context.close()
