"""Who may ask the dashboard for what."""

from __future__ import annotations

import hmac
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from neuro_divergent.core import http_access
from neuro_divergent.core.errors import InputError
from neuro_divergent.core.http_access import new_token
from neuro_divergent.core.storage.lock import RunLock
from neuro_divergent.interfaces.dashboard.index import id_of
from neuro_divergent.interfaces.dashboard.routes import ROUTERS
from neuro_divergent.interfaces.dashboard.settings import Settings
from tests.dashboard.client import TOKEN, Client
from tests.dashboard.conftest import ids, tree_digest
from tests.dashboard.run_maker import line, make_run, row, start

CANARY = b"canary-8f1d3c5b7a9e"
MakeClient = Callable[..., Client]


def templates(client: Client) -> dict[str, set[str]]:
    """Return all routes with their methods, as the application itself describes them."""
    paths = client.get("/api/openapi.json", token=TOKEN).json()["paths"]
    return {"/": {"GET"}, "/api/openapi.json": {"GET"}} | {
        path: {method.upper() for method in methods} for path, methods in paths.items()
    }


def filled(template: str, run: str) -> str:
    return template.replace("{id}", run).replace("{name}", "loss" if "figures" in template else "index.html")


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "LOCALHOST:8765", "[::1]:8765"])
def test_own_host_names_are_accepted(client: Client, host: str) -> None:
    assert client.get("/api/runs", host=host).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "127.0.0.1:8766", "127.0.0.1:08765", "127.0.0.1:8765:8765", "127.0.0.2:8765", "localhost",
        "localhost.:8765", "localhost:8765.", "localhost.evil.example:8765", "evil.example", "evil.example:8765",
        "user@127.0.0.1:8765", "127.0.0.1:8765@evil.example", "evil.example#127.0.0.1:8765", "2130706433:8765",
        "0x7f000001:8765", "127.1:8765", "0.0.0.0:8765", "[::]:8765", "::1:8765", "[::ffff:127.0.0.1]:8765",
        "[::1]", "", " 127.0.0.1:8765 x", "127.0.0.1:8765,evil.example", "127.0.0.1:8765 ", "127.0.0.1:\xb2",
    ],
)  # fmt: skip
def test_any_other_host_is_refused(client: Client, host: str) -> None:
    reply = client.get("/api/runs", host=None, headers=[("host", host.encode("latin-1"))])
    assert reply.status == 421
    assert b"first" not in reply.body


def test_a_request_needs_exactly_one_host(client: Client) -> None:
    assert client.get("/api/runs", host=None).status == 400
    assert client.get("/api/runs", headers=[("host", "evil.example")]).status == 400
    assert client.get("/api/runs", headers=[("Host", "127.0.0.1:8765")]).status == 400


def test_loopback_reads_without_a_token_and_other_addresses_do_not(runs: Path, make_client: MakeClient) -> None:
    open_to_all = make_client(runs, host="0.0.0.0", client_host="localhost:8765")
    for template, methods in templates(open_to_all).items():
        target = filled(template, id_of(runs / "first"))
        if methods == {"GET"}:
            expected = 401 if template.startswith("/api") else 200
            assert open_to_all.get(target).status == expected, target
    assert open_to_all.get("/api/runs", token=TOKEN).status == 200
    assert make_client(runs).get("/api/runs").status == 200
    assert make_client(runs, host="::1", client_host="[::1]:8765").get("/api/runs").status == 200
    assert make_client(runs, host="192.168.1.7", client_host="192.168.1.7:8765").get("/api/runs").status == 401


def test_a_further_name_is_answered_with_the_token_only(runs: Path, make_client: MakeClient) -> None:
    behind_proxy = make_client(runs, allowed_hosts=("Runs.example.org",), client_host="runs.example.org")
    assert behind_proxy.get("/api/runs").status == 401
    assert behind_proxy.get("/api/runs", token=TOKEN).status == 200
    assert behind_proxy.get("/api/runs", token=TOKEN, host="runs.example.org:8765").status == 200
    assert behind_proxy.get("/api/runs", token=TOKEN, host="runs.example.org:443").status == 421
    assert behind_proxy.get("/api/runs", host="127.0.0.1:8765").status == 401


