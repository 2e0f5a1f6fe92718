"""Tables as people have them, from the file to a forecast."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import neuro_divergent as nd
from neuro_divergent.core.errors import DataWarning
from neuro_divergent.interfaces.cli.main import app

DAYS = [date(2024, 1, 1) + timedelta(days=n) for n in range(60)]
STYLE = {
    "time": "Datum", "target": "Umsatz", "id": "Filiale", "past": ["Preis"], "date_format": ["%d.%m.%Y", "%Y-%m-%d"],
    "thousands": ".", "decimal": ",", "null_values": ["n/a", "-"], "duplicates": "first", "missing": "interpolate",
    "encoding": "cp1252", "skip_rows": 1,
}  # fmt: skip


def value(shop: int, day: int) -> float:
    return round(1000 * (shop + 1) + 100 * (day % 7) + np.sin(day), 2)


def clean(days: range) -> pl.DataFrame:
    rows = [
        (name, DAYS[day], value(shop, day), 9.5 + shop) for shop, name in enumerate(["Köln", "München"]) for day in days
    ]
    return pl.DataFrame(rows, schema=["Filiale", "Datum", "Umsatz", "Preis"], orient="row")


def ugly(path: Path, table: pl.DataFrame) -> str:
    """Write a table with semicolons, decimal commas, two formats of dates, a row twice and blank lines at the end."""
    lines = ["Umsätze der Filialen", "Datum;Filiale;Umsatz;Preis;"]
    for number, (name, day, amount, price) in enumerate(table.rows()):
        written = day.isoformat() if number % 10 == 3 else day.strftime("%d.%m.%Y")
        numbers = [f"{item:,.2f}".translate(str.maketrans(",.", ".,")) for item in (amount, price)]
        lines.append(";".join([written, name, *numbers, ""]))
    lines[8] = lines[8].replace(lines[8].split(";")[2], "n/a")
    text = "\r\n".join([*lines[:20], lines[19], *lines[20:], ";;;;", "", ""])
    path.write_bytes(text.encode("cp1252"))
    return str(path)


def test_an_ugly_file_is_forecast_like_a_clean_table_and_new_files_are_read_like_it(tmp_path: Path) -> None:
    table, later = clean(range(40)), clean(range(20, 60))
    holes = [table.with_columns(pl.when(pl.int_range(len(table)) == 6).then(None).otherwise("Umsatz").alias("Umsatz"))]
    holes += [later.with_columns(pl.when(pl.int_range(len(later)) == 6).then(None).otherwise("Umsatz").alias("Umsatz"))]
    forecasts = []
    for data, new, style in (
        (holes[0], holes[1], {name: STYLE[name] for name in ("time", "target", "id", "past", "missing")}),
        (ugly(tmp_path / "a.csv", table), ugly(tmp_path / "b.csv", later), STYLE),
    ):
        forecaster = nd.Forecaster("mlp", horizon=3, training=nd.TrainingConfig(max_steps=3, seed=1))
        forecaster.fit(data, **style)
        forecaster.save(tmp_path / "model")
        forecasts.append(nd.Forecaster.load(tmp_path / "model").predict(new))
    assert forecasts[0].equals(forecasts[1])
    stored = json.loads((tmp_path / "model" / "model.json").read_text())["schema"]
    assert {name: stored[name] for name in STYLE if name != "past"} == {k: v for k, v in STYLE.items() if k != "past"}
    # The command line reads the new file with the settings of training, too, or with others.
    (tmp_path / "c.csv").write_bytes((tmp_path / "b.csv").read_bytes().replace(b"n/a", b"?").replace(b";", b"|"))
    flags = ["--null-values", "?", "--separator", "|", "--json"]
    for arguments in ([str(tmp_path / "b.csv"), "--json"], [str(tmp_path / "c.csv"), *flags]):
        done = CliRunner().invoke(app, ["predict", str(tmp_path / "model"), *arguments])
        assert done.exit_code == 0, done.output
        found = [row["forecast"] for row in json.loads(done.output)["forecasts"]]
        np.testing.assert_allclose(found, forecasts[0]["forecast"].to_numpy(), rtol=1e-5)


def test_decimal_commas_that_nobody_mentioned_give_a_warning_in_training_and_forecasts(tmp_path: Path) -> None:
    rows = "".join(f"{day};{n % 7},5{n % 10}\n" for n, day in enumerate(DAYS))
    (tmp_path / "a.csv").write_text(f"ds;y\n{rows}")
    forecaster = nd.Forecaster("nlinear", horizon=3, training=nd.TrainingConfig(max_steps=2))
    with pytest.warns(DataWarning, match="read with a decimal comma"):
        forecaster.fit(str(tmp_path / "a.csv"))
    assert forecaster.predict()["forecast"].is_finite().all()
    with pytest.warns(DataWarning, match="read with a decimal comma"):
        forecaster.predict(str(tmp_path / "a.csv"))


def test_the_command_line_tells_everything_that_is_wrong_with_a_table_at_once(tmp_path: Path) -> None:
    rows = "".join(f"{day:%d.%m.%Y};{n % 7},5{n % 10}\n" for n, day in enumerate(DAYS))
    table = tmp_path / "a.csv"
    table.write_text(f"day;sold\n{rows}{rows.splitlines()[-1]}\n")
    done = subprocess.run(
        [sys.executable, "-m", "neuro_divergent", "train", "a.csv", "--horizon", "3"],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    error, *notes = done.stderr.splitlines()
    assert error.startswith("error: a.csv: column 'ds' missing; found day, sold.")
    assert notes[0] == 'perhaps: time="day" (--time day), target="sold" (--target sold)'
    assert notes[1].startswith("then: row 1, column 'day': '01.01.2024' is not ISO 8601")
    assert notes[2].startswith("then: 2024-02-29 twice (rows 60, 61), with the same values.")
    assert len(notes) == 3


def test_a_wide_table_with_a_shared_covariate_is_forecast_from_the_command_line(tmp_path: Path) -> None:
    rows = "".join(f"{day},{n % 7},{'' if n < 9 else n % 5},{n % 2}\n" for n, day in enumerate(DAYS))
    (tmp_path / "wide.csv").write_text(f"date,store 1,store 2,promo\n{rows}")
    ahead = "".join(f"{DAYS[-1] + timedelta(days=n)},{n % 2}\n" for n in range(1, 4))
    (tmp_path / "promo.csv").write_text(f"date,promo\n{ahead}")
    fields = ["--wide", "--future", "promo", "--horizon", "3", "--max-steps", "2", "--model", "mlp", "--quiet"]
    run = tmp_path / "run"
    done = CliRunner().invoke(app, ["train", str(tmp_path / "wide.csv"), *fields, "--output", str(run)])
    assert done.exit_code == 0, done.output
    for data in ([], [str(tmp_path / "wide.csv")]):
        future = ["--future", str(tmp_path / "promo.csv"), "--json"]
        done = CliRunner().invoke(app, ["predict", str(run), *data, *future])
        assert done.exit_code == 0, done.output
        found = json.loads(done.stdout)["forecasts"]
        assert [row["unique_id"] for row in found] == ["store 1"] * 3 + ["store 2"] * 3
        assert found[0]["ds"].startswith("2024-03-01")
