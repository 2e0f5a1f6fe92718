"""The best forecast within a time budget: candidates are back-tested, combined and fitted to all rows.

nd auto sales.csv --horizon 12 --budget 10m
"""

import numpy as np
import polars as pl

import neuro_divergent as nd


def monthly_sales() -> pl.DataFrame:
    """Return ten years of sales of eight shops, with a season, a trend and noise."""
    generator, month = np.random.default_rng(7), np.arange(120)
    dates = pl.date_range(pl.date(2011, 1, 1), pl.date(2020, 12, 1), "1mo", eager=True)
    shops = []
    for shop in range(8):
        season = 30 * np.sin(2 * np.pi * (month + shop) / 12)
        units = 200 + 40 * shop + 0.5 * shop * month + season + generator.normal(0, 10, 120)
        shops.append(pl.DataFrame({"shop": f"shop {shop}", "month": dates, "units": units}))
    return pl.concat(shops)


def main() -> None:
    """Find the best combination in twenty seconds, and see who is in it and why."""
    table = monthly_sales()
    forecaster = nd.AutoForecaster(horizon=12, budget="20s", preset="fast")
    forecaster.fit(table, target="units", time="month", id="shop")
    print(forecaster.results.reason)
    print(forecaster.leaderboard().select("candidate", "score", "weight", "note"))
    print(forecaster.predict(levels=[80]).head(3))


if __name__ == "__main__":
    main()
