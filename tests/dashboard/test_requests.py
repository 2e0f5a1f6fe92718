"""Thousands of requests nobody would send: no error of the server, nothing from outside, nothing changed."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from neuro_divergent.core.storage.lock import RunLock
from tests.dashboard.client import TOKEN, Client, Reply
from tests.dashboard.conftest import ids, tree_digest
from tests.dashboard.continuous_maker import ContinuousMaker
from tests.dashboard.federation_maker import FederationMaker
from tests.dashboard.pipeline_maker import PipelineMaker
from tests.dashboard.registry_maker import RegistryMaker
from tests.dashboard.run_maker import make_run
from tests.dashboard.study_maker import RATE, StudyMaker

MakeClient = Callable[..., Client]

TEXTS = [
    "", " ", "a", "A,B", "0", "null", "undefined", "NaN", "true", "\x00", "a\x00b", "\r\nSet-Cookie: x=1", "%00", "%",
    "%zz", "ünïcødé", "\u202e\u2028\u0000", "😀" * 50, "x" * 199, "x" * 201, "x" * 1001, "<script>alert(1)</script>",
    "' OR 1=1 --", "${7*7}", "{{7*7}}", "../../etc/passwd", "/etc/passwd", "C:\\Windows\\win.ini", "file:///etc/passwd",
    "time", "train_loss", "validation_loss", "step", "first", "running", "*", ".*", "(?:a+)+$", "\ud800",
]  # fmt: skip
NUMBERS = [
    "0", "1", "-1", "5", "10", "1000", "1001", "10000", "10001", str(2**31), str(2**63 - 1), str(2**63), str(10**30),
    "9" * 500, "1.5", "1e3", "1e999", "-0", "+5", "0x10", "٣", "1_000", " 7 ", "NaN", "inf", "", "abc", "\x00", "true",
]  # fmt: skip
VERBS = ["GET"] * 20 + ["HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW", "gEt", ""]
HEADERS: list[tuple[str | bytes, str | bytes]] = [
    ("accept", "text/html"), ("accept", "\xff"), ("accept-encoding", "gzip, br, x" * 50), ("range", "bytes=0-10"),
    ("range", "bytes=-1,5-,x"), ("if-none-match", "*"), ("if-modified-since", "yesterday"), ("content-length", "0"),
    ("content-length", "-5"), ("content-length", "abc"), ("content-length", "1"), ("content-length", str(2**70)),
    ("transfer-encoding", "chunked"), ("content-type", "application/json"), ("content-type", "multipart/form-data"),
    ("content-type", "application/x-www-form-urlencoded"), ("origin", "http://evil.example"), ("origin", "null"),
    ("referer", "http://evil.example/"), ("cookie", "a=b; token=" + TOKEN), ("authorization", "Bearer"),
    ("authorization", "Bearer " + "x" * 5000), ("authorization", "Basic \xff\xfe"), ("authorization", ""),
    ("x-forwarded-host", "evil.example"), ("x-forwarded-for", "127.0.0.1"), ("x-original-url", "/etc/passwd"),
    ("x-rewrite-url", "/api/runs"), ("x-http-method-override", "DELETE"), ("forwarded", "host=evil.example"),
    ("upgrade", "websocket"), ("connection", "upgrade"), ("te", "trailers"), ("expect", "100-continue"),
    ("last-event-id", "9" * 50), ("last-event-id", "x"), ("sec-fetch-site", "cross-site"), (b"\xff\xfe", b"\xff\xfe"),
    ("x" * 3000, "y" * 3000), ("x", "y" * 40_000), ("", ""), ("host", "evil.example"), ("host", ""),
]  # fmt: skip
TRAVERSALS = [
    "../", "..%2f", "%2e%2e/", "%2e%2e%2f", "%2E%2E%2F", "..%252f", "%252e%252e%252f", "%25252e%25252e%25252f", "..\\",
    "..%5c", "%2e%2e%5c", "%252e%252e%255c", "..%c0%af", "%c0%ae%c0%ae/", "%c0%ae%c0%ae%c0%af", "%e0%80%ae%e0%80%ae/",
    "%e0%80%af", "..%c1%9c", "%uff0e%uff0e%u2215", "%ef%bc%8e%ef%bc%8e%ef%bc%8f", "\uff0e\uff0e\uff0f", "\u2025/",
    "..;/", "..;a=b/", ".;/../", "..%00/", "..%0d%0a/", "..%09/", "....//", "....\\/", "..././", "./.././", "//../",
    "..//", "%2e./", ".%2e/", "..%ff/", "~/", "~root/", "..:/", "..?/", "..%3f/", "..%23/", "..%20/", "...../",
]  # fmt: skip
BEGINS = [
    "",
    "/",
    "//",
    "%2f",
    "%5c%5c",
    "file://",
    "file:%2f%2f%2f",
    "C:/",
    "C:%5c",
    "\\\\?\\C:\\",
    "./",
    "first/",
    "%00",
]


class Scene:
    """Runs, a file outside them that must not be seen, and links to it inside."""

    def __init__(self, place: Path, make_client: MakeClient) -> None:
        self.place = place
        # Letters only, so that no way to encode an answer hides them.
        self.canary = random.SystemRandom().randbytes(24).hex().encode()
        outside = place / "outside"
        outside.mkdir(parents=True)
        (outside / "canary.txt").write_bytes(self.canary)
        (outside / "canary.json").write_text(json.dumps({"canary": self.canary.decode()}))
        self.root = place / "runs"
        make_run(self.root / "first", series=("A", "<script>"))
        make_run(self.root / "second", model="patchtst")
        StudyMaker(self.root / "study").run(2)
        (self.root / "study" / "study.db").symlink_to(outside / "canary.txt")
        FederationMaker(self.root / "federation").make(2)
        RegistryMaker(self.root / "models").make()
        ContinuousMaker(self.root / "load", registry=str(self.root / "models")).make(4)
        PipelineMaker(self.root / "pipeline").run()
        (self.root / "pipeline" / "report.html").unlink()
        (self.root / "pipeline" / "report.html").symlink_to(outside / "canary.txt")
        (self.root / "link").symlink_to(outside)
        (self.root / "link.txt").symlink_to(outside / "canary.txt")
        for name in ("link", "canary.txt", "plots"):
            (self.root / "first" / name).symlink_to(outside / "canary.txt")
        (self.root / "first" / "diagnosis.json").write_text(
            json.dumps({"findings": [], "checked": [], "not_checked": []})
        )
        (self.root / "second" / "diagnosis.json").symlink_to(outside / "canary.json")
        self.client = make_client(self.root)
        self.client.stream_seconds = 0.01
        self.run = ids(self.client)["first"]
        self.other = ids(self.client)["second"]
        found = ids(self.client)
        self.ids = {"runs": [self.run, self.other], "studies": [found["study"]], "federations": [found["federation"]]}
        self.ids |= {"registries": [found["models"]], "continuous": [found["load"]], "pipelines": [found["pipeline"]]}
        self.described = self.client.get("/api/openapi.json").json()["paths"]
        self.before = tree_digest(place)
        self.statuses: dict[int, int] = {}

    def ids_for(self, template: str) -> list[str]:
        """Return the ids that a route answers for."""
        kind = template.split("/")[2] if template.startswith("/api/") else ""
        return self.ids.get(kind, self.ids["runs"])

    def check(self, reply: Reply, what: object) -> None:
        """Hold what is true of every answer."""
        self.statuses[reply.status] = self.statuses.get(reply.status, 0) + 1
        assert reply.status < 500, what
        assert self.canary not in reply.body, what
        assert all(self.canary not in value for _, value in reply.headers), what
        assert b"root:x:0" not in reply.body, what
        assert reply.header("content-security-policy"), what
        assert reply.header("set-cookie") is None, what
        if reply.status >= 400 and reply.body:
            assert list(reply.json()) == ["detail"], what

    def check_unchanged(self) -> None:
        """Hold that nothing was written anywhere."""
        assert tree_digest(self.place) == self.before


@pytest.fixture
def scene(tmp_path: Path, make_client: MakeClient) -> Iterator[Scene]:
    scene = Scene(tmp_path / "place", make_client)
    with RunLock(scene.root / "second" / "lock"):  # one that could be asked for something
        scene.before = tree_digest(scene.place)
        yield scene


def valid(parameter: dict[str, Any], path: str, scene: Scene, chance: random.Random) -> str:
    """Return a value that a parameter of a route takes."""
    name, schema = parameter["name"], parameter["schema"]
    known = {
        "id": [*scene.ids_for(path), scene.run],
        "ids": [f"{scene.run},{scene.other}", f"{scene.other},{scene.run}"],
        "series": ["A", "<script>"],
        "around": ["A", "<script>"],
        "name": ["loss", "scores", "ranking", "index.html", "plotly.min.js", "convergence", f"slice-{RATE}"]
        if "/models/" not in path
        else ["sales"],
        "number": ["1", "2", "4"],
        "a": ["1"],
        "b": ["2"],
        "columns": ["train_loss", "train_loss,validation_loss", ""],
        "column": ["train_loss", "seconds"],
        "search": ["", "a", "first"],
        "state": ["", "finished", "running,killed"],
    }
    kinds = [schema, *schema.get("anyOf", [])]
    choices = list(known.get(name, ()))
    for kind in kinds:
        choices += kind.get("enum", [])
        if kind.get("type") == "integer":
            lowest = kind.get("minimum", 0)
            choices += [lowest, chance.randint(lowest, min(kind.get("maximum", 10**6), 10**6))]
    return str(chance.choice(choices))


def anything(parameter: dict[str, Any], scene: Scene, chance: random.Random) -> str:
    """Return a value that a parameter may not take: at its limits, of another kind, or hostile."""
    name, schema = parameter["name"], parameter["schema"]
    known = {
        "id": [scene.run.upper(), scene.run[:-1], scene.run + "0", "0" * 16, "first", "link"],
        "ids": [scene.run, f"{scene.run}," * 9, ",,,", f"{scene.run},x"],
        "name": ["LOSS", "architecture", "__init__.py", "link"],
    }
    choices = [TEXTS, known.get(name, TEXTS)]
    for kind in (schema, *schema.get("anyOf", [])):
        if kind.get("type") == "integer":
            limits = [kind[key] for key in ("minimum", "maximum", "exclusiveMaximum") if key in kind]
            choices += [[str(limit + change) for limit in limits for change in (-1, 0, 1)] or NUMBERS, NUMBERS]
    return chance.choice(chance.choice(choices))


def encoded(value: str, chance: random.Random) -> bytes:
    """Return a value as it stands in an address, sometimes without what should be encoded."""
    content = value.encode("utf-8", "surrogatepass")
    if chance.random() < 0.1:
        return content.replace(b"?", b"").replace(b"#", b"")
    return quote(content, safe="" if chance.random() < 0.7 else "/,:").encode()


def requests(scene: Scene, chance: random.Random, number: int) -> Iterator[tuple[str, bytes, dict[str, Any]]]:
    """Yield requests made from the description of the routes."""
    operations = [
        (path, method.upper(), operation.get("parameters", []))
        for path, methods in scene.described.items()
        for method, operation in methods.items()
    ]
    for _ in range(number):
        path, method, parameters = chance.choice(operations)
        target = path.encode()
        query: list[bytes] = []
        share = chance.choice([0.0, 0.0, 0.3, 1.0])  # of parameters that are given something else
        for parameter in parameters:
            is_wild = chance.random() < share
            if is_wild:
                value = encoded(anything(parameter, scene, chance), chance)
            else:
                value = quote(valid(parameter, path, scene, chance), safe="").encode()
            if parameter["in"] == "path":
                target = target.replace(b"{%s}" % parameter["name"].encode(), value)
            else:
                times = chance.choice([0, 1, 1, 1, 1, 2, 3] if is_wild else [0, 1, 1, 1])
                query += [parameter["name"].encode() + b"=" + value] * times
        if chance.random() < 0.05:
            query.append(encoded(chance.choice(TEXTS), chance) + b"=" + encoded(chance.choice(TEXTS), chance))
        if chance.random() < 0.03:
            query.append(b"x=" + b"y" * chance.choice([100, 3000, 5000]))
        chance.shuffle(query)
        if query or chance.random() < 0.05:
            target += b"?" + chance.choice([b"&", b"&", b"&", b";", b"&&"]).join(query)
        verb = method if chance.random() < 0.85 else chance.choice(VERBS)
        options: dict[str, Any] = {}
        if chance.random() < 0.3:
            options["headers"] = chance.sample(HEADERS, chance.randint(1, 4))
        if chance.random() < 0.1:
            options["host"] = chance.choice([None, "evil.example", "localhost:8765", "[::1]:8765", "\xff", "x" * 300])
        if chance.random() < 0.1:
            options["token"] = chance.choice(["x", TOKEN[:-1], TOKEN.lower(), ""])
        if chance.random() < 0.05:
            options["body"] = chance.choice([b"{}", b"\x00" * 100, b"x" * 5000, b'{"a":' * 50])
        yield verb, target, options


def _filled(template: str, key: str) -> str:
    name = "sales" if "/models/" in template else "loss"
    return template.replace("{id}", key).replace("{name}", name).replace("{number}", "1")


def traversals(scene: Scene, template: str, chance: random.Random, number: int) -> Iterator[bytes]:
    """Yield addresses made from one of a route in which each part may lead elsewhere."""
    outside = scene.place / "outside"
    goals = [
        "canary.txt", "outside/canary.txt", "outside%2fcanary.txt", "etc/passwd", "etc%2fpasswd", "link", "link.txt",
        "link/canary.txt", "first/link", str(outside / "canary.txt"), quote(str(outside / "canary.txt"), safe=""),
        "first/config.toml", "second/diagnosis.json", "__init__.py", "app.py", "", "canary.txt%00.html",
    ]  # fmt: skip
    query_names = ["search", "series", "columns", "column", "ids", "state", "sort", "path", "file", "name", "id"]
    for _ in range(number):
        evil = chance.choice(BEGINS) + "".join(
            chance.choice(TRAVERSALS) for _ in range(chance.choice([0, 1, 1, 2, 3, 4, 8]))
        ) + chance.choice(goals)  # fmt: skip
        if chance.random() < 0.1:
            evil = quote(evil, safe="")
        way = chance.random()
        if "{" in template and way < 0.6:
            places = [part for part in template.split("/") if part.startswith("{")]
            target = template.replace(chance.choice(places), evil)
            target = _filled(target, scene.ids_for(template)[0])
        else:
            target = _filled(template, scene.ids_for(template)[0])
            if way < 0.75:
                target = target.rstrip("/") + "/" + evil
            elif way < 0.85:
                parts = target.split("/")
                parts.insert(chance.randint(1, len(parts)), evil)
                target = "/".join(parts)
            elif way < 0.9:
                target = evil
        if way >= 0.9:
            target += f"?{chance.choice(query_names)}={evil}"
        yield target.encode()


def send_all(scene: Scene, number: int, seed: int) -> None:
    chance = random.Random(seed)
    for verb, target, options in requests(scene, chance, number):
        scene.check(scene.client.request(verb, target, **options), (verb, target, options))
    scene.check_unchanged()
    # The requests went where they were meant to go, and not only to the front door.
    assert scene.statuses[200] > number // 5, scene.statuses
    assert {401, 404, 405, 421, 422} <= set(scene.statuses), scene.statuses


def traverse_all(scene: Scene, number: int, seed: int) -> None:
    for template in ["/", "/api/openapi.json", *scene.described]:
        chance = random.Random(f"{seed} {template}")
        methods = scene.described.get(template, {"get": None})
        for target in traversals(scene, template, chance, number):
            verb = "POST" if "post" in methods and chance.random() < 0.9 else "GET"
            scene.check(scene.client.request(verb, target), (verb, target))
    scene.check_unchanged()
    assert 404 in scene.statuses


def test_generated_requests_do_no_harm(scene: Scene) -> None:
    send_all(scene, 2_000, seed=1)


def test_traversal_paths_are_refused(scene: Scene) -> None:
    traverse_all(scene, 100, seed=1)


@pytest.mark.soak
def test_many_generated_requests_do_no_harm(scene: Scene) -> None:
    send_all(scene, 20_000, seed=2)


@pytest.mark.soak
def test_many_traversal_paths_are_refused(scene: Scene) -> None:
    traverse_all(scene, 2_000, seed=2)


def test_the_canary_would_be_noticed(scene: Scene) -> None:
    with pytest.raises(AssertionError):
        scene.check(Reply(200, [(b"content-security-policy", b"x")], b"..." + scene.canary), "")
    os.truncate(scene.root / "first" / "lock", 1)
    with pytest.raises(AssertionError):
        scene.check_unchanged()
