"""The pages of registries, pipelines and continuous training: live, for everybody, and safe from names."""

from __future__ import annotations

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
from tests.dashboard.continuous_maker import ContinuousMaker
from tests.dashboard.pipeline_maker import PipelineMaker, broken, waiting
from tests.dashboard.registry_maker import RegistryMaker
from tests.dashboard.run_maker import make_run

pytestmark = pytest.mark.browser

HOSTILE = "<img src=x onerror=alert('lifecycle')>"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("lifecycle")
    models = RegistryMaker(root / "models").make()
    models.register("load", tags={"note": HOSTILE, "long": "word " * 60})
    models.promote("load==v1", reason=HOSTILE, evidence={HOSTILE: HOSTILE, "deep": {"deeper": [{"a": 1}]}})
    RegistryMaker(root / "single").register()
    load = ContinuousMaker(root / "load", registry=str(models.path)).make()
    make_run(load.path / "attempts" / "0002" / "run")
    hostile = ContinuousMaker(root / HOSTILE).make(8)
    hostile.decide(HOSTILE, HOSTILE, **{HOSTILE: [HOSTILE, {"sentence": HOSTILE}]})
    hostile.incident(3, series=(HOSTILE,))
    ContinuousMaker(root / "begun")
    PipelineMaker(root / "good").run()
    PipelineMaker(root / "bad", broken).run()
    (root / "damaged").mkdir()
    (root / "damaged" / "registry.db").write_bytes(b"not a database")
    return root


@pytest.fixture
def watch(browser: Browser, root: Path) -> Iterator[Watch]:
    with dashboard_of(root) as dashboard:
        watch = Watch(browser, dashboard)
        yield watch
        assert watch.close() == []


def pages_of(root: Path) -> dict[str, tuple[str, str]]:
    """Return the address of each page, and what is there once it shows what it is for."""
    models, load, hostile = (id_of(root / name) for name in ("models", "load", HOSTILE))
    return {
        "list": ("#/", "#runs tbody tr"),
        "registry": (f"#/registry/{models}/sales", "#versions tbody tr"),
        "registry-single": (f"#/registry/{id_of(root / 'single')}", "#versions tbody tr"),
        "registry-version": (f"#/registry/{models}/sales/version/2", "#version-scores, #version dl"),
        "registry-history": (f"#/registry/{models}/sales/history", "#alias-history tbody tr"),
        "registry-diff": (f"#/registry/{models}/sales/diff/1,2", "#diff-scores, #diff-values"),
        "registry-hostile": (f"#/registry/{models}/load/history", "#alias-history tbody tr"),
        "registry-tags": (f"#/registry/{models}/load", "#versions tbody tr"),
        "continuous": (f"#/continuous/{load}", "#evidence, .plot .main-svg"),
        "continuous-decisions": (f"#/continuous/{load}/decisions", "#decisions li"),
        "continuous-trainings": (f"#/continuous/{load}/trainings", "#trainings tbody tr"),
        "continuous-incidents": (f"#/continuous/{load}/incidents", "#incidents .finding"),
        "continuous-settings": (f"#/continuous/{load}/settings", "#continuous-settings dl"),
        "continuous-hostile": (f"#/continuous/{hostile}/decisions", "#decisions li"),
        "continuous-begun": (f"#/continuous/{id_of(root / 'begun')}", "#continuous-facts dl"),
        "pipeline": (f"#/pipeline/{id_of(root / 'good')}", "#stages tbody tr, .graph a"),
        "pipeline-failed": (f"#/pipeline/{id_of(root / 'bad')}", "#stages tbody tr, .graph a"),
    }


@pytest.mark.parametrize("size", SIZES)
def test_pages_fit_and_everybody_can_use_them(watch: Watch, root: Path, size: Size) -> None:
    page = watch.open(**SIZES[size])
    problems = []
    for name, (fragment, shown) in pages_of(root).items():
        page.goto(watch.dashboard.address(fragment))
        settle(page, shown)
        for closed in page.locator("main details:not([open]) > summary").all()[:4]:
            if closed.is_visible():
                closed.click()
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=SCREENSHOTS / f"{size}-lifecycle-{name}.png", full_page=True)
        problems += [f"{name}: {problem}" for problem in [*overflow(page), *find_problems(page)]]
        if size in ("desktop", "phone"):
            problems += [f"{name}: {problem}" for problem in walk_by_keyboard(page)]
    assert problems == []


