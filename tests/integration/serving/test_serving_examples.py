"""The examples of serving: what can run here runs, what cannot is compiled, or compared with the model."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.serving.server_process import running
from tests.integration.serving.small_graph import INPUT_SIZE, digest_of, expected, write_graph

EXAMPLES = Path(__file__).parents[3] / "examples" / "serving"


def test_python_client_and_curl_lines_get_forecasts(graph: Path) -> None:
    with running(graph, options=["--poll", "0"]) as server:
        address = f"http://127.0.0.1:{server.port}"
        client = subprocess.run(
            [sys.executable, EXAMPLES / "client.py", address], capture_output=True, text=True, check=True
        )
        history = [float(50 + place % 24) for place in range(INPUT_SIZE)]
        assert client.stdout.strip() == f"{digest_of(0)[:12]} {expected(history)}"
        curl = subprocess.run(
            ["sh", EXAMPLES / "curl.sh", address, "mean", str(INPUT_SIZE)], capture_output=True, text=True, check=True
        )
        first = json.loads(curl.stdout.splitlines()[0])
        assert first["series"][0]["forecast"] == expected([float(value) for value in range(1, INPUT_SIZE + 1)])[:1]
        assert 'nd_requests_total{route="/models/{name}/forecast",status="200"} 2' in curl.stdout


@pytest.mark.long
def test_mlflow_loads_the_pyfunc_and_forecasts(tmp_path: Path) -> None:
    pytest.importorskip("mlflow")
    model = write_graph(tmp_path / "model.onnx")
    environment = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true"}
    history = [float(value) for value in range(INPUT_SIZE)]
    subprocess.run(
        [sys.executable, EXAMPLES / "mlflow_model.py", model, "saved"], cwd=tmp_path, check=True, env=environment,
        capture_output=True,
    )  # fmt: skip
    code = (
        "import json, mlflow; model = mlflow.pyfunc.load_model('saved'); "
        f"print(json.dumps(model.predict([{{'id': 'A', 'end': '2024-01-31T23:00:00', 'y': {history}}}])))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, check=True, env=environment, capture_output=True, text=True
    )
    (forecast,) = json.loads(ended.stdout.strip().splitlines()[-1])
    assert forecast["forecast"] == expected(history)
    assert forecast["times"][0] == "2024-02-01T00:00:00"


def test_bentoml_service_compiles_and_uses_the_names_of_the_package() -> None:
    """BentoML is not installed here."""
    tree = ast.parse((EXAMPLES / "bentoml_service.py").read_text())
    compile(tree, "bentoml_service.py", "exec")
    from neuro_divergent.serving import ExportedModel, load

    assert callable(load)
    assert callable(ExportedModel.forecast)


def test_triton_configuration_names_the_tensors_of_the_graph() -> None:
    """Triton is not installed here; the names, types and dimensions are those of a model with 96 and 24 steps."""
    from neuro_divergent.serving.server.tensors import input_specs, output_specs
    from tests.integration.serving.small_graph import describe

    description = describe(input_size=96, horizon=24)
    text = (EXAMPLES / "triton" / "sales" / "config.pbtxt").read_text()
    found = {
        name: (kind, tuple(map(int, dims.split(","))))
        for name, kind, dims in re.findall(r'name: "(\w+)" data_type: TYPE_(\w+) dims: \[ ([\d, ]+) \]', text)
    }
    specs = (*input_specs(description), output_specs(description)[0])
    assert found == {spec.name: (spec.datatype, spec.shape) for spec in specs}
