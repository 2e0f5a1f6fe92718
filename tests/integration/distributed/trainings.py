"""Short trainings that one process and several must end with the same weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

import neuro_divergent as nd
from neuro_divergent.core.spec import Batch, TaskSpec
from neuro_divergent.losses.base import Loss
from neuro_divergent.models.base import Architecture
from tests.contracts import test_architectures, test_losses

STEPS = 10
ROWS = (7, 6, 5, 1, 7)  # of batches: odd ones are dealt out unevenly, and one row is too few for two processes
ARCHITECTURES = [
    name
    for name in test_architectures.CASES
    if name != "timellm"  # Hugging Face writes the tiny language model of the tests in the first process only
    and "dropout" not in test_architectures.VARIANTS.get(name, ("", {}))[1]
    and "stochastic" not in name
]
DRAWING = {"informer with layer norm", "softs", "sharp softs", "autoformer"}
"""Which every process trains in its own way: they draw random numbers, and the last one chooses lags by its batch."""
OPTIONS: dict[str, dict[str, Any]] = {
    "accumulation": {"accumulate": 2},
    "accumulation in float64": {"accumulate": 3, "gradient_sum": "float64"},
    "clipping": {"clip": nd.ClipNorm(0.05)},
    "clipping by value": {"clip": {"name": "value", "limit": 0.01}},
    "penalties": {"l1": 0.01, "l2": 0.1},
    "moving average": {"average": "ema"},
    "average at the end": {"average": "swa"},
    "early stopping": {"early_stopping": {"patience": 1, "min_delta": 10.0}, "validate_every": 2},
    "curriculum of horizons": {"curriculum": "horizon"},
    "curriculum of losses": {"curriculum": {"name": "easy_first", "start": 0.4}},
    "curriculum of roughness": {"curriculum": {"name": "easy_first", "start": 0.4, "by": "roughness"}},
    "plateau schedule": {"schedule": {"name": "plateau", "patience": 1}, "validate_every": 2},
    "frozen": {"freeze": {"pattern": "*bias*"}},
    "unfrozen later": {"freeze": {"pattern": "*bias*", "until": 1}},
    "recomputation": {"recompute": 1},
    "order of time": {"shuffle": False},
    "static graph": {"strategy": {"name": "data_parallel", "static_graph": True}},
    "no bucket view": {"strategy": {"name": "data_parallel", "bucket_view": False}},
    "central differences": {"gradient": "central", "max_steps": 2},
    "gradient noise": {"gradient_noise": {"eta": 0.1}},
    "lion": {"optimizer": "lion"},
    "lookahead": {"optimizer": {"name": "lookahead"}},
    "muon": {"optimizer": "muon"},
}


def batches_of(spec: TaskSpec, loss: Loss | None = None, *, counts: tuple[int, ...] = ROWS) -> list[Batch]:
    """Return batches of several sizes with missing targets and uneven weights, in float64."""
    made = []
    for seed, rows in enumerate(counts):
        batch = test_architectures.example(spec, rows, missing=0.2, seed=seed)
        random = torch.Generator().manual_seed(seed)
        shape = (rows, spec.horizon, spec.channels)
        mask = (torch.rand(shape, generator=random) > 0.3).double()
        mask[:, 0] = 1.0
        weight = torch.rand(rows, spec.horizon, 1, generator=random, dtype=torch.float64) * 3
        target = batch.future_y
        if loss is not None and not (loss.traits.accepts_scaled and not loss.traits.requires_original_scale):
            target = test_losses.targets(loss, *shape)
        made.append(_double(batch)._replace(future_y=_as_double(target), future_mask=mask, weight=weight))
    return made


def train(module: nn.Module, loss: Any, batches: Any, **settings: Any) -> dict[str, Any]:
    """Train for some steps, and return weights, rows and how it ended."""
    usual = {"max_steps": STEPS, "threads": 1, "validate_every": 5, "log_every": 5, "precision": "float64", "seed": 3}
    trainer = nd.Trainer(module.double(), loss, nd.TrainingConfig(**{**usual, **settings}))
    trainer.fit(batches, batches)
    rows = [{key: row[key] for key in _ROW if row.get(key) is not None} for row in trainer.history.rows]
    weights = {name: value.flatten().tolist() for name, value in trainer.module.state_dict().items()}
    return {"weights": weights, "rows": rows, "step": trainer.state.step}


def of_architecture(name: str) -> dict[str, Any]:
    """Train an architecture without dropout."""
    spec = test_architectures.task(name, channels=3 if test_architectures.small(name).traits.mixes_channels else 1)
    torch.manual_seed(0)
    return train(without_dropout(test_architectures.small(name)).build(spec), nd.losses.MSE(), batches_of(spec))


def of_loss(place: int) -> dict[str, Any]:
    """Train a small network with one of the losses."""
    name, settings = test_losses.SETTINGS[place]
    loss = Loss.from_dict({"name": name, **settings})
    spec = TaskSpec(4, 12, channels=1, outputs=loss.outputs)
    torch.manual_seed(0)
    return train(nd.MLP(hidden_size=8).build(spec), loss, batches_of(spec, loss))


def of_option(name: str) -> dict[str, Any]:
    """Train a small network with some other setting."""
    spec = TaskSpec(4, 12)
    torch.manual_seed(0)
    return train(nd.MLP(hidden_size=8).build(spec), nd.losses.MSE(), batches_of(spec), **OPTIONS[name])


def of_table() -> dict[str, Any]:
    """Train a forecaster on a table, twice as usual, and return what it forecasts."""
    from neuro_divergent.data.datasets.synthetic import Synthetic

    training = nd.TrainingConfig(max_steps=30, precision="float64", threads=1, batch_size=37)
    forecaster = nd.Forecaster(nd.NHITS(hidden_size=16), horizon=4, input_size=12, training=training, stride=1)
    forecaster.fit(Synthetic(num_series=3, length=80, noise=0.3).frame())
    return {
        "forecasts": forecaster.predict()["forecast"].to_list(),
        "history": forecaster.history["train_loss"].to_list(),
    }


def of_tensors() -> dict[str, Any]:
    """Train on tensors, of which the last batch has one row, with a function that is none of our losses."""
    random = torch.Generator().manual_seed(1)
    inputs = torch.randn(33, 3, generator=random, dtype=torch.float64)
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    return train(network, nn.functional.mse_loss, (inputs, inputs.sin().sum(1, keepdim=True)), batch_size=16)


def of_data_loader() -> dict[str, Any]:
    """Train on a shuffling ``DataLoader`` and return the order in which rows came, as this process saw them."""
    data = torch.utils.data.TensorDataset(torch.arange(12.0).double()[:, None], torch.arange(12.0).double()[:, None])
    seen: list[list[float]] = []

    class Recorder(nn.Linear):
        def forward(self, inputs: Tensor) -> Tensor:
            if self.training:
                seen.append(inputs.flatten().tolist())
            return super().forward(inputs)

    torch.manual_seed(0)
    train(Recorder(1, 1), nd.losses.MSE(), torch.utils.data.DataLoader(data, batch_size=5, shuffle=True), max_steps=6)
    return {"seen": seen}


def all_of(kind: str, names: list[Any]) -> dict[str, Any]:
    """Train all cases of a kind, one after the other."""
    made = {"architecture": of_architecture, "loss": of_loss, "option": of_option}[kind]
    return {str(name): made(name) for name in names}


def without_dropout(architecture: Architecture) -> Architecture:
    """Return an architecture that draws no random numbers for dropout."""
    return architecture.replace(**{key: 0.0 for key in type(architecture).model_fields if "dropout" in key})


_ROW = ("step", "train_loss", "gradient_norm", "learning_rate", "validation_loss")


def _double(batch: Batch) -> Batch:
    return Batch(*(_as_double(item) for item in batch))


def _as_double(item: Any) -> Any:
    return item.double() if isinstance(item, Tensor) and item.is_floating_point() else item
