"""What happens when a stage fails."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field, model_validator

from neuro_divergent.core.config import Config
from neuro_divergent.core.errors import ConfigError, MissingDependencyError

_RETRY = re.compile(r"retry\(\s*(\d+)\s*(?:,\s*(?:backoff\s*=\s*)?(\d+(?:\.\d*)?)\s*)?\)")
_LONGEST = 3600.0


class ErrorPolicy(Config):
    """What happens when a stage fails: it is tried again, then the pipeline stops or continues without it.

    Attributes:
        retry: How many more times it is tried.
        backoff: Seconds before the second attempt; twice as many before each further one, up to an hour.
        then: Whether other stages that do not depend on it still run.

    Examples:
        >>> import neuro_divergent as nd
        >>> policy = nd.lifecycle.ErrorPolicy.of("retry(3, 10)")
        >>> [policy.wait(attempt, TimeoutError()) for attempt in (1, 2, 3, 4)]
        [10.0, 20.0, 40.0, None]
        >>> policy.wait(1, nd.errors.ConfigError("a typing mistake")) is None
        True
    """

    retry: int = Field(default=0, ge=0, le=1000)
    backoff: float = Field(default=1.0, ge=0, le=_LONGEST)
    then: Literal["stop", "continue"] = "stop"

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, values: Any) -> Any:
        """Accept ``"stop"``, ``"continue"`` and ``"retry(3, 10)"``."""
        if not isinstance(values, str):
            return values
        if values in ("stop", "continue"):
            return {"then": values}
        if match := _RETRY.fullmatch(values.strip()):
            return {"retry": int(match[1]), **({} if match[2] is None else {"backoff": float(match[2])})}
        raise ValueError(f"{values!r} must be 'stop', 'continue', 'retry(times, backoff)' or a table with retry")

    @classmethod
    def of(cls, value: ErrorPolicy | str | Mapping[str, Any]) -> ErrorPolicy:
        """Return a policy from a policy, a text or a table."""
        if isinstance(value, ErrorPolicy):
            return value
        try:
            return cls.from_dict(value) if isinstance(value, Mapping) else cls.model_validate(value)
        except ValueError as error:
            if isinstance(error, ConfigError):
                raise
            raise ConfigError(
                f"on_error: {value!r} must be 'stop', 'continue', 'retry(times, backoff)' or a table with retry, "
                "backoff and then."
            ) from None

    def wait(self, attempt: int, error: Exception) -> float | None:
        """Return the seconds to wait after a failed attempt, counted from 1; ``None`` if there is no further one.

        Mistakes in settings and packages that are missing are not tried again.
        """
        if attempt > self.retry or isinstance(error, (ConfigError, MissingDependencyError)):
            return None
        return float(min(self.backoff * 2.0 ** min(attempt - 1, 30), _LONGEST))


def retry(times: int, backoff: float = 1.0, *, then: Literal["stop", "continue"] = "stop") -> ErrorPolicy:
    """Return a policy that tries a stage again.

    Args:
        times: How many more times.
        backoff: Seconds before the second attempt; twice as many before each further one, up to an hour.
        then: What happens if all attempts failed.

    Examples:
        >>> import neuro_divergent as nd
        >>> policy = nd.lifecycle.retry(2, backoff=0.5, then="continue")
        >>> [policy.wait(attempt, TimeoutError()) for attempt in (1, 2, 3)]
        [0.5, 1.0, None]
    """
    return ErrorPolicy(retry=times, backoff=backoff, then=then)
