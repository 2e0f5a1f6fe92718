"""Federations in one process."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

import neuro_divergent as nd
from neuro_divergent.federated.client import Client
from neuro_divergent.federated.round_log import read_rows
from neuro_divergent.federated.round_store import StoredRounds
from neuro_divergent.federated.shared_network import SharedNetwork
from neuro_divergent.federated.update import RoundTask, Update
from tests.contracts import test_architectures
from tests.unit.federated.tables import federation, forecaster, table


def weights_of(made: nd.federated.Federation) -> torch.Tensor:
    assert made._state is not None
    return made._state.weights


def digest(made: nd.federated.Federation) -> str:
    return hashlib.sha256(weights_of(made).numpy().tobytes()).hexdigest()


def full_batch(**changes: Any) -> dict[str, Any]:
    """Return settings with which a round is one step of gradient descent on all windows."""
    training = {
        "optimizer": nd.optimizers.SGD(lr=0.01, momentum=0.0), "clip": None, "batch_size": 100_000,
        "precision": "float64", "shuffle": False,
    }  # fmt: skip
    return {"training": training, "balance": 0, "stride": 3, **changes}


def has_batch_norm(architecture: Any) -> bool:
    spec = test_architectures.TaskSpec(horizon=4, input_size=8)
    return any(isinstance(part, torch.nn.modules.batchnorm._BatchNorm) for part in architecture.build(spec).modules())


def central_step(made: nd.federated.Federation) -> torch.Tensor:
    """Return the weights after one step of gradient descent on the windows of all clients together."""
    shared = made.shared
    network = shared.build().train()
    losses, counts = [], []
    for name in made.clients:
        client = made._clients[name]
        (batch,) = list(client.training.loader.epoch(0))
        trainer = client.training.trainer(network, 0)
        batch = trainer.precision.cast_batch(batch)
        from neuro_divergent.training.objective import Example

        torch.manual_seed(client.seed(1))
        losses.append(trainer.objective.mean(network(batch), Example.of(batch), 0.0))
        counts.append(client.examples)
    total = sum(loss * count for loss, count in zip(losses, counts, strict=True)) / sum(counts)
    gradients = torch.autograd.grad(total, list(network.parameters()), allow_unused=True)
    with torch.no_grad():
        for parameter, gradient in zip(network.parameters(), gradients, strict=True):
            if gradient is not None:
                parameter -= 0.01 * gradient
    return shared.layout.read(network)


ARCHITECTURES = [
    name
    for name in test_architectures.NAMES
    if not (made := test_architectures.small(name)).traits.mixes_channels and not has_batch_norm(made)
]


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_one_step_of_all_clients_is_the_step_on_their_windows_together(name: str) -> None:
    model = forecaster(test_architectures.small(name), **full_batch())
    made = federation(3, model, rounds=1, local_epochs=1)
    made.add_client("longer", table(7, rows=90))
    made.fit()
    expected = central_step(made)
    torch.testing.assert_close(weights_of(made), expected, rtol=0, atol=1e-12)


def test_one_client_alone_is_trained_as_by_the_trainer_itself() -> None:
    made = federation(1, rounds=1, local_epochs=3).fit()
    client = made._clients["client-0"]
    network = made.shared.build()
    client.training.trainer(network, client.seed(1)).fit(client.training.loader.reseeded(client.seed(1)))
    # An update has the type of the weights, so that one rounding lies between the two.
    torch.testing.assert_close(weights_of(made), made.shared.layout.read(network), rtol=0, atol=1e-7)


def test_the_order_in_which_clients_are_added_does_not_matter() -> None:
    first, second = (nd.federated.Federation(forecaster(), rounds=2, local_epochs=1, vectorize=False) for _ in range(2))
    for number in range(4):
        first.add_client(f"client-{number}", table(number))
        second.add_client(f"client-{3 - number}", table(3 - number))
    assert digest(first.fit()) == digest(second.fit())


def test_two_clients_with_the_series_of_one_give_the_same_step() -> None:
    together, apart = (
        nd.federated.Federation(forecaster(**full_batch()), rounds=1, local_epochs=1, vectorize=False) for _ in range(2)
    )
    both = table(0, series=2)
    together.add_client("both", both).add_client("other", table(3))
    for name in ("s0", "s1"):
        apart.add_client(name, both.filter(pl.col("unique_id") == name))
    apart.add_client("other", table(3))
    torch.testing.assert_close(weights_of(together.fit()), weights_of(apart.fit()), rtol=0, atol=1e-12)


def test_clients_that_are_trained_together_get_the_updates_that_each_gets_alone() -> None:
    alone, together = (
        federation(5, rounds=2, vectorize=how).add_client("longer", table(9, rows=90)).fit() for how in (False, True)
    )
    torch.testing.assert_close(weights_of(alone), weights_of(together), rtol=0, atol=1e-5)
    assert alone.rounds[-1]["loss"] == pytest.approx(together.rounds[-1]["loss"], rel=1e-4)


@pytest.mark.parametrize("name", ["fedprox", "scaffold", "fedbn"])
def test_clients_that_keep_or_add_something_are_not_trained_together(name: str) -> None:
    training = {"optimizer": nd.optimizers.SGD(lr=0.01, momentum=0.0)}
    with pytest.raises(nd.errors.ConfigError, match="vectorize"):
        federation(2, forecaster(training=training), aggregation=name, vectorize=True).fit()


def test_a_federation_that_is_stopped_goes_on_to_the_same_weights(tmp_path: Path) -> None:
    whole = federation(rounds=5).fit(run=tmp_path / "whole")
    for done in range(1, 6):
        part, seen = federation(rounds=5), []
        part.fit(run=tmp_path / "part", observe=seen.append, stops=partial(bool, seen))
        assert [row["round"] for row in seen] == [done]
    assert part.is_complete
    assert digest(whole) == digest(part)
    assert [row["round"] for row in read_rows(tmp_path / "part" / "rounds.jsonl")] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("name", ["scaffold", "fedbn", "fedadam"])
def test_what_clients_and_server_keep_survives_a_stop(name: str, tmp_path: Path) -> None:
    training = {"optimizer": nd.optimizers.SGD(lr=0.01, momentum=0.0)}
    architecture = nd.MLP(hidden_size=4, norm="batch") if name == "fedbn" else None

    def made() -> nd.federated.Federation:
        model = forecaster(architecture, training=training)
        return federation(model=model, rounds=4, aggregation=name, participation=0.5)

    whole, seen = made().fit(), []
    made().fit(run=tmp_path, observe=seen.append, stops=lambda: len(seen) >= 2)
    part = made().fit(run=tmp_path)
    assert digest(whole) == digest(part)


def test_a_federation_that_was_looked_at_before_keeps_the_state_of_its_clients_on_disk(tmp_path: Path) -> None:
    architecture = nd.MLP(hidden_size=4, norm="batch")

    def made() -> nd.federated.Federation:
        return federation(model=forecaster(architecture), rounds=4, aggregation="fedbn")

    whole, seen = made().fit(), []
    part = made()
    part._share()  # as what explains a budget does
    part.fit(run=tmp_path, observe=seen.append, stops=lambda: len(seen) >= 2)
    assert digest(made().fit(run=tmp_path)) == digest(whole)


def test_a_federation_that_is_trained_again_begins_anew() -> None:
    training = {"optimizer": nd.optimizers.SGD(lr=0.01, momentum=0.0)}
    made = federation(model=forecaster(training=training), aggregation="scaffold").fit()
    first = digest(made)
    assert digest(made.fit()) == first
    assert len(made.rounds) == 3


def test_a_row_of_a_round_that_was_not_committed_is_taken_out(tmp_path: Path) -> None:
    federation(rounds=2).fit(run=tmp_path)
    path = tmp_path / "rounds.jsonl"
    path.write_bytes(path.read_bytes() + b'{"round": 3}\n{"round": 4, "lo')
    federation(rounds=2).fit(run=tmp_path)
    assert [row["round"] for row in read_rows(path)] == [1, 2]
    assert path.read_bytes().count(b"\n") == 2


@pytest.mark.parametrize("left", [["lock"], ["lock", ".config.toml.partial-ab12"], ["lock", "config.toml"]])
def test_a_federation_killed_while_it_began_can_begin_again(left: list[str], tmp_path: Path) -> None:
    for name in left:
        (tmp_path / name).touch()
    federation(2, rounds=1).fit(run=tmp_path)
    assert len(read_rows(tmp_path / "rounds.jsonl")) == 1


def test_a_directory_with_files_of_others_is_refused_for_a_federation(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(nd.errors.InputError, match="is no federation"):
        federation(2, rounds=1).fit(run=tmp_path)


def test_other_settings_are_refused_for_a_directory_that_has_begun(tmp_path: Path) -> None:
    federation(rounds=1).fit(run=tmp_path)
    with pytest.raises(nd.errors.ConfigError, match="local_epochs"):
        federation(rounds=1, local_epochs=5).fit(run=tmp_path)


def test_a_client_that_joins_later_takes_part_from_then_on(tmp_path: Path) -> None:
    seen: list[Any] = []
    federation(2, rounds=3).fit(run=tmp_path, observe=seen.append, stops=lambda: len(seen) >= 1)
    federation(3, rounds=3).fit(run=tmp_path, observe=seen.append)
    assert [len(row["participants"]) for row in seen] == [2, 3, 3]


def test_participation_draws_the_same_clients_for_a_round_each_time() -> None:
    rows = [federation(8, rounds=4, local_epochs=1, participation=0.5).fit().rounds for _ in range(2)]
    drawn = [[row["participants"] for row in some] for some in rows]
    assert drawn[0] == drawn[1]
    assert all(len(names) == 4 for names in drawn[0])
    assert len({tuple(names) for names in drawn[0]}) > 1


def test_a_client_whose_training_diverges_does_not_count() -> None:
    huge = table(5).with_columns(y=pl.col("y") * 1e14)
    model = forecaster(scaler="identity", training={"optimizer": nd.optimizers.SGD(lr=1e20), "clip": None})
    made = nd.federated.Federation(model, rounds=1, local_epochs=2, vectorize=False)
    made.add_client("huge", huge).add_client("other", table(0))
    made.fit()
    assert "huge" in made.rounds[0]["refused"]


def test_a_round_with_too_few_updates_is_void_and_changes_nothing() -> None:
    made = federation(2, rounds=2, min_clients=3).fit()
    assert all(row["is_void"] for row in made.rounds)
    assert torch.equal(weights_of(made), made.shared.layout.rounded(made.shared.initial))


def test_examples_are_capped_by_max_examples() -> None:
    capped = federation(2, rounds=1, max_examples=1)
    capped.add_client("long", table(5, rows=400))
    equal = federation(2, rounds=1, weighting="equal")
    equal.add_client("long", table(5, rows=400))
    torch.testing.assert_close(weights_of(capped.fit()), weights_of(equal.fit()), rtol=0, atol=1e-12)


class Hostile(Client):
    """Sends ten times its update the other way."""

    def update(
        self, number: int, delta: torch.Tensor, loss: float | None, message: Mapping[str, torch.Tensor] | None = None
    ) -> Update:
        return super().update(number, -10 * delta, loss, message)


@pytest.mark.long
@pytest.mark.parametrize("name", ["median", "trimmed_mean", "krum", "multi_krum"])
def test_a_robust_rule_with_a_fifth_of_hostile_clients_is_within_five_percent_of_none(name: str) -> None:
    def final_error(hostile: int) -> float:
        made = federation(40, rows=120, rounds=30, local_epochs=2, aggregation=name, vectorize=True)
        made._share()
        for number in range(hostile):
            made._clients[f"client-{number}"].__class__ = Hostile
        made.fit()
        scores = made.evaluate().filter(~pl.col("client").is_in([f"client-{number}" for number in range(8)]))
        return float(scores["mae"].mean())  # type: ignore[arg-type]

    assert final_error(8) <= 1.05 * final_error(0)


def test_the_plain_mean_does_not_withstand_hostile_clients() -> None:
    made = federation(10, rounds=6)
    made._share()
    for number in range(2):
        made._clients[f"client-{number}"].__class__ = Hostile
    made.fit()
    clean = federation(10, rounds=6).fit()
    assert made.evaluate()["mae"].mean() > 2 * clean.evaluate()["mae"].mean()  # type: ignore[operator]


def test_an_update_above_the_largest_norm_is_refused() -> None:
    made = federation(3, rounds=1, max_norm=1e-9).fit()
    assert len(made.rounds[0]["refused"]) == 3
    assert "norm" in made.rounds[0]["refused"]["client-0"]


def test_what_leaves_a_client_does_not_depend_on_ids_times_and_level() -> None:
    shared = SharedNetwork(_settled(federation(1)))
    plain = table(0)
    other = plain.with_columns(unique_id=pl.lit("patient-4711"), ds=pl.col("ds") + 1000, y=(pl.col("y") - 64) * 2)
    updates = [Client("a", shared, data).train(RoundTask(1, shared.initial)) for data in (plain, other)]
    torch.testing.assert_close(updates[0].delta, updates[1].delta, rtol=0, atol=1e-4)


def _settled(made: nd.federated.Federation) -> nd.federated.FederationConfig:
    made._share()
    return made.config


def test_the_history_is_the_median_of_what_clients_would_choose() -> None:
    model = nd.Forecaster(nd.NLinear(), horizon=4, validation=8)
    made = nd.federated.Federation(model, rounds=1, local_epochs=1)
    for number, rows in enumerate((25, 60, 200)):
        made.add_client(f"client-{number}", table(number, rows=rows))
    made.fit()
    chosen = [nd.Task(horizon=4, validation=8).history_for(made._clients[name].prepared.panel) for name in made.clients]
    assert made.config.run.task.input_size == sorted(chosen)[1]


@pytest.mark.parametrize("name", ["itransformer", "tsmixer"])
def test_a_network_whose_shape_depends_on_the_series_is_refused(name: str) -> None:
    with pytest.raises(nd.errors.ConfigError, match="takes all series at once"):
        federation(model=forecaster(name)).fit()


def test_an_ensemble_is_refused() -> None:
    with pytest.raises(nd.errors.ConfigError, match="cannot be federated"):
        nd.federated.Federation(nd.Ensemble([forecaster(), forecaster()]))  # type: ignore[arg-type]


def test_categories_must_be_agreed_on() -> None:
    def with_kind(number: int) -> pl.DataFrame:
        return table(number).with_columns(kind=pl.lit("ab"[number]))

    def made(**options: Any) -> nd.federated.Federation:
        both = nd.federated.Federation(
            forecaster(nd.MLP(hidden_size=4)), schema={"static": "kind"}, rounds=1, local_epochs=1, **options
        )
        return both.add_client("one", with_kind(0)).add_client("two", with_kind(1))

    with pytest.raises(nd.errors.ConfigError, match="Agree on its values"):
        made().fit()
    assert made(categories={"kind": ["a", "b"]}).fit().is_complete


@pytest.mark.parametrize("data", [table(3, rows=5), table(3).drop("y")])
def test_an_error_about_data_names_the_client(data: pl.DataFrame) -> None:
    made = federation(1).add_client("small", data)
    with pytest.raises(nd.errors.DataError, match="client 'small'"):
        made.fit()


def test_clients_with_another_frequency_are_refused() -> None:
    made = federation(1)
    made.add_client("slow", table(3).with_columns(ds=2 * pl.col("ds")))
    with pytest.raises(nd.errors.ConfigError, match="frequency"):
        made.fit()


def test_a_client_gets_a_forecaster_with_its_own_intervals_and_context() -> None:
    made = federation(3, rounds=2).fit()
    one, two = (made.client(name).predict(levels=[80]) for name in ("client-0", "client-2"))
    assert one["forecast"].mean() == pytest.approx(10, abs=6)
    assert two["forecast"].mean() == pytest.approx(30, abs=6)
    widths = [float((some["hi-80"] - some["lo-80"]).mean()) for some in (one, two)]
    assert widths[0] != widths[1]


def test_the_global_model_holds_weights_and_settings_alone(tmp_path: Path) -> None:
    made = federation(3, rounds=2, personalization={"epochs": 2, "layers": ["*"]})
    made.add_client("with-a-name", table(5).with_columns(unique_id=pl.lit("patient-4711"))).fit()
    made.save(tmp_path / "model")
    content = b"".join(path.read_bytes() for path in (tmp_path / "model").iterdir())
    assert b"patient" not in content
    assert b"with-a-name" not in content
    loaded = nd.federated.GlobalModel.load(tmp_path / "model")
    assert loaded.rounds == 2
    newcomer = loaded.for_data(table(11)).predict()
    assert newcomer["forecast"].mean() == pytest.approx(120, abs=6)
    assert np.isfinite(loaded.for_data(table(11), personalize=True).predict()["forecast"].to_numpy()).all()


def test_a_damaged_global_model_is_refused(tmp_path: Path) -> None:
    federation(2, rounds=1).fit().save(tmp_path / "model")
    path = tmp_path / "model" / "federated.json"
    path.write_bytes(path.read_bytes().replace(b'"rounds": 1', b'"rounds": 7'))
    with pytest.raises(nd.errors.UntrustedFileError):
        nd.federated.GlobalModel.load(tmp_path / "model")


def test_scores_show_global_personal_and_local_models_side_by_side() -> None:
    made = federation(2, rounds=2, personalization={"epochs": 2}, rows=80).fit()
    scores = made.evaluate(local=True)
    assert scores.group_by("client").len()["len"].to_list() == [3, 3]
    assert set(scores["model"]) == {"global", "personal", "local"}
    assert scores["mae"].is_finite().all()


def test_personalization_leaves_other_layers_alone() -> None:
    architecture = nd.MLP(hidden_size=4, num_layers=2)
    made = federation(1, forecaster(architecture), rounds=1, personalization={"epochs": 3, "layers": ["*output*"]})
    names = [name for name, _ in made._share().network.named_parameters()]
    last = names[-1].rpartition(".")[0]
    made = federation(1, forecaster(architecture), rounds=1, personalization={"epochs": 3, "layers": [f"{last}.*"]})
    made.fit()
    plain, personal = (
        dict(made.client("client-0", personalize=how).fitted.predictor.network.named_parameters())
        for how in (False, True)
    )
    changed = {name for name in plain if not torch.equal(plain[name], personal[name])}
    assert changed
    assert all(name.startswith(f"{last}.") for name in changed)


def test_a_table_becomes_a_client_for_each_series_or_value_of_a_column() -> None:
    one = table(0, series=2).with_columns(shop=pl.lit("a b"))
    two = table(1).with_columns(shop=pl.lit("c"), unique_id=pl.lit("s9"))
    both = pl.concat([one, two])
    by_shop = nd.federated.Federation(forecaster()).add_clients(both, by="shop")
    by_series = nd.federated.Federation(forecaster()).add_clients(both)
    assert by_shop.clients == ["a-b", "c"]
    assert by_series.clients == ["s0", "s1", "s9"]


def test_settings_round_trip_through_toml() -> None:
    made = federation(1, aggregation=nd.federated.FedAdam(lr=0.1), deadline=3.0, participation=0.5)
    text = made.config.to_toml()
    assert nd.federated.FederationConfig.from_toml(text) == made.config


def test_a_damaged_round_is_refused(tmp_path: Path) -> None:
    federation(rounds=1).fit(run=tmp_path)
    path = tmp_path / "rounds" / "round-000001" / "weights.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(nd.errors.UntrustedFileError):
        StoredRounds(tmp_path / "rounds").latest()


def test_repr_of_a_federation_says_what_it_trains_and_how_far_it_is() -> None:
    made = federation(rounds=2, aggregation="median")
    named = f"Federation(nlinear, horizon=4, median, {len(made.clients)} clients"
    assert repr(made) == f"{named}, 0 of 2 rounds done)"
    assert repr(made.fit()) == f"{named}, 2 of 2 rounds done)"
