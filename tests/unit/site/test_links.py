"""A site with something that leads nowhere is not published."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.site.links import check_site

GOOD = """
<a href="b.html#part">b</a> <a href="#here" id="here">x</a> <a href="https://example.org">out</a> <img src="p.png">
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "a.html").write_text(GOOD)
    (tmp_path / "b.html").write_text('<h2 id="part">Part</h2>')
    (tmp_path / "p.png").write_bytes(b"")
    return tmp_path


def test_site_without_problems_has_none(site: Path) -> None:
    assert check_site(site) == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ('<a href="c.html">c</a>', "a.html: c.html does not exist"),
        ('<a href="b.html#other">b</a>', "a.html: b.html#other has no such anchor"),
        ('<a href="#nowhere">b</a>', "a.html: #nowhere has no such anchor"),
        ('<img src="q.png">', "a.html: q.png does not exist"),
        ('<script src="https://cdn.example.org/x.js"></script>', "a.html: fetches https://cdn.example.org/x.js"),
        ('<link rel="stylesheet" href="//fonts.example.org/f.css">', "a.html: fetches //fonts.example.org/f.css"),
    ],
)
def test_what_leads_nowhere_or_is_fetched_from_elsewhere_is_named_with_its_page(
    site: Path, wrong: str, said: str
) -> None:
    (site / "a.html").write_text(GOOD + wrong)
    assert check_site(site) == [said]


def test_links_to_tutorials_are_not_followed_where_those_were_not_executed(site: Path) -> None:
    (site / "a.html").write_text('<a href="tutorials/01.html">1</a>')
    assert check_site(site, complete=False) == []
    assert check_site(site) == ["a.html: tutorials/01.html does not exist"]