def test_registry_is_opened_from_the_list_and_shows_versions(watch: Watch, root: Path) -> None:
    page = watch.open()
    row = page.locator("#runs tbody tr", has=page.get_by_role("link", name="models", exact=True))
    expect(row).to_contain_text("2 models")
    expect(row.get_by_role("checkbox")).to_have_count(0)
    row.get_by_role("link").click()
    expect(page.locator("main h1")).to_have_text("models")
    page.get_by_role("navigation", name="Models").get_by_role("button", name="sales").click()
    expect(page.locator("#model-aliases")).to_contain_text("champion v2 (1.0.1), challenger v4 (1.0.3), previous v1")
    rows = page.locator("#versions tbody tr")
    expect(rows).to_have_count(3)
    page.get_by_label("Show archived versions (1)").check()
    expect(rows).to_have_count(4)
    expect(rows.nth(1)).to_contain_text("not passed")
    rows.nth(2).get_by_role("link").click()
    expect(page.locator("#version")).to_contain_text("Scores of the test part.")
    expect(page.locator("#version .checks li")).to_have_count(3)
    expect(page.locator("#version .checks")).to_contain_text("cannot be judged")
    page.get_by_role("button", name="Copy: Make it champion, in a terminal").click()
    expect(page.locator("#announcer")).to_have_text("Copied.")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == f"nd registry promote sales==v2 --registry {root / 'models'} --reason ..."
    page.get_by_role("tab", name="Differences").click()
    expect(page.locator("#diff-scores tbody tr").first).to_contain_text("MAE")
    page.get_by_label("First version").select_option("1")
    page.get_by_label("Second version").select_option("2")
    expect(page.locator("#diff-scores tbody tr").first).to_have_text(re.compile(r"1\.400.*1\.200.*14\.3 %"))
    assert page.url.endswith("/sales/diff/1,2")
    page.reload()
    expect(page.locator("#diff-scores tbody tr").first).to_contain_text("14.3 %")


def test_registry_that_cannot_be_read_says_why(watch: Watch, root: Path) -> None:
    watch.expect("404")
    page = watch.open(f"#/registry/{id_of(root / 'damaged')}")
    expect(page.locator("main h1")).to_have_text("This registry cannot be shown")
    expect(page.get_by_role("alert")).to_contain_text("file is not a database")


def test_registry_page_follows_aliases_and_versions(browser: Browser, tmp_path: Path) -> None:
    maker = RegistryMaker(tmp_path / "models")
    maker.register()
    with dashboard_of(tmp_path) as dashboard:
        watch = Watch(browser, dashboard)
        page = watch.open(f"#/registry/{id_of(maker.path)}")
        expect(page.locator("#versions tbody tr")).to_have_count(1)
        expect(page.locator("#model-aliases")).to_contain_text("no champion yet")
        page.evaluate("window.isSame = true")
        maker.register()
        expect(page.locator("#versions tbody tr")).to_have_count(2)
        maker.promote("sales==v2", reason="It is better.")
        expect(page.locator("#model-aliases")).to_contain_text("champion v2")
        page.get_by_role("tab", name="Aliases").click()
        expect(page.locator("#alias-history tbody tr")).to_contain_text("It is better.")
        maker.promote("sales==v1", reason="It was not.")
        expect(page.locator("#alias-history tbody tr").first).to_contain_text("v2 → v1")
        assert page.evaluate("window.isSame")
        assert watch.close() == []


def test_continuous_training_shows_evidence_marks_and_decisions(watch: Watch, root: Path) -> None:
    page = watch.open(f"#/continuous/{id_of(root / 'load')}")
    expect(page.locator("#continuous-sentence")).to_contain_text("version 4 runs in its shadow")
    expect(page.locator("#evidence")).to_have_text("7.500 of 20")
    wait_until(page, "document.querySelector('.plot')?.data?.length === 4")
    names = page.evaluate("document.querySelector('.plot').data.map(({ name, x }) => [name, x.length])")
    assert names == [["errors", 80], ["drift or worse", 15], ["training", 3], ["other champion", 1]]
    page.get_by_role("tab", name="Decisions").click()
    decisions = page.locator("#decisions > ol > li")
    expect(decisions).to_have_count(8)
    expect(decisions.first).to_contain_text("Version 4 runs in the shadow of 2.")
    expect(decisions.first.locator(".checks")).to_be_hidden()
    decisions.first.get_by_text("Evidence").click()
    expect(decisions.first.locator(".checks")).to_contain_text("Scaled error 0.8, champion 0.9, 12 origins.")
    page.get_by_label("Decision", exact=True).select_option("incident")
    expect(decisions).to_have_count(2)
    page.get_by_role("tab", name="Incidents").click()
    expect(page.locator("#incidents .finding")).to_have_count(2)
    expect(page.locator("#incidents")).to_contain_text(f"nd continuous accept {root / 'load'} 2")
    page.get_by_role("tab", name="Trainings").click()
    page.locator("#trainings tbody tr").nth(2).get_by_role("link", name="v2").click()
    expect(page.locator("#version")).to_contain_text("v2")
    page.go_back()
    page.locator("#trainings tbody tr").nth(2).get_by_role("link", name="2", exact=True).click()
    expect(page.locator("main h1")).to_have_text("run")


