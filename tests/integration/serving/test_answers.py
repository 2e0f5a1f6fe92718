"""Answers over HTTP equal those of the model in this process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest

from neuro_divergent.serving.exported_model import load
from tests.integration.serving.server_process import TOKEN, ServerProcess, running
from tests.integration.serving.small_graph import HORIZON, INPUT_SIZE, digest_of, expected, write_graph

HISTORY = [3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0, 6.0]
REQUEST = {"series": [{"id": "A", "end": "2024-01-31T23:00:00", "y": HISTORY}], "levels": [80]}
LENGTH = "inference-header-content-length"


def test_json_answer_equals_that_of_the_model(server: ServerProcess, graph: Path) -> None:
    body = json.dumps(REQUEST).encode()
    answer = server.post("/forecast", body)
    assert answer.status == 200
    assert answer.body == load(graph).answer(body)
    assert answer.json()["series"][0]["forecast"] == expected(HISTORY)
    assert answer.headers["model-version"] == answer.json()["model_version"] == digest_of(0)
    assert server.post("/models/mean/forecast", body).body == answer.body


def test_json_of_many_series_equals_the_answers_one_by_one(server: ServerProcess) -> None:
    chance = np.random.default_rng(1)
    many = [{"id": f"s{place}", "y": chance.normal(50, 9, INPUT_SIZE).tolist()} for place in range(300)]
    together = server.post("/forecast", {"series": many}).json()["series"]
    assert len(together) == 300
    for sent, got in zip(many[:20], together[:20], strict=True):
        alone = server.post("/forecast", {"series": [sent]}).json()["series"][0]
        assert got["id"] == sent["id"]
        np.testing.assert_allclose(got["forecast"], alone["forecast"], rtol=1e-6)


def test_csv_in_gives_csv_out_with_the_values_of_json(server: ServerProcess) -> None:
    rows = [f"A,2024-01-01T{hour:02}:00:00,{value}" for hour, value in enumerate(HISTORY)]
    text = "\n".join(["unique_id,ds,y", *rows]).encode()
    answer = server.request("POST", "/forecast?levels=80&horizon=2", text, {"content-type": "text/csv"})
    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.headers["model-version"] == digest_of(0)
    header, *lines = answer.body.decode().splitlines()
    assert header == "unique_id,ds,forecast,lo-80,hi-80"
    assert [float(line.split(",")[2]) for line in lines] == pytest.approx(expected(HISTORY)[:2])
    as_json = server.request(
        "POST", "/forecast?levels=80&horizon=2", text, {"content-type": "text/csv", "accept": "application/json"}
    )
    assert as_json.json()["series"][0]["forecast"] == pytest.approx(expected(HISTORY)[:2])


def test_body_that_curl_calls_a_form_is_read_as_json_unless_a_page_of_another_origin_sends_it(
    server: ServerProcess,
) -> None:
    body, kind = json.dumps(REQUEST).encode(), {"content-type": "application/x-www-form-urlencoded"}
    assert server.request("POST", "/forecast", body, kind).body == server.post("/forecast", body).body
    assert server.request("POST", "/forecast", body, {**kind, "origin": "http://elsewhere.example"}).status == 403
    assert server.request("POST", "/forecast", body, {"content-type": "image/png"}).status == 415


def test_accept_header_gives_csv_for_json(server: ServerProcess) -> None:
    answer = server.post("/forecast", REQUEST, {"accept": "text/csv"})
    assert answer.body.decode().splitlines()[0] == "unique_id,ds,forecast,lo-80,hi-80"


def test_tensors_in_json_and_binary_equal_the_graph(server: ServerProcess, graph: Path) -> None:
    model = load(graph)
    values = np.random.default_rng(2).normal(20, 3, (5, INPUT_SIZE, 1)).astype(np.float32)
    mask = np.ones_like(values)
    mask[2, :3] = 0
    wanted = model.run({"past_y": values, "past_mask": mask})
    tensors = [
        {"name": name, "shape": [5, INPUT_SIZE, 1], "datatype": "FP32", "data": array.ravel().tolist()}
        for name, array in (("past_y", values), ("past_mask", mask))
    ]
    answer = server.post("/v2/models/mean/infer", {"id": "7", "inputs": tensors}).json()
    assert (answer["id"], answer["model_name"], answer["model_version"]) == ("7", "mean", digest_of(0))
    (output,) = answer["outputs"]
    assert output["shape"] == [5, HORIZON, 1, 4]
    np.testing.assert_array_equal(np.float32(output["data"]).reshape(output["shape"]), wanted)

    nested = [{**tensor, "data": np.reshape(tensor["data"], (5, INPUT_SIZE, 1)).tolist()} for tensor in tensors]
    again = server.post(f"/v2/models/mean/versions/{digest_of(0)}/infer", {"inputs": nested}).json()
    assert again["outputs"] == answer["outputs"]

    size = values.nbytes
    head = msgspec.json.encode(
        {
            "inputs": [
                {
                    **{key: tensor[key] for key in ("name", "shape", "datatype")},
                    "parameters": {"binary_data_size": size},
                }
                for tensor in tensors
            ],
            "outputs": [
                {"name": "point", "parameters": {"binary_data": True}},
                {"name": "quantiles", "parameters": {"binary_data": True}},
            ],
        }
    )
    body = head + values.tobytes() + mask.tobytes()
    binary = server.request(
        "POST", "/v2/models/mean/infer", body, {LENGTH: str(len(head)), "content-type": "application/octet-stream"}
    )
    length = int(binary.headers[LENGTH])
    described = msgspec.json.decode(binary.body[:length])
    numbers = np.frombuffer(binary.body[length:], "<f4")
    point, quantiles = (np.prod(item["shape"]) for item in described["outputs"])
    np.testing.assert_array_equal(numbers[:point].reshape(5, HORIZON, 1), wanted[..., 0])
    np.testing.assert_array_equal(numbers[point : point + quantiles].reshape(5, HORIZON, 1, 3), wanted[..., 1:])


def test_inference_protocol_describes_server_and_model(server: ServerProcess) -> None:
    assert "binary_tensor_data" in server.get("/v2").json()["extensions"]
    assert server.get("/v2/health/live").json() == {"live": True}
    assert server.get("/v2/health/ready").status == 200
    assert server.get("/v2/models/mean/ready").json() == {"name": "mean", "ready": True}
    about = server.get("/v2/models/mean").json()
    assert about["versions"] == [digest_of(0)]
    assert about == server.get(f"/v2/models/mean/versions/{digest_of(0)}").json()
    assert about["inputs"][0] == {"name": "past_y", "datatype": "FP32", "shape": [-1, INPUT_SIZE, 1]}
    assert server.get("/v2/models/mean/versions/1").status == 404
    assert server.get("/v2/models/other").json().keys() == {"error", "detail"}


def test_several_models_are_served_by_name(graph: Path, tmp_path: Path) -> None:
    second = write_graph(tmp_path / "second.onnx", version=2)
    with running(f"one={graph}", second, options=["--poll", "0"]) as server:
        for name, version in (("one", 0), ("second", 2)):
            answer = server.post(f"/models/{name}/forecast", REQUEST).json()
            assert (answer["model"], answer["model_version"]) == (name, digest_of(version))
            assert answer["series"][0]["forecast"] == expected(HISTORY, version)
        refused = server.post("/forecast", REQUEST)
        assert refused.status == 404
        assert "POST /models/NAME/forecast" in refused.json()["detail"]
        assert [model["name"] for model in server.get("/models").json()["models"]] == ["one", "second"]


def test_metrics_count_requests_series_and_values_outside_training(graph: Path) -> None:
    with running(graph, options=["--poll", "0"]) as server:
        server.post("/forecast", {"series": [{"y": HISTORY}, {"y": [5000.0, *HISTORY[1:]]}]})
        server.post("/forecast", {"series": []})
        assert server.metric("nd_requests_total", route="/forecast", status="200") == 1
        assert server.metric("nd_requests_total", route="/forecast", status="400") == 1
        assert server.metric("nd_rejected_total", reason="input") == 1
        assert server.metric("nd_series_total") == 2
        assert server.metric("nd_series_outside_training_range_total", model="mean") == 1
        assert server.metric("nd_batch_size_count") == 1
        assert server.metric("nd_request_seconds_count", route="/forecast") == 2
        assert server.metric("nd_model_info", version=digest_of(0)) == 1


def test_two_models_of_one_name_are_refused_before_the_server_starts(graph: Path) -> None:
    with pytest.raises(AssertionError, match="two models have this name"), running(graph, graph):
        pass


def test_token_opens_the_reload_on_this_machine(server: ServerProcess) -> None:
    assert server.post("/admin/reload", b"").status == 401
    answer = server.post("/admin/reload", b"", {"authorization": f"Bearer {TOKEN}"})
    assert answer.status == 200
    assert answer.json()["models"][0]["problem"] is None


def test_path_of_an_exported_file_is_served_from_python(graph: Path) -> None:
    script = (
        "import neuro_divergent as nd\n"
        "settings = nd.serving.ServerSettings(port=0)\n"
        f"nd.serving.serve(settings, [{str(graph)!r}], ready=lambda found: print(found.port, flush=True))"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        try:
            server = ServerProcess(process, int(process.stdout.readline()), [])
            assert server.post("/models/mean/forecast", REQUEST).json()["series"][0]["forecast"] == expected(HISTORY)
        finally:
            process.terminate()
