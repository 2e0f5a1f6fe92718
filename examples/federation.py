"""Three shops train one model without showing each other their sales, and a fourth uses it."""

import numpy as np
import polars as pl

import neuro_divergent as nd


def sales(shop: int, days: int = 200) -> pl.DataFrame:
    """Make the sales of a shop: a week with its own level and mood."""
    random = np.random.default_rng(shop)
    day = np.arange(days)
    units = 50 * (shop + 1) + 20 * np.sin(2 * np.pi * (day + shop) / 7) + random.normal(0, 4, days)
    return pl.DataFrame({"unique_id": "units", "ds": day, "y": units})


def main() -> None:
    """Train, compare, forecast for a newcomer, and ask what a privacy budget would mean."""
    federation = nd.federated.Federation(
        nd.Forecaster(nd.NLinear(), horizon=7, input_size=28, test=14, validation=21),
        rounds=15,
        local_epochs=3,
    )
    for shop in range(3):
        federation.add_client(f"shop-{shop}", sales(shop))
    federation.fit()
    print(federation.evaluate(local=True).select("client", "model", "mae", "skill"))
    print(federation.client("shop-1").predict(levels=[80]).head(3))

    newcomer = federation.model.for_data(sales(9))  # which took no part
    print(newcomer.predict().head(3))

    private = nd.federated.Federation(
        nd.Forecaster(nd.NLinear(), horizon=7, input_size=28),
        rounds=15,
        privacy=nd.privacy.ClientLevel(epsilon=1.0, delta=1e-5),
    )
    for shop in range(3):
        private.add_client(f"shop-{shop}", sales(shop))
    print(private.describe_budget())  # three shops are too few for that


if __name__ == "__main__":
    main()