def test_continuous_page_follows_ticks_and_keeps_what_is_unfolded(browser: Browser, tmp_path: Path) -> None:
    made = ContinuousMaker(tmp_path / "load").make(8)
    with dashboard_of(tmp_path) as dashboard:
        watch = Watch(browser, dashboard)
        page = watch.open(f"#/continuous/{id_of(made.path)}/decisions")
        expect(page.locator("#decisions > ol > li")).to_have_count(8)
        page.locator("#decisions > ol > li").first.get_by_text("Evidence").click()
        page.evaluate("window.isSame = true")
        with RunLock(made.path / "lock"):
            expect(page.locator("#continuous-state")).to_have_text("running")
            made.decide("promoted", "Version 4 is the new champion.", serving=2, shadow=4)
            expect(page.locator("#decisions > ol > li")).to_have_count(9)
            expect(page.locator("#announcer")).to_have_text("Version 4 is the new champion.")
            expect(page.locator("#decisions > ol > li").nth(1).locator(".checks")).to_be_visible()
        expect(page.locator("#continuous-state")).to_have_text("waiting")
        assert page.evaluate("window.isSame")
        assert watch.close() == []


def test_pipeline_graph_has_a_box_for_each_stage_and_shows_the_chosen_one(watch: Watch, root: Path) -> None:
    page = watch.open(f"#/pipeline/{id_of(root / 'bad')}")
    boxes = page.locator(".graph a")
    expect(boxes).to_have_count(4)
    expect(page.locator(".graph a.failed")).to_have_text(re.compile("means.*✕ failed"))
    expect(page.locator(".graph a.skipped")).to_have_text(re.compile("report.* skipped"))
    expect(page.locator("#stage h2")).to_have_text("means")  # the one that failed
    expect(page.locator("#stage")).to_contain_text("the column 'price' is missing")
    boxes.filter(has_text="clean").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#stage h2")).to_have_text("clean")
    expect(page.locator("#artefacts tbody tr")).to_contain_text("table")
    page.reload()
    expect(page.locator("#stage h2")).to_have_text("clean")
    page.locator("#stages").get_by_role("button", name="check").click()
    expect(page.locator("#stage h2")).to_have_text("check")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the report").click()
    assert download.value.suggested_filename == "report.html"


@pytest.mark.parametrize("width", [1280, 360])
def test_lines_of_the_graph_run_through_no_box(watch: Watch, root: Path, width: int) -> None:
    page = watch.open(f"#/pipeline/{id_of(root / 'good')}", width=width)
    expect(page.locator(".graph a")).to_have_count(4)
    crossed = page.evaluate(
        """() => {
            const boxes = [...document.querySelectorAll(".graph rect")].map((rect) => {
                const { x, y, width, height } = rect.getBBox();
                return { name: rect.parentElement.querySelector("text").textContent, x, y, width, height };
            });
            const found = [];
            for (const line of document.querySelectorAll(".graph .link")) {
                const length = line.getTotalLength();
                for (let at = 0; at <= length; at += 2) {
                    const { x, y } = line.getPointAtLength(at);
                    for (const box of boxes) {
                        if (x > box.x + 1 && x < box.x + box.width - 1 && y > box.y + 1 && y < box.y + box.height - 1) {
                            found.push(`${line.dataset.from} to ${line.dataset.to} through ${box.name}`);
                        }
                    }
                }
            }
            return [...new Set(found)];
        }"""
    )
    assert crossed == []


def test_pipeline_page_follows_the_stages_without_being_loaded_again(browser: Browser, tmp_path: Path) -> None:
    gate = tmp_path / "go"
    made = PipelineMaker(tmp_path / "shown" / "live", waiting, gate=str(gate))
    thread = made.start()
    with dashboard_of(tmp_path / "shown") as dashboard:
        watch = Watch(browser, dashboard)
        page = watch.open(f"#/pipeline/{id_of(made.path)}")
        expect(page.locator("#pipeline-state")).to_have_text("running")
        expect(page.locator(".graph a.running")).to_have_text(re.compile(r"means.*▶ running, [\d.]+ s"))
        expect(page.locator(".graph a.waiting")).to_have_count(2)
        expect(page.locator("#stage h2")).to_have_text("means")
        page.evaluate("window.isSame = true")
        page.screenshot(path=SCREENSHOTS / "desktop-lifecycle-pipeline-live.png", full_page=True)
        gate.touch()
        expect(page.locator("#pipeline-state")).to_have_text("finished")
        expect(page.locator(".graph a.done")).to_have_count(4)
        expect(page.locator("#pipeline-step")).to_have_text("4 of 4 stages (4 done)")
        assert page.evaluate("window.isSame")
        assert watch.close() == []
    thread.join(20)
