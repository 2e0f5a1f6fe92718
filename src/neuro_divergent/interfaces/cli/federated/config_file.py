"""The settings of a federation from a file and from ``--set``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from neuro_divergent.federated.settings import FederationConfig


def read_config(file: Path, settings: Sequence[str]) -> FederationConfig:
    """Read settings from a TOML file and change some.

    Args:
        file: The file.
        settings: Changes such as ``federation.rounds=20`` or ``task.horizon=12``.

    Raises:
        ConfigError: If there is no such setting, or a value is not valid.
    """
    from neuro_divergent.core.config import read_toml
    from neuro_divergent.federated.settings import FederationConfig
    from neuro_divergent.forecasting.run_config import override, parse_setting

    values: dict[str, Any] = read_toml(file)
    for text in settings:
        override(values, *parse_setting(text))
    return FederationConfig.from_dict(values)
