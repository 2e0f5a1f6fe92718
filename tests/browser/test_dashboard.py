"""The dashboard as people use it."""

from __future__ import annotations

import csv
import io
import re
import statistics
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import Watch, open_run, run_id, wait_until
from tests.browser.runs import (
    HORIZON,
    HOSTILE_RUN,
    HOSTILE_SERIES,
    STORES,
    Dashboard,
    dashboard_of,
    rows,
    training,
    wait_for,
)

pytestmark = pytest.mark.browser

LAST_STEP = "document.querySelector('#panel-training .plot').data?.[0].x.at(-1)"


def test_rows_of_a_training_appear_while_they_are_written(watch: Watch, live: Path) -> None:
    page = open_run(watch, live.name)
    wait_until(page, f"{LAST_STEP} > 0")
    # Each new last point is noted with the time it is first seen at; when it was written is in the file.
    seen = page.evaluate(
        f"""() => new Promise((resolve) => {{
            const seen = [], first = {LAST_STEP};
            const look = () => {{
                const step = {LAST_STEP};
                if (step !== (seen.at(-1)?.step ?? first)) seen.push({{ step, time: Date.now() / 1000 }});
                if (seen.length >= 12) resolve(seen);
                else setTimeout(look, 10);
            }};
            look();
        }})"""
    )
    written = {row["step"]: row["time"] for row in rows(live)}
    delays = [point["time"] - written[point["step"]] for point in seen]
    assert all(later["step"] > earlier["step"] for earlier, later in pairwise(seen))
    assert max(delays) < 3, delays
    assert statistics.median(delays) < 1.5, delays
    for plot in page.locator("#panel-training .plot").all():
        steps = plot.evaluate("plot => plot.data[0].x")
        assert steps == sorted(set(steps))
    assert re.search(rf"^{live.name}: running", page.title())
    expect(page.locator("#run-quiet")).to_contain_text("last heartbeat")


def test_zooming_loads_the_part_and_back_loads_everything(watch: Watch, live: Path) -> None:
    page = open_run(watch, live.name)
    wait_until(page, f"{LAST_STEP} > 300")
    plot = page.locator("#panel-training .plot").first
    area = plot.locator(".nsewdrag").bounding_box()
    assert area is not None
    middle = area["y"] + area["height"] / 2
    with page.expect_request(lambda request: "begin=" in request.url):
        page.mouse.move(area["x"] + area["width"] * 0.3, middle)
        page.mouse.down()
        page.mouse.move(area["x"] + area["width"] * 0.6, middle, steps=5)
        page.mouse.up()
    wait_until(page, "document.querySelector('#panel-training .plot').data[0].x[0] > 0")
    low, high = plot.evaluate("plot => plot.layout.xaxis.range")
    wait_until(page, f"(() => {{ const x = document.querySelector('#panel-training .plot').data[0].x; "
                           f"return x[0] >= {low} - 11 && x.at(-1) <= {high} + 11; }})()")  # fmt: skip
    with page.expect_request(lambda request: "/history?" in request.url and "begin=" not in request.url):
        plot.locator(".modebar-btn[data-attr=zoom][data-val=reset]").click()
    wait_until(page, f"{LAST_STEP} > {high}")


def test_losses_can_be_seen_on_a_logarithmic_scale(watch: Watch) -> None:
    page = open_run(watch, "plain")
    plot = page.locator("#panel-training .plot").first
    wait_until(page, f"{LAST_STEP} > 0")
    assert plot.evaluate("plot => plot.layout.yaxis.type") == "linear"
    page.get_by_role("switch", name="Logarithmic").check()
    wait_until(page, "document.querySelector('#panel-training .plot').layout.yaxis.type === 'log'")


def test_the_list_follows_what_happens(watch: Watch, live: Path) -> None:
    page = watch.open()
    row = page.locator("#runs tbody tr", has_text=live.name)
    expect(row.locator(".state")).to_have_text("running")
    before = row.locator("progress").evaluate("bar => bar.value")
    wait_until(page, "([id, before]) => document.querySelector(`[data-run='${id}'] progress`).value > before",
                           [run_id(page, live.name), before])  # fmt: skip
    page.get_by_label("State").select_option("running")
    expect(page.locator("#runs tbody tr")).to_have_count(1)
    page.get_by_label("State").select_option("")
    page.get_by_label("Search").fill("dlinear")
    expect(page.locator("#runs tbody tr")).to_have_count(1)
    expect(page.locator("#runs tbody tr a")).to_have_text(HOSTILE_RUN)
    page.get_by_label("Search").fill("nothing is called so")
    expect(page.locator(".empty")).to_contain_text("No run fits")


