"""``nd schedule``."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from neuro_divergent.core.errors import ConfigError, InputError
from neuro_divergent.interfaces.cli import schedule as command
from neuro_divergent.reporting.terminal import ASCII, draw_line
from neuro_divergent.training.schedules.base import Plan, Schedule

APP = typer.Typer()
APP.command("schedule", epilog=command.EXAMPLES)(command.schedule)


def show(*arguments: str) -> str:
    result = CliRunner().invoke(APP, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def document(*arguments: str) -> dict[str, object]:
    return json.loads(show(*arguments, "--json"))  # type: ignore[no-any-return]


def test_lists_every_schedule_with_a_summary() -> None:
    rows = document()["schedules"]
    assert [row["name"] for row in rows] == Schedule.registry.names()  # type: ignore[attr-defined]
    assert all(row["summary"].endswith(".") and "`" not in row["summary"] for row in rows)  # type: ignore[attr-defined]
    output = show()
    assert all(f"\n{name} " in output for name in Schedule.registry.names())


def test_shows_the_rate_at_each_tenth_and_at_the_end() -> None:
    lines = show("linear", "--steps", "200", "--steps-per-epoch", "20", "--lr", "0.5").splitlines()
    assert [line.split() for line in lines[4:]] == [
        [str(step), str(step // 20), f"{1 - step / 200:.4g}", f"{0.5 * (1 - step / 200):.4g}"]
        for step in (*range(0, 200, 20), 199)
    ]


def test_settings_reach_the_schedule() -> None:
    found = document("step", "--set", "every=2", "--set", "gamma=0.5", "--steps", "100", "--steps-per-epoch", "10")
    assert found["rates"] == pytest.approx([1e-3 * 0.5 ** (step // 20) for step in range(100)])
    assert found["schedule"] == {"name": "step", "every": 2, "gamma": 0.5, "per": "epoch"}
    chain = document("chain", "--set", 'parts=[[{name="linear", initial=0.0, final=1.0}, 0.5], ["constant", 0.5]]')
    assert chain["rates"][499:501] == pytest.approx([1e-3 * 499 / 500, 1e-3])  # type: ignore[index]


@pytest.mark.parametrize("name", [name for name in Schedule.registry.names() if name != "function"])
def test_draws_every_schedule(name: str, tmp_path: Path) -> None:
    output = show(name, "--plot", "--steps", "300", "--output", str(tmp_path / "rate.svg"))
    assert f"learning rate, {name}" in output
    assert "step 0" in output
    document = ElementTree.parse(tmp_path / "rate.svg").getroot()
    paths = list(document.iter("{http://www.w3.org/2000/svg}path"))
    assert len(paths) == 1
    assert paths[0].attrib["d"].count("L") == 299


def test_svg_of_a_schedule_is_its_curve(tmp_path: Path) -> None:
    show("linear", "--steps", "101", "--output", str(tmp_path / "rate.svg"))
    path = next(ElementTree.parse(tmp_path / "rate.svg").getroot().iter("{http://www.w3.org/2000/svg}path"))
    points = [tuple(map(float, point.split())) for point in path.attrib["d"].removeprefix("M").split("L")]
    widths, heights = zip(*points, strict=True)
    assert widths == pytest.approx([widths[-1] * step / 100 for step in range(101)], abs=0.06)
    falls = [later - sooner for sooner, later in pairwise(heights)]
    assert falls == pytest.approx([falls[0]] * 100, abs=0.2)
    assert falls[0] > 0  # the origin is at the top


def test_says_what_a_schedule_that_reacts_is_drawn_for(tmp_path: Path) -> None:
    sentence = "when a loss, measured every 50 steps, never improves"
    assert sentence in show("plateau", "--output", str(tmp_path / "rate.svg"))
    assert sentence in (tmp_path / "rate.svg").read_text("utf-8")
    assert sentence in show("product", "--set", 'parts=["cosine", "plateau"]')
    assert "reacts" not in show("cosine")
    # The first loss is the best, five more are borne: the seventh validation makes it fall.
    rates = document("plateau")["rates"]
    assert [step for step in range(1, 1000) if rates[step] != rates[step - 1]] == [350, 650, 950]  # type: ignore[index]


def test_shows_what_auto_stands_for() -> None:
    output = show("auto")
    assert "recurrent      Plateau(gamma=0.5, patience=5" in output
    assert "not listed" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("cosin",), "Did you mean 'cosine'"),
        (("cosine", "--set", "finl=0.1"), "Did you mean 'final'"),
        (("cosine", "--set", "final"), "write key=value"),
        (("cosine", "--set", "final=2"), "less than or equal to 1"),
        (("cosine", "--lr", "0"), "positive number"),
        (("cosine", "--output", "rate.png"), "SVG"),
        (("function",), "only Python can give"),
        (("--plot",), "name a schedule"),
    ],
)
def test_says_what_is_wrong(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises((InputError, ConfigError), match=message):
        show(*arguments)


def test_does_not_load_torch(tmp_path: Path) -> None:
    script = (
        "import sys; from neuro_divergent.interfaces.cli.schedule import schedule; "
        f"schedule('one_cycle', plot=True, output=__import__('pathlib').Path({str(tmp_path / 'rate.svg')!r})); "
        "schedule(); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False, stdout=subprocess.DEVNULL).returncode == 0
    assert (tmp_path / "rate.svg").exists()


@pytest.mark.parametrize("steps", [1, 2, 3, 5000])
def test_short_and_long_training(steps: int, tmp_path: Path) -> None:
    assert "learning rate" in show("cosine", "--plot", "--steps", str(steps), "--output", str(tmp_path / "rate.svg"))
    assert (tmp_path / "rate.svg").stat().st_size < 60_000
    assert len(document("cosine", "--steps", str(steps))["rates"]) == steps  # type: ignore[arg-type]


def test_a_line_stands_on_zero() -> None:
    rates = np.array([Schedule.from_dict("constant").factor(step, Plan(50, 5)) for step in range(50)])
    lines = draw_line("flat", rates, ("first", "last"), width=50, height=8, characters=ASCII).plain.split("\n")
    assert len(lines) == 8 + 3
    assert lines[1].count("*") > 40
    assert lines[8].split()[0] == "0"
    assert lines[-1].split() == ["first", "last"]
