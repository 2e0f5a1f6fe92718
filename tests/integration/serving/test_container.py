"""The requirements of the container are enough: a fresh environment with them, and the wheel without dependencies."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
import venv
from pathlib import Path

import pytest

from tests.integration.serving.small_graph import INPUT_SIZE, expected, write_graph

ROOT = Path(__file__).parents[3]
LEFT_OUT = ("torch", "polars", "pydantic", "typer", "scipy", "starlette", "fastapi", "onnx")


def install(python: Path, *what: str, directory: Path) -> None:
    """Install packages, outside of the source tree; skip where the index cannot be reached."""
    command = [str(python), "-m", "pip", *what]
    ended = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False, timeout=600)
    unreachable = re.search(r"Could not find a version|ConnectionError|Max retries|Temporary failure", ended.stderr)
    if ended.returncode and unreachable:
        pytest.skip(f"the package index is not reachable: {ended.stderr.strip().splitlines()[-1]}")
    assert ended.returncode == 0, ended.stderr


@pytest.mark.long
def test_server_runs_with_the_requirements_of_the_container_alone(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
    install(Path(sys.executable), "wheel", "--no-deps", "--wheel-dir", str(tmp_path), str(source), directory=tmp_path)
    venv.create(tmp_path / "environment", with_pip=True)
    python = tmp_path / "environment" / "bin" / "python"
    install(python, "install", "-r", str(ROOT / "containers" / "requirements.txt"), directory=tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    install(python, "install", "--no-deps", str(wheel), directory=tmp_path)

    missing = f"import importlib.util as u; print([n for n in {LEFT_OUT!r} if u.find_spec(n)])"
    found = subprocess.run([str(python), "-c", missing], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"

    model = write_graph(tmp_path / "sales.onnx")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    command = [str(python), "-m", "neuro_divergent.serving", str(model), "--port", "0"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        address = re.search(r"http://\S+", process.stdout.readline().decode())
        assert address is not None, process.stderr.read().decode()
        history = [float(value) for value in range(INPUT_SIZE)]
        body = json.dumps({"series": [{"id": "A", "end": "2024-01-31T23:00:00", "y": history}]}).encode()
        request = urllib.request.Request(f"{address[0]}forecast", body, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=20) as response:
            assert json.load(response)["series"][0]["forecast"] == expected(history)
        for path in ("docs", "openapi.json", "metrics", "v2/models/sales"):
            with urllib.request.urlopen(f"{address[0]}{path}", timeout=20) as response:
                assert response.status == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert process.stderr.read().decode().count("\n") == 1


def test_nothing_but_the_requirements_is_imported_to_serve_a_file(tmp_path: Path) -> None:
    model = write_graph(tmp_path / "sales.onnx")
    code = f"""
import sys
import neuro_divergent.serving.__main__
import neuro_divergent.serving.server.server
from neuro_divergent.serving.server.source_address import SourceReader
from pathlib import Path
SourceReader(Path("cache")).read([{str(model)!r}])[0].load()
print([name for name in {LEFT_OUT!r} if name in sys.modules])
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "[]"