def test_two_runs_are_compared(watch: Watch) -> None:
    page = watch.open()
    expect(page.locator("#compare")).to_be_disabled()
    for name in ("plain", HOSTILE_RUN):
        page.get_by_label(f"Compare {name}", exact=True).check()
    page.locator("#compare").click()
    differences = page.locator("#differences")
    expect(differences).to_contain_text("training.optimizer.lr")
    cells = differences.locator("tr", has_text="training.optimizer.lr").locator("td").all_inner_texts()
    assert sorted(cells) == ["0.001", "0.01"]
    assert "task.horizon" not in differences.inner_text()
    expect(page.locator("main .plot .legend text")).to_have_text(["plain", HOSTILE_RUN])
    with page.expect_request(lambda request: "column=train_loss" in request.url):
        page.get_by_label("Column").select_option("train_loss")
    wait_until(page, "document.querySelector('main .plot').layout.yaxis.title.text === 'Train loss'")
    scores = page.locator("#scores tbody tr")
    expect(scores).to_have_count(2)
    assert re.search(r"\d", scores.first.inner_text())


def test_series_are_found_and_their_numbers_are_those_of_the_file(watch: Watch, runs: Path) -> None:
    page = open_run(watch, "plain", "forecasts")
    expect(page.locator("#series-found")).to_have_text(f"{STORES + 2} series")
    expect(page.locator("#series li")).to_have_count(50)
    page.get_by_role("button", name="Next page").click()
    expect(page.locator("#series li")).to_have_count(STORES + 2 - 50)
    page.get_by_label("Search series").fill("RE-07")
    expect(page.locator("#series li")).to_have_count(1)
    page.get_by_role("button", name="store-07", exact=True).click()
    expect(page.locator("#panel-forecasts h3").first).to_have_text("store-07")
    wait_until(page, "document.querySelector('#panel-forecasts .plot').data?.length > 1")
    expect(page.locator("#forecast-rows tbody tr")).to_have_count(HORIZON)
    with page.expect_download() as started:
        page.get_by_role("button", name="Download CSV").click()
    content = started.value.path().read_text()
    found = list(csv.DictReader(io.StringIO(content)))
    with (runs / "plain" / "forecasts.csv").open() as file:
        wanted = [row for row in csv.DictReader(file) if row["unique_id"] == "store-07"]
    assert len(found) == len(wanted) == HORIZON
    for one, other in zip(found, wanted, strict=True):
        for name in ("lo-80", "hi-80"):
            assert float(one[name]) == pytest.approx(float(other[name]), rel=1e-6)


def test_stopping_ends_the_process_with_a_model(watch: Watch, table: Path, runs: Path) -> None:
    run = runs / "to-be-stopped"
    with training(table, run) as process:
        page = open_run(watch, run.name)
        stop = page.get_by_role("button", name="Stop training", exact=True)
        expect(stop).to_be_enabled()
        stop.click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("with a model")
        dialog.get_by_role("button", name="Cancel").click()
        expect(dialog).to_be_hidden()
        assert not (run / "control" / "stop").exists()
        stop.click()
        dialog.get_by_role("button", name="Stop training").click()
        expect(page.locator("#announcer")).not_to_be_empty()
        assert process.wait(90) == 0
    expect(page.locator("#run-state")).to_have_text("finished")
    expect(stop).to_be_disabled()
    expect(page.locator("#why-not")).to_have_text("This run does not train.")
    assert (run / "model" / "manifest.json").is_file()
    page.get_by_role("tab", name="Log").click()
    expect(page.locator("#log")).to_contain_text("A stop was requested.")
    page.get_by_role("tab", name="Forecasts").click()
    expect(page.locator("#series li").first).to_be_visible()
    assert page.title().startswith(f"{run.name}: finished")


def test_a_checkpoint_is_written_when_asked_for(watch: Watch, live: Path) -> None:
    page = open_run(watch, live.name)
    page.get_by_role("button", name="Save a checkpoint now").click()
    expect(page.locator("#announcer")).not_to_be_empty()
    page.get_by_role("tab", name="Log").click()
    expect(page.locator("#log")).to_contain_text("A checkpoint was requested.")
    asked = page.locator("#log tr", has_text="A checkpoint was requested.").last
    step = int(asked.locator("td").nth(1).inner_text().replace(",", ""))
    page.get_by_role("tab", name="Checkpoints").click()
    cell = page.locator("#checkpoints").get_by_text(f"step-{step:09d}")
    expect(cell).to_be_visible()
    assert (live / "checkpoints" / f"step-{step:09d}" / "manifest.json").is_file()


