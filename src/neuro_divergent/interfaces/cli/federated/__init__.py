"""``nd federated``: trains one model on the data of several clients, here or on their own machines."""

from neuro_divergent.interfaces.cli.federated.group import app

__all__ = ["app"]
