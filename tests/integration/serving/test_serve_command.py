"""``nd serve`` takes its options, says where it listens, and ends with 0."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

from tests.integration.serving.small_graph import write_graph

COMMAND = [sys.executable, "-m", "neuro_divergent", "serve"]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}


def test_command_serves_a_file_until_sigterm(tmp_path: Path) -> None:
    model = write_graph(tmp_path / "sales.onnx")
    command = [*COMMAND, str(model), "--port", "0", "--limit", "series=5", "--poll", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline().decode()
        match = re.search(r"Serving sales at (http://127.0.0.1:\d+/)", line)
        assert match is not None, process.stderr.read().decode()
        with urllib.request.urlopen(f"{match[1]}openapi.json", timeout=20) as response:
            assert b'"maxItems":5' in response.read()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert b"sales: serving version" in process.stderr.read()


def test_mistakes_are_one_line_and_exit_code_2(tmp_path: Path) -> None:
    model = str(write_graph(tmp_path / "sales.onnx"))
    for arguments, message in (
        ([model, "--limit", "serie=4"], "Did you mean 'series'"),
        ([model, "--host", "0.0.0.0"], "give a token"),
    ):
        ended = subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, check=False, env=ENVIRONMENT)
        assert ended.returncode == 2
        assert ended.stderr.count("\n") == 1
        assert message in ended.stderr