def test_an_event_streamed_while_the_log_is_read_stays_in_the_log(watch: Watch, live: Path) -> None:
    page = open_run(watch, live.name)
    page.evaluate(
        """() => {
            const ask = window.fetch, shown = new Promise((resolve) => { window.showLog = resolve; });
            window.fetch = async (address, ...rest) => {
                const answer = await ask(address, ...rest);
                if (String(address).includes("/log")) { window.logIsRead = true; await shown; }
                return answer;
            };
        }"""
    )
    page.get_by_role("tab", name="Log").click()
    wait_until(page, "window.logIsRead")
    (live / "control").mkdir(exist_ok=True)
    (live / "control" / "checkpoint").touch()
    requested = page.locator("#log tr", has_text="A checkpoint was requested.")
    expect(requested).to_have_count(1)
    time = requested.locator("td").first.inner_text()
    page.evaluate("window.showLog()")
    wait_until(page, "document.querySelectorAll('#log tbody tr').length > 1")
    expect(requested.last.locator("td").first).to_have_text(time)


def test_without_a_token_nothing_can_be_changed(watch: Watch, live: Path) -> None:
    page = open_run(watch, live.name, has_token=False)
    for name in ("Stop training", "Save a checkpoint now"):
        expect(page.get_by_role("button", name=name)).to_be_disabled()
    expect(page.locator("#why-not")).to_contain_text("no token")
    watch.expect("401")
    number = run_id(page, live.name)
    for request in ("stop", "checkpoint"):
        ask = "address => fetch(address, { method: 'POST' }).then((answer) => answer.status)"
        assert page.evaluate(ask, f"/api/runs/{number}/{request}") == 401
    assert not (live / "control" / "stop").exists()


def test_where_reading_needs_the_token_the_page_sends_it_or_says_so(browser: Browser, runs: Path) -> None:
    with dashboard_of(runs, options=("--allow-host", "runs.example.org")) as dashboard:
        watch = Watch(browser, dashboard)
        watch.expect("401")
        page = watch.open(has_token=False)
        expect(page.get_by_role("alert")).to_contain_text("This needs a token")
        page.goto(dashboard.address_with_token)
        expect(page.locator("#runs tbody tr").first).to_be_visible()
        expect(page.locator("#connection")).to_be_empty()
        assert watch.close() == []


def test_the_token_leaves_the_address_and_stays_in_the_tab(watch: Watch) -> None:
    page = watch.open()
    token = watch.dashboard.token
    page.goto(watch.dashboard.address_with_token)
    wait_until(page, "location.hash === '#/'")
    assert page.evaluate("sessionStorage.getItem('token')") == token
    assert page.evaluate("localStorage.length + document.cookie.length") == 0
    page.reload()
    assert page.evaluate("sessionStorage.getItem('token')") == token
    assert not [address for address in watch.addresses if token in address.partition("#")[0]]


def test_names_like_markup_are_shown_as_they_are(watch: Watch) -> None:
    page = watch.open()
    page.get_by_role("link", name=HOSTILE_RUN).click()
    for tab in ("Evaluation", "Diagnostics", "Model", "Checkpoints", "Settings", "Log", "Training", "Forecasts"):
        page.get_by_role("tab", name=tab).click()
        page.wait_for_timeout(300)
        expect(page.locator("h1")).to_have_text(HOSTILE_RUN)
        assert_no_markup(page)
    for series in HOSTILE_SERIES:
        page.get_by_label("Search series").fill(series)
        expect(page.locator("#series li")).to_have_count(1)
        page.get_by_role("button", name=series, exact=True).click()
        expect(page.locator("#panel-forecasts h3").first).to_have_text(series)
        wait_until(page, "document.querySelector('#panel-forecasts .plot').data?.length > 1")
        page.locator("#panel-forecasts .plot .nsewdrag").hover()
        assert_no_markup(page)


def assert_no_markup(page: Page) -> None:
    """Nothing of a name became an element."""
    assert page.locator("img, main script, [onerror], iframe, object").count() == 0


def test_findings_name_settings_that_can_be_copied(watch: Watch) -> None:
    page = open_run(watch, "plain", "diagnostics")
    expect(page.locator("#findings")).to_contain_text(re.compile(r"\d+ checks"))
    # Sixty steps with a small rate leave the model worse than the naive forecast.
    option = page.locator("#findings .changes code").first.inner_text()
    assert re.match(r"--set [a-z_.]+=\S+$", option)
    page.locator("#findings .changes button").first.click()
    expect(page.locator("#announcer")).to_have_text(f"Copied: {option}")
    assert page.evaluate("navigator.clipboard.readText()") == option


