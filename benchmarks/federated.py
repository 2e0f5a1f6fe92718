"""What a federation costs: clients in one process, rounds over HTTPS, and the utility that a privacy budget leaves.

python benchmarks/federated.py speed        100 clients, 50 rounds of 5 local epochs of NLinear, on one core
python benchmarks/federated.py overhead     a round over HTTPS with 3 client processes that have nothing to do
python benchmarks/federated.py utility      errors with and without a budget, 100 and 1,000 generated clients
python benchmarks/federated.py real --data DIR    stores, markets and regions as clients
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import socket
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import neuro_divergent as nd

HORIZON, INPUT_SIZE = 12, 48
_MOST = 100  # series of a real table that are clients
RESULTS = Path(__file__).parent / "federated_results.json"


def generated(client: int, rows: int = 135) -> pl.DataFrame:
    """Return a series of 64 training windows: a season of its own phase and two harmonics, and noise."""
    random, time_ = np.random.default_rng([7, client]), np.arange(rows)
    wave = sum(np.sin(2 * np.pi * k * (time_ + random.uniform(0, 12)) / 12) / k for k in (1, 2))
    values = 10 + 3 * wave + random.normal(0, 0.5, rows)
    return pl.DataFrame({"unique_id": "s", "ds": time_, "y": values})


def federation(clients: int, rounds: int = 50, **settings: Any) -> nd.federated.Federation:
    """Return a federation of generated clients."""
    model = nd.Forecaster(
        nd.NLinear(), horizon=HORIZON, input_size=INPUT_SIZE, validation=12, loss=nd.losses.MSE(),
        training=nd.TrainingConfig(optimizer=nd.optimizers.AdamW(lr=3e-3), batch_size=32, threads=1),
    )  # fmt: skip
    made = nd.federated.Federation(model, rounds=rounds, **{"local_epochs": 5, **settings})
    for number in range(clients):
        made.add_client(f"client-{number:04d}", generated(number))
    return made


def speed(_: argparse.Namespace) -> dict[str, Any]:
    """Time 100 clients in one process, in processor seconds."""
    made = federation(100)
    began, cpu = time.perf_counter(), time.process_time()
    made.fit()
    found = {"seconds": time.perf_counter() - began, "processor_seconds": time.process_time() - cpu}
    print(f"100 clients, 50 rounds, 5 local epochs: {found['processor_seconds']:.1f} processor seconds (goal 15)")
    return found


def _serve(directory: Path, config: dict[str, Any], port: int) -> None:
    from neuro_divergent.federated.transport.https.remote_server import RemoteServer

    made = nd.federated.FederationConfig.from_dict(config)
    RemoteServer(made, directory / "run", directory / "server", host="127.0.0.1", port=port, farewell=10).run()


def _take_part(directory: Path, name: str, number: int, port: int) -> None:
    from neuro_divergent.federated.transport.https.remote_client import RemoteClient

    RemoteClient(f"https://127.0.0.1:{port}", directory / name, generated(number)).run()


def overhead(_: argparse.Namespace) -> dict[str, Any]:
    """Time rounds over HTTPS with 3 client processes, and the same training in process."""
    from neuro_divergent.federated.round_log import read_rows
    from neuro_divergent.federated.transport.https.certificates import Authority

    names, rounds = ["client-0000", "client-0001", "client-0002"], 60
    settings = {"rounds": rounds, "local_epochs": 1, "local_steps": 1, "vectorize": False}
    directory = Path(tempfile.mkdtemp())
    authority = Authority(directory / "authority")
    authority.issue_server(directory / "server", ["127.0.0.1"])
    for name in names:
        authority.issue_client(directory / name, name)
    config = federation(0, **settings).config.replace(clients=dict.fromkeys(names, ""))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_serve, args=(directory, config.to_dict(), port))]
    processes += [context.Process(target=_take_part, args=(directory, name, n, port)) for n, name in enumerate(names)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(300)
    rows = read_rows(directory / "run" / "rounds.jsonl")[10:]
    starts = [row["time"] for row in rows]
    remote = np.median(np.diff(starts))
    inside = federation(3, **settings)
    inside.fit(run=directory / "inside")
    rows = read_rows(directory / "inside" / "rounds.jsonl")[10:]
    local = np.median(np.diff([row["time"] for row in rows]))
    found = {"https_ms": 1e3 * float(remote), "in_process_ms": 1e3 * float(local)}
    print(
        f"a round of one step with 3 clients: {found['https_ms']:.1f} ms over HTTPS, {found['in_process_ms']:.1f} ms "
        f"in process: {found['https_ms'] - found['in_process_ms']:.1f} ms overhead (goal 50)"
    )
    return found


def _error(made: nd.federated.Federation) -> float:
    """Return the mean squared error on the rows held out, mean over clients."""
    rows = made.evaluate()
    return float((rows["rmse"] ** 2).mean())  # type: ignore[arg-type]


def utility(_: argparse.Namespace) -> dict[str, Any]:
    """Compare errors at epsilon 1 with those without privacy."""
    found: dict[str, Any] = {}
    for clients, clips in ((100, (0.03, 0.04, 0.06)), (1000, (0.06, 0.12))):
        plain = _error(federation(clients, participation=0.8).fit())
        errors = {}
        for clip in clips:
            privacy = nd.privacy.ClientLevel(epsilon=1.0, delta=1e-5, clip_norm=clip)
            errors[clip] = _error(federation(clients, participation=0.8, privacy=privacy).fit())
            print(f"{clients} clients, clip {clip}: MSE {errors[clip]:.4f}, without privacy {plain:.4f}", flush=True)
        best = min(errors.values())
        print(f"{clients} clients, epsilon 1: {best / plain:.2f} times the error without privacy", flush=True)
        found[str(clients)] = {"plain": plain, "private": errors, "ratio": best / plain}
    return found


def _real_tables(data: Path) -> dict[str, tuple[pl.DataFrame, dict[str, Any]]]:
    electricity = pl.read_parquet(data / "monash_electricity_weekly.parquet")
    m3 = pl.read_parquet(data / "m3_monthly_train.parquet")
    labour = pl.read_parquet(data / "hier_labour.parquet")
    return {
        "electricity weekly, 100 households": (electricity, {"horizon": 8, "input_size": 52, "test": 16}),
        "M3 monthly, 100 series": (
            m3,
            {"horizon": 18, "input_size": 24, "test": 18},
        ),
        "labour, regions": (labour, {"horizon": 12, "input_size": 24, "test": 24}),
    }


def real(options: argparse.Namespace) -> dict[str, Any]:
    """Compare local, federated, private and central models on public tables, each series a client."""
    found: dict[str, Any] = {}
    for title, (rows, task) in _real_tables(options.data).items():
        table = rows.select(pl.col("unique_id").cast(pl.String), "ds", "y").drop_nulls()
        table = table.filter(
            pl.col("unique_id").is_in(table["unique_id"].unique(maintain_order=True)[:_MOST].to_list())
        )
        training = nd.TrainingConfig(optimizer=nd.optimizers.AdamW(lr=1e-3), max_steps=500, threads=1)

        forecaster = nd.Forecaster(nd.NLinear(), training=training, refit=False, **task)
        plain = _train(forecaster, table)
        scores = plain.evaluate(local=True)
        by_model = {name: _mean(some) for (name,), some in scores.group_by(["model"])}
        row = {"clients": len(plain.clients), "local only": by_model["local"], "federated": by_model["global"]}
        for epsilon in (8.0, 3.0, 1.0):
            budgets = [nd.privacy.ClientLevel(epsilon=epsilon, delta=1e-5, clip_norm=clip) for clip in (0.02, 0.05)]
            errors = [_mean(_train(forecaster, table, privacy=budget).evaluate()) for budget in budgets]
            row[f"epsilon {epsilon:g}"] = min(errors)
        row["central"] = _mean(nd.evaluate(forecaster.clone().fit(table)).per_series)
        found[title] = row
        print(title, {name: round(value, 3) for name, value in row.items()}, flush=True)
    return found


def _train(forecaster: nd.Forecaster, table: pl.DataFrame, **settings: Any) -> nd.federated.Federation:
    made = nd.federated.Federation(forecaster, rounds=30, local_epochs=2, participation=0.8, **settings)
    return made.add_clients(table).fit()


def _mean(scores: pl.DataFrame) -> float:
    """Return the mean MASE over clients."""
    return float(scores["mase"].fill_nan(None).drop_nulls().mean())  # type: ignore[arg-type]


def main() -> None:
    """Measure what the command line names, and keep it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["speed", "overhead", "utility", "real"])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    options = parser.parse_args()
    found = globals()[options.what](options)
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    RESULTS.write_text(json.dumps({**known, options.what: found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
