"""Figures as files."""

import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from neuro_divergent.core.errors import InputError, MissingDependencyError
from neuro_divergent.reporting.export import write_figure
from neuro_divergent.reporting.plotly.figure import to_json, to_plotly
from tests.unit.reporting.samples import FORECAST, LOSS, MODELS


def test_svg_file_is_self_contained(tmp_path: Path) -> None:
    write_figure(LOSS, tmp_path / "new" / "loss.SVG")
    assert ElementTree.parse(tmp_path / "new" / "loss.SVG").getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_json_is_what_plotly_reads(tmp_path: Path) -> None:
    write_figure(FORECAST, str(tmp_path / "a.json"))
    assert json.loads((tmp_path / "a.json").read_text("utf-8")) == to_json(FORECAST)
    write_figure(to_plotly(FORECAST), tmp_path / "b.json")
    assert len(json.loads((tmp_path / "b.json").read_text("utf-8"))["data"]) == len(to_json(FORECAST)["data"])


@pytest.mark.parametrize("as_plotly", [False, True])
def test_html_file_is_self_contained(tmp_path: Path, as_plotly: bool) -> None:
    write_figure(to_plotly(FORECAST) if as_plotly else FORECAST, tmp_path / "forecast.html")
    text = (tmp_path / "forecast.html").read_text("utf-8")
    assert len(text) > 1_000_000  # the library that draws
    assert 'src="http' not in text
    assert "<script>alert(1)" not in text
    assert "<title>Forecast of &lt;script&gt;alert(1)&lt;/script&gt;</title>" in text
    assert ("What to know &lt;script&gt;" in text) is not as_plotly


@pytest.mark.parametrize(("figure", "name", "words"), [(LOSS, "loss.gif", r"\.html"), ("loss", "a.svg", "no figure")])
def test_refuses_what_it_cannot_write(tmp_path: Path, figure: object, name: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        write_figure(figure, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_says_which_extra_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kaleido", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "neuro-divergent\[png\]"'):
        write_figure(LOSS, tmp_path / "loss.png")
    assert not list(tmp_path.iterdir())


def test_says_that_a_browser_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER_PATH", str(tmp_path / "no-browser"))
    with pytest.raises(MissingDependencyError, match=r"Chromium.*BROWSER_PATH"):
        write_figure(LOSS, tmp_path / "loss.png")
    assert not list(tmp_path.iterdir())


@pytest.mark.browser
@pytest.mark.parametrize(
    ("ending", "begin"),
    [("png", b"\x89PNG\r\n\x1a\n"), ("jpg", b"\xff\xd8\xff"), ("pdf", b"%PDF-"), ("webp", b"RIFF")],
    ids=["png", "jpg", "pdf", "webp"],
)
def test_browser_renders_images(tmp_path: Path, ending: str, begin: bytes) -> None:
    path = tmp_path / f"models.{ending}"
    write_figure(MODELS, path)
    content = path.read_bytes()
    assert content.startswith(begin)
    if ending == "png":
        width, height = (int.from_bytes(content[at : at + 4], "big") for at in (16, 20))
        assert (width, height) == (1800, 2 * to_json(MODELS)["layout"]["height"])
        assert len(content) > 10_000


@pytest.mark.browser
def test_a_browser_draws_a_figure_of_plotly_as_svg(tmp_path: Path) -> None:
    write_figure(to_plotly(MODELS), tmp_path / "models.svg")
    root = ElementTree.parse(tmp_path / "models.svg").getroot()
    assert not list(root.iter("{http://www.w3.org/2000/svg}script"))
    assert any("note <script>alert(1)</script>" in (item.text or "") for item in root.iter())