def test_scores_are_compared_with_baselines(watch: Watch) -> None:
    page = open_run(watch, "plain", "evaluation")
    names = page.locator("#scores tbody th").all_inner_texts()
    assert {"nlinear", "seasonal naive"} <= set(names)
    wait_until(page, "[...document.querySelectorAll('#panel-evaluation .plot')].some((plot) => plot.data?.length)")


def test_tabs_are_worked_by_arrow_keys(watch: Watch) -> None:
    page = open_run(watch, "plain")
    page.get_by_role("tab", name="Training").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_role("tab", name="Log")).to_be_focused()
    expect(page.locator("#panel-log")).to_be_visible()
    page.keyboard.press("Home")
    expect(page.locator("#panel-training")).to_be_visible()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#panel-forecasts")).to_be_visible()
    assert page.url.endswith("/forecasts")
    page.reload()
    expect(page.locator("#panel-forecasts")).to_be_visible()


def test_what_is_not_there_is_said_in_words(watch: Watch) -> None:
    watch.expect("404")
    page = watch.open("#/run/0000000000000000")
    expect(page.locator("main")).to_contain_text("cannot be shown")
    expect(page.get_by_role("alert")).to_contain_text("no such run")
    page = watch.open("#/nowhere")
    expect(page.locator("h1")).to_have_text("There is no such page")


def test_a_lost_connection_is_told_and_made_again(browser: Browser, runs: Path) -> None:
    first = Dashboard(runs)
    watch = Watch(browser, first)
    try:
        page = watch.open()
        expect(page.locator("#runs tbody tr").first).to_be_visible()
        watch.expect("ERR_|Failed to load")
    finally:
        first.close()
    expect(page.locator("#connection")).to_contain_text("Connection lost")
    page.get_by_label("Search").fill("plain")
    expect(page.get_by_role("alert")).to_contain_text("does not respond")
    with dashboard_of(runs, port=first.port):
        expect(page.locator("#connection")).to_be_empty()
        expect(page.locator("#runs tbody tr")).to_have_count(1)
        assert watch.close() == []


def test_an_empty_directory_says_what_to_do(browser: Browser, tmp_path: Path) -> None:
    with dashboard_of(tmp_path) as dashboard:
        watch = Watch(browser, dashboard)
        page = watch.open()
        expect(page.locator(".empty code")).to_have_text("nd train FILE --horizon 24")
        assert watch.close() == []


def test_a_thousand_runs_are_shown_page_by_page(browser: Browser, tmp_path: Path) -> None:
    for number in range(1000):
        run = tmp_path / f"run-{number:04d}"
        run.mkdir()
        (run / "config.toml").write_text(f'[model]\nname = "{"dlinear" if number % 2 else "nhits"}"\n')
    with dashboard_of(tmp_path) as dashboard:
        watch = Watch(browser, dashboard)
        page = watch.open()
        page.get_by_role("button", name="Run", exact=True).click()
        names = page.locator("#runs tbody th a")
        expect(names.first).to_have_text("run-0000")
        expect(names).to_have_count(50)
        expect(page.locator("th", has=page.get_by_role("button", name="Run", exact=True))).to_have_attribute(
            "aria-sort", "ascending"
        )
        page.get_by_role("button", name="Next page").click()
        expect(names.first).to_have_text("run-0050")
        expect(page.locator("#pages")).to_have_text("51 to 100 of 1,000")
        page.get_by_role("button", name="Run", exact=True).click()
        expect(names.first).to_have_text("run-0999")
        page.get_by_label("Search").fill("nhits run-001")
        expect(names).to_have_text([f"run-{number:04d}" for number in (18, 16, 14, 12, 10)])
        assert watch.close() == []


def test_colours_follow_the_system(watch: Watch) -> None:
    page = open_run(watch, "plain")
    wait_until(page, f"{LAST_STEP} > 0")
    tick = "document.querySelector('#panel-training .xtick text').style.fill"
    colours = f"[getComputedStyle(document.body).backgroundColor, {tick}]"
    light = page.evaluate(colours)
    page.emulate_media(color_scheme="dark")
    wait_until(page, f"{colours}[1] !== '{light[1]}'")
    dark = page.evaluate(colours)
    assert light[0] == "rgb(255, 255, 255)"
    assert sum(map(int, re.findall(r"\d+", dark[0]))) < 120
    wait_for(lambda: page.evaluate(colours) == dark, 2, "colours to stay")