def test_listening_everywhere_answers_the_address_of_the_connection_only(runs: Path, make_client: MakeClient) -> None:
    client = make_client(runs, host="0.0.0.0", token=TOKEN)
    app = client.app

    async def elsewhere(scope, receive, send):  # type: ignore[no-untyped-def]
        await app({**scope, "server": ("10.1.2.3", 8765)}, receive, send)

    client.app = elsewhere
    assert client.get("/api/runs", host="10.1.2.3:8765").status == 200
    assert client.get("/api/runs", host="10.1.2.4:8765").status == 421
    assert client.get("/api/runs", host="10.1.2.3:80").status == 421
    assert client.get("/api/runs", host="evil.example:8765").status == 421


@pytest.mark.parametrize(
    "token", ["", "short", "a" * 21, "0" * 31, "f" * 31, "with space " * 5, "ü" * 30, "a" * 513, "a\n" * 20]
)
def test_tokens_that_could_be_guessed_are_refused(tmp_path: Path, token: str) -> None:
    with pytest.raises(InputError, match="128 bits"):
        Settings(tmp_path, token)


def test_tokens_of_128_bits_are_accepted(tmp_path: Path) -> None:
    for token in (os.urandom(16).hex(), "A" * 21 + "_", new_token()):
        assert Settings(tmp_path, token).token == token
    assert new_token() != new_token()


@pytest.mark.parametrize(
    "name", ["*", "http://a.example", "a.example/", "a b", "", ".example", "user@a.example", "*.a.example"]
)
def test_names_of_hosts_are_names(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match="not the name of a host"):
        Settings(tmp_path, TOKEN, allowed_hosts=(name,))


WRONG = [
    None, "", "x", TOKEN[:-1], TOKEN + "x", TOKEN.swapcase(), TOKEN[:-1] + "\x00", "Bearer " + TOKEN,
]  # fmt: skip


@pytest.mark.parametrize("control", ["stop", "checkpoint"])
def test_control_requests_without_the_token_are_refused(runs: Path, client: Client, control: str) -> None:
    target = f"/api/runs/{id_of(runs / 'third')}/{control}"
    with RunLock(runs / "third" / "lock"):
        before = tree_digest(runs)
        for token in WRONG:
            reply = client.post(target, token=token)
            assert reply.status == 401, token
            assert reply.header("www-authenticate") == "Bearer"
        for value in (TOKEN, f"Basic {TOKEN}", f"Token {TOKEN}", f"Bearer{TOKEN}", f"Bearer {TOKEN} x"):
            assert client.post(target, headers=[("authorization", value)]).status == 401, value
        twice = [("authorization", f"Bearer {TOKEN}")] * 2
        assert client.post(target, headers=twice).status == 401
        assert client.post(f"{target}?token={TOKEN}").status == 401
        assert client.post(target, headers=[("cookie", f"token={TOKEN}")]).status == 401
        assert tree_digest(runs) == before
        assert client.post(target, token=TOKEN).status == 202
        assert (runs / "third" / "control" / control).is_file()


