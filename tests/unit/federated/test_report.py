"""The page of a federation: what it says, what it must not say, and that nothing in it is markup of others."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from neuro_divergent.federated.figures import FIGURES, federation_figure, federation_figures
from neuro_divergent.federated.reading import read_federation
from neuro_divergent.federated.report import write_federation_report
from tests.dashboard.federation_maker import CLIENTS, PRIVACY, FederationMaker
from tests.unit.federated.tables import federation as small_federation
from tests.unit.reporting.report.runs import EVIL, Page

SECTIONS = ["result", "scores", "rounds", "clients", "settings"]


def page_of(path: Path) -> tuple[str, Page]:
    """Write the page of a federation, and return it as text and as what a strict parser makes of it."""
    place = path.parent / "page.html"
    content = write_federation_report(path, place)
    assert place.read_bytes() == content
    return content.decode("utf-8"), Page(content.decode("utf-8"))


def test_page_of_a_real_federation_has_its_rounds_and_the_scores_of_its_clients(tmp_path: Path) -> None:
    trained = small_federation(3, personalization={"epochs": 1}).fit(run=tmp_path / "run")
    scores = trained.evaluate(local=True)
    (tmp_path / "run" / "scores.json").write_text(json.dumps(scores.to_dicts()))
    text, page = page_of(tmp_path / "run")
    assert [item for item in page.values("id") if item in SECTIONS] == SECTIONS
    assert "Still running" not in text
    assert "Not finished" not in text
    assert (
        "The model nlinear, for 4 steps ahead, was trained on the data of 3 clients in 3 rounds by fedavg." in page.text
    )
    for title in ("Loss by round", "Clients by round", "Norms by round"):
        assert title in page.text
    assert "Privacy" not in page.text
    for name in trained.clients:
        assert page.texts.count(name) >= 2  # among the scores and among the clients
    assert "global personal local" in page.text
    better = sum(
        scores.filter(client=name, model="global")["mae"][0] < scores.filter(client=name, model="local")["mae"][0]
        for name in trained.clients
    )
    assert f"The global model has a lower MAE than the one that the client trained alone at {better} of 3" in page.text


def test_page_tells_who_did_not_answer_and_why_updates_were_refused(tmp_path: Path) -> None:
    made = FederationMaker(
        tmp_path / "run", rounds=5, dropped={2: ["west"]}, refused={4: {"east": "a norm of 12"}}, max_norm=5.0
    ).make()
    text, page = page_of(made.path)
    assert "a norm of 12" in page.texts
    assert "refused above 5" in text
    assert "In 5 rounds, 18 updates counted; 1 did not count, and 1 answer did not come" in text
    assert "58.8 kB" in text  # both directions together: 5 * 6 kB + 18 * 1.6 kB


def test_best_model_of_each_client_is_marked_unless_all_are_the_same(tmp_path: Path) -> None:
    _, page = page_of(FederationMaker(tmp_path / "run").make(1).score().path)
    marked = [attributes.get("class") for tag, attributes in page.tags if tag == "td"].count("best")
    assert marked == 2 * (len(CLIENTS) + 1)  # MAE and skill differ, RMSE and MASE do not; the means are a row, too
    assert "Scores are those on the test part of each client." in page.text
    assert page.count("tr") == 2 + 5 + 2 + 5


def test_page_of_a_private_federation_does_not_tell_who_took_part(tmp_path: Path) -> None:
    made = FederationMaker(
        tmp_path / "run", privacy=PRIVACY, dropped={2: ["west"]}, refused={3: {"north": "not finite"}}
    ).make()
    text, page = page_of(made.path)
    assert not [name for name in CLIENTS if name in text]
    for secret in ("not finite", "took part</th>", "Clients by round", "refused</th>", "kB"):
        assert secret not in text
    assert "epsilon 8 with delta 0.001" in page.text
    assert "epsilon 8 (100 % of it)" in page.text
    assert "Privacy budget" in page.text
    assert "2 times that norm" in page.text
    assert "The promise does not cover them" not in page.text


def test_page_of_a_private_federation_with_scores_warns_of_them(tmp_path: Path) -> None:
    made = FederationMaker(tmp_path / "run", privacy=PRIVACY).make(2).score()
    assert "The promise does not cover them" in page_of(made.path)[1].text


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("running", "Not finished. Its process was killed."),
        ("interrupted", "Not finished. It was interrupted."),
        ("failed", "Not finished. It failed."),
    ],
)
def test_page_says_that_a_federation_is_not_finished(tmp_path: Path, state: str, words: str) -> None:
    made = FederationMaker(tmp_path / "run").make(2, state=state)
    assert words in page_of(made.path)[1].text


def test_page_of_a_federation_that_runs_says_so(tmp_path: Path) -> None:
    made = FederationMaker(tmp_path / "run")
    with made.opened():
        made.run(2)
        assert "Still running." in page_of(made.path)[1].text


def test_page_without_rounds_and_without_anything_is_valid(tmp_path: Path) -> None:
    made = FederationMaker(tmp_path / "run").make(0)
    _, page = page_of(made.path)
    assert page.text.count("No round is complete yet.") == 2
    assert "There are no scores in the directory." in page.text
    assert page.count("svg") == 0
    (tmp_path / "empty").mkdir()
    _, page = page_of(tmp_path / "empty")
    assert "Its files are damaged: " in page.text


def test_hostile_names_and_reasons_are_text(tmp_path: Path) -> None:
    made = FederationMaker(tmp_path / EVIL.replace("/", "_"), clients=[EVIL, "'\"><b>"], refused={2: {EVIL: EVIL}})
    made.make(3).score()
    document = json.loads((made.path / "federation.json").read_text())
    document["config"]["model"]["name"] = EVIL
    document["created"] = EVIL
    (made.path / "federation.json").write_text(json.dumps(document))
    (made.path / "config.toml").write_text(f"# {EVIL}")
    (made.path / "status.json").write_text(json.dumps({"state": "failed", "message": EVIL, "time": 1.0}))
    _, page = page_of(made.path)
    assert page.count("script") == 0
    assert page.count("b") == 0
    assert "alert('x')" in page.text
    assert not [name for name in page.values("src") + page.values("href") if not name.startswith("#")]


def test_page_of_the_same_federation_is_the_same(tmp_path: Path) -> None:
    made = FederationMaker(tmp_path / "run").make().score()
    assert page_of(made.path)[0] == page_of(made.path)[0]


def test_long_federations_are_cut_and_say_so(tmp_path: Path) -> None:
    names = [f"client-{place:04d}" for place in range(1200)]
    made = FederationMaker(
        tmp_path / "run", clients=names, rounds=300, refused={9: dict.fromkeys(names[:60], "no")}
    ).make()
    text, page = page_of(made.path)
    assert "The last 200 of 300 rounds." in page.text
    assert "200 more clients are not listed." in page.text
    assert "The last 50 of 60." in page.text
    assert len(text) < 2_000_000


def test_figures_are_those_that_there_are_numbers_for(tmp_path: Path) -> None:
    plain = read_federation(FederationMaker(tmp_path / "plain").make().path)
    private = read_federation(FederationMaker(tmp_path / "private", privacy=PRIVACY).make().path)
    begun = read_federation(FederationMaker(tmp_path / "begun").make(0).path)
    assert list(federation_figures(plain)) == ["loss", "participation", "norms"]
    assert list(federation_figures(private)) == ["participation", "norms", "budget"]
    assert federation_figures(begun) == {}
    with pytest.raises(ValueError, match=r"no such figure\. Did you mean 'norms'"):
        federation_figure(plain, "norm")
    assert all(figure.alt_text for figure in federation_figures(plain).values())
    assert list(FIGURES) == ["loss", "participation", "norms", "budget"]
