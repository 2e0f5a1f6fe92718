"""A notebook in a kernel of its own: objects show themselves, progress is one output, figures are inline."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("ipykernel")
nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("plotly")

CELLS = {
    "begin": "import neuro_divergent as nd\nfrom neuro_divergent.core import progress_display\n"
    "progress_display._PATIENCE = progress_display._BETWEEN['notebook'] = 0.0\nnd.show_progress()",
    "unfitted": "training = nd.TrainingConfig(max_steps=200, threads=1)\n"
    "forecaster = nd.Forecaster('nlinear', horizon=12, training=training)\nforecaster",
    "fit": "forecaster.fit(nd.datasets.air_passengers())",
    "plot": "forecaster.plot()",
    "cross-validation": "table = nd.datasets.air_passengers()\n"
    "result = nd.cross_validate(forecaster.clone(), table, refit=False)\nresult",
    "comparison": "nd.compare(result)",
    "own class": "import torch\n"
    "@nd.register('of_a_cell')\n"
    "class OfACell(nd.models.Architecture):\n"
    "    traits = nd.models.Traits(family='linear')\n"
    "    def network(self, spec):\n"
    "        return Network(spec)\n"
    "class Network(torch.nn.Module):\n"
    "    def __init__(self, spec):\n"
    "        super().__init__()\n"
    "        self.head = torch.nn.Linear(spec.input_size, spec.horizon)\n"
    "    def forward(self, batch):\n"
    "        return self.head(batch.past_y.transpose(1, 2)).transpose(1, 2)[..., None]\n"
    "own = nd.Forecaster('of_a_cell', horizon=12, training=nd.TrainingConfig(max_steps=20))\n"
    "own.fit(nd.datasets.air_passengers())",
    "two processes": "try:\n"
    "    nd.cross_validate(own.clone(), nd.datasets.air_passengers(), jobs=2)\n"
    "except nd.errors.InputError as error:\n"
    "    message = str(error)\n"
    "message",
    "error": "nd.Forecaster('nlinear', horizon=12).fit('sales.csv')",
}


@pytest.fixture(scope="module")
def outputs() -> dict[str, list[dict[str, Any]]]:
    """Execute the cells, and return what each of them shows."""
    cells = [nbformat.v4.new_code_cell(source) for source in CELLS.values()]
    cells[-1].metadata["tags"] = ["raises-exception"]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    return {name: cell.outputs for name, cell in zip(CELLS, notebook.cells, strict=True)}


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # of the kernel's client, whatever its version says
def test_a_notebook_shows_objects_progress_and_figures(outputs: dict[str, list[dict[str, Any]]]) -> None:
    kinds = {name: [item["output_type"] for item in found] for name, found in outputs.items()}
    assert not [name for name, found in kinds.items() if set(found) & {"stream", "error"} and name != "error"]
    for name in ("unfitted", "fit", "cross-validation", "comparison", "own class"):
        assert "text/html" in outputs[name][-1]["data"], name
    # One output for each training, which stays as its result.
    assert kinds["fit"] == ["display_data", "display_data", "execute_result"]
    lines = [item["data"]["text/plain"] for item in outputs["fit"][:-1]]
    assert lines[0].startswith("Training: ")
    assert lines[1].startswith("Training on all rows: ")
    assert kinds["cross-validation"] == ["display_data", "execute_result"]
    assert outputs["cross-validation"][0]["data"]["text/plain"].startswith("Cross-validation: 5 folds in ")
    figure = outputs["plot"][-1]["data"]
    assert figure["image/svg+xml"].startswith("<svg")
    assert figure["application/vnd.plotly.v1+json"]["data"]
    message = outputs["two processes"][-1]["data"]["text/plain"]
    assert "other processes do not have what a notebook" in message
    traceback = outputs["error"][-1]["traceback"]
    assert traceback[-1] == "DataError: sales.csv: not found"
    assert len(traceback) <= 4