def test_tokens_are_compared_in_constant_time(
    runs: Path, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[tuple[int, int]] = []

    class Spy:
        @staticmethod
        def compare_digest(one: bytes, other: bytes) -> bool:
            compared.append((len(one), len(other)))
            return hmac.compare_digest(one, other)

    monkeypatch.setattr(http_access, "hmac", Spy)
    client = make_client(runs, host="0.0.0.0", client_host="localhost:8765")
    for token in [*WRONG, TOKEN]:
        client.get("/api/runs", token=token)
    # Every attempt is compared by the function that does not stop early, and lengths do not tell anything either.
    assert compared == [(32, 32)] * (len(WRONG) + 1)


@pytest.mark.parametrize(
    "headers",
    [
        [("origin", "http://evil.example")],
        [("origin", "null")],
        [("origin", "")],
        [("origin", "http://127.0.0.1:8766")],
        [("origin", "http://127.0.0.1:8765.evil.example")],
        [("origin", "http://127.0.0.1")],
        [("origin", "file://")],
        [("origin", "http://localhost:8765")],  # allowed as a host, but not the one that was asked
        [("origin", "http://127.0.0.1:8765"), ("origin", "http://evil.example")],
        [("sec-fetch-site", "cross-site")],
        [("sec-fetch-site", "same-site")],
    ],
)
def test_control_requests_of_other_origins_are_refused_even_with_the_token(
    runs: Path, client: Client, headers: list[tuple[str, str]]
) -> None:
    with RunLock(runs / "third" / "lock"):
        before = tree_digest(runs)
        assert client.post(f"/api/runs/{id_of(runs / 'third')}/stop", token=TOKEN, headers=headers).status == 403
        assert tree_digest(runs) == before


def test_the_own_page_can(runs: Path, client: Client) -> None:
    headers = [("origin", "http://127.0.0.1:8765"), ("sec-fetch-site", "same-origin")]
    with RunLock(runs / "third" / "lock"):
        assert client.post(f"/api/runs/{id_of(runs / 'third')}/stop", token=TOKEN, headers=headers).status == 202


VERBS = ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", "get", "FOO", "POST", "X" * 500]


def test_every_other_verb_is_refused_everywhere(runs: Path, client: Client) -> None:
    before = tree_digest(runs)
    for template, methods in templates(client).items():
        target = filled(template, id_of(runs / "first"))
        for verb in VERBS:
            if verb not in methods:
                reply = client.request(verb, target, token=TOKEN)
                assert reply.status == 405, (verb, target)
                assert reply.header("allow")
        if methods == {"POST"}:
            assert client.get(target, token=TOKEN).status == 405
    assert client.request("DELETE", "/api/nowhere", token=TOKEN).status == 405
    assert tree_digest(runs) == before


def test_the_description_names_every_route(client: Client) -> None:
    described = templates(client)
    assert {route.path for router in ROUTERS for route in router.routes} <= set(described)  # type: ignore[attr-defined]
    assert {path for path, methods in described.items() if "POST" in methods} == {
        "/api/runs/{id}/stop",
        "/api/runs/{id}/checkpoint",
    }


def test_no_answer_is_without_the_headers(runs: Path, client: Client, make_client: MakeClient) -> None:
    run = id_of(runs / "first")
    broken = make_client(runs)
    broken.app.state.board.index = None  # nothing that can be asked
    guarded = make_client(runs, host="0.0.0.0", client_host="localhost:8765")
    replies = {
        200: client.get("/api/runs"),
        304: client.get("/", headers=[("if-none-match", client.get("/").header("etag") or "")]),
        400: client.get("/api/runs", host=None),
        401: guarded.get("/api/runs"),
        403: client.post(f"/api/runs/{run}/stop", token=TOKEN, headers=[("origin", "null")]),
        404: client.get("/api/runs/0000000000000000"),
        405: client.request("DELETE", "/api/runs"),
        409: client.post(f"/api/runs/{run}/stop", token=TOKEN),
        413: client.post(f"/api/runs/{run}/stop", token=TOKEN, headers=[("content-length", "99999")]),
        414: client.get("/api/runs?search=" + "x" * 5000),
        421: client.get("/api/runs", host="evil.example"),
        422: client.get("/api/runs?limit=many"),
        431: client.get("/api/runs", headers=[("x", "y" * 40_000)]),
        500: broken.get("/api/runs"),
    }
    others = [
        client.get("/"),
        client.get("/static/plotly.min.js"),
        client.get(f"/api/runs/{run}/stream"),
        client.get("/x"),
    ]
    for expected, reply in [*replies.items(), *((reply.status, reply) for reply in others)]:
        assert reply.status == expected
        policy = reply.header("content-security-policy")
        assert policy is not None
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert reply.header("x-content-type-options") == "nosniff"
        assert reply.header("referrer-policy") == "no-referrer"
        assert reply.header("x-frame-options") == "DENY"
        assert reply.header("cross-origin-opener-policy") == "same-origin"
        assert reply.header("cross-origin-resource-policy") == "same-origin"
        assert reply.header("set-cookie") is None
        assert reply.header("access-control-allow-origin") is None
        assert reply.header("server") is None
    for status, reply in replies.items():
        if status != 304:
            assert reply.header("cache-control") == "no-store"
        if status >= 400:
            assert set(reply.json()) == {"detail"}
            assert isinstance(reply.json()["detail"], str)
    assert "Traceback" not in replies[500].body.decode()


def test_asking_for_the_head_gives_the_head_alone(runs: Path, client: Client) -> None:
    run = id_of(runs / "first")
    for target in ("/", "/api/runs", f"/api/runs/{run}", f"/api/runs/{run}/stream", "/api/stream"):
        reply = client.request("HEAD", target)
        assert (reply.status, reply.body) == (200, b"")


def test_the_report_is_kept_and_not_shown(runs: Path, client: Client) -> None:
    reply = client.get(f"/api/runs/{id_of(runs / 'first')}/report")
    assert reply.status == 200
    assert reply.header("content-disposition") == 'attachment; filename="report.html"'
    assert reply.header("content-type") == "application/octet-stream"


def all_answers(client: Client, run: str) -> bytes:
    """Return everything that is to be had about a run."""
    found = [client.get(filled(path, run)) for path, methods in templates(client).items() if methods == {"GET"}]
    found += [
        client.get(f"/api/runs/{run}/figures/{figure['name']}")
        for figure in json.loads(client.get(f"/api/runs/{run}/figures").body).get("figures", [])
    ]
    assert all(reply.status < 500 for reply in found)
    return b"".join(reply.body for reply in found)


def test_a_run_that_is_a_link_is_not_there(runs: Path, tmp_path: Path, client: Client) -> None:
    outside = make_run(tmp_path / "outside", model=CANARY.decode())
    (runs / "link").symlink_to(outside)
    assert set(ids(client)) == {"first", "second", "third"}
    assert client.get(f"/api/runs/{id_of(runs / 'link')}").status == 404
    # Nor is one that becomes a link after it was seen.
    seen = ids(client)["first"]
    (runs / "first").rename(tmp_path / "moved")
    (runs / "first").symlink_to(outside)
    assert client.get(f"/api/runs/{seen}").status == 404
    assert client.get(f"/api/runs/{seen}/history").status == 404


FILES = [
    "config.toml", "run.json", "environment.json", "data.json", "status.json", "heartbeat.json", "scores.json",
    "events.jsonl", "history.parquet", "context.parquet", "backtest.parquet", "forecasts.csv", "report.html",
    "calibration.json", "network.json", "diagnosis.json", "lock", "checkpoints/best.json",
]  # fmt: skip


def test_files_that_are_links_are_not_read(runs: Path, tmp_path: Path, client: Client) -> None:
    name = CANARY.decode()
    outside = make_run(tmp_path / "outside", model=name, series=(name,))
    hostile = {
        "environment.json": json.dumps({"x": name}),
        "data.json": json.dumps({"x": name}),
        "status.json": json.dumps({"state": "failed", "message": name, "time": 1.0}),
        "events.jsonl": line(start(canary=name)) + line(row(1, **{name: 1.0})),
        "report.html": name,
        "calibration.json": json.dumps({"part": name}),
        "network.json": json.dumps({"blocks": [{"name": name}]}),
        "diagnosis.json": json.dumps({"findings": [{"title": name}], "checked": [], "not_checked": []}),
        "lock": json.dumps({"pid": 1, "host": name, "since": 1.0}),
        "heartbeat.json": json.dumps({"step": 3, "time": 1.0, "phase": name}),
        "checkpoints/best.json": json.dumps({"metric": name, "value": 1.0}),
        "run.json": json.dumps({"config": {"model": {"name": name}}}),
    }
    for file, content in hostile.items():
        (outside / file).write_text(content)
    pl.DataFrame({"step": [1], name: [1.0]}).write_parquet(outside / "history.parquet")
    make_run(runs / "hostile", series=("A", "B"))
    for file in FILES:
        place = runs / "hostile" / file
        place.unlink(missing_ok=True)
        place.symlink_to(outside / file)
    run = ids(client)["hostile"]
    assert CANARY not in all_answers(client, run)
    other = ids(client)["first"]
    assert CANARY not in client.get(f"/api/compare?ids={run},{other}").body
    assert CANARY in (outside / "config.toml").read_bytes()


def test_directories_that_are_links_are_not_read(runs: Path, tmp_path: Path, client: Client) -> None:
    outside = make_run(tmp_path / "outside")
    (outside / "checkpoints" / "best.json").write_text(json.dumps({"metric": CANARY.decode(), "value": 1.0}))
    (outside / "checkpoints" / "step-000000999").mkdir()
    shutil.rmtree(runs / "third" / "checkpoints")
    (runs / "third" / "checkpoints").symlink_to(outside / "checkpoints")
    (runs / "third" / "control").symlink_to(outside)
    found = all_answers(client, ids(client)["third"])
    assert CANARY not in found
    assert b"step-000000999" not in found


def test_nothing_is_written_through_a_link(runs: Path, tmp_path: Path, client: Client) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    kept = outside / "kept"
    kept.write_bytes(CANARY)
    run = runs / "third"
    target = f"/api/runs/{id_of(run)}/stop"
    with RunLock(run / "lock"):
        (run / "control").symlink_to(outside)
        before = tree_digest(tmp_path)
        assert client.post(target, token=TOKEN).status == 409
        assert tree_digest(tmp_path) == before
        (run / "control").unlink()
        (run / "control").mkdir()
        for victim in (kept, outside / "new"):
            (run / "control" / "stop").symlink_to(victim)
            before = tree_digest(tmp_path)
            assert client.post(target, token=TOKEN).status == 409
            assert tree_digest(tmp_path) == before
            (run / "control" / "stop").unlink()
        os.mkfifo(run / "control" / "stop")
        assert client.post(target, token=TOKEN).status == 409  # and does not wait for a reader
        (run / "control" / "stop").unlink()
        (run / "control" / "stop").mkdir()
        assert client.post(target, token=TOKEN).status == 409


HOSTILE = "<script>alert('x')</script>\"&\u2028\u202e`${1}`"


def test_hostile_names_are_text(tmp_path: Path, make_client: MakeClient) -> None:
    name = HOSTILE.replace("/", "\u2215")
    make_run(tmp_path / "runs" / name, model="<img src=x onerror=alert(1)>", series=(HOSTILE, "B"))
    client = make_client(tmp_path / "runs")
    (listed,) = client.get("/api/runs").json()["runs"]
    assert (listed["name"], listed["model"]) == (name, "<img src=x onerror=alert(1)>")
    for target in (
        "",
        "/history",
        "/series",
        "/figures",
        "/log",
        "/forecast?series=%3Cscript%3E",
        "/figures/%3Cscript%3E",
    ):
        reply = client.get(f"/api/runs/{listed['id']}{target}")
        assert reply.status in (200, 404), target
        assert reply.header("content-type") == "application/json"
        reply.json()
    assert client.get(f"/api/runs/{listed['id']}/series").json()["series"] == [HOSTILE, "B"]
    assert client.get("/<script>alert(1)</script>").header("content-type") == "application/json"


def test_names_that_are_not_unicode_are_shown(tmp_path: Path, make_client: MakeClient) -> None:
    place = tmp_path / "runs" / os.fsdecode(b"bad-\xff\xfe")
    make_run(place, results=False, state="failed")
    client = make_client(tmp_path / "runs")
    (listed,) = client.get("/api/runs").json()["runs"]
    assert listed["name"] == place.name
    assert client.get(f"/api/runs/{listed['id']}").json()["path"] == str(place)


DAMAGE = [
    b"",
    b"\0" * 5000,
    b"{",
    b"[1, 2",
    b"[[" * 100_000,
    b"\xff\xfe" * 500,
    b"PAR1" + b"\xff" * 200 + b"PAR1",
    b"1e999",
    b'{"a": NaN}',
]


@pytest.mark.parametrize("damage", DAMAGE, ids=range(len(DAMAGE)))
def test_damaged_files_are_no_errors(tmp_path: Path, make_client: MakeClient, damage: bytes) -> None:
    run = make_run(tmp_path / "runs" / "damaged")
    for file in FILES:
        (run / file).write_bytes(damage)
    client = make_client(tmp_path / "runs")
    all_answers(client, id_of(run))


def test_huge_files_are_not_read_as_a_whole(tmp_path: Path, make_client: MakeClient) -> None:
    run = make_run(tmp_path / "runs" / "huge")
    for file in FILES:
        if file not in ("events.jsonl", "history.parquet"):
            os.truncate(run / file, 10 * 1024**4) if (run / file).exists() else None
    client = make_client(tmp_path / "runs")
    all_answers(client, id_of(run))
