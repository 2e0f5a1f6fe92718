"""Verdict and page of a comparison."""

from __future__ import annotations

import numpy as np
import polars as pl

from neuro_divergent.evaluation.comparison.comparison import Comparison, compare
from neuro_divergent.reporting.report.comparison import judge_comparison, render_comparison


def compared(errors: dict[str, float], cutoffs: int = 30) -> Comparison:
    """Compare models whose errors have a given size."""
    random = np.random.default_rng(0)
    count = cutoffs * 2
    frame = pl.DataFrame(
        {
            "unique_id": "a",
            "ds": np.arange(count),
            "cutoff": np.repeat(np.arange(cutoffs) * 2 - 1, 2),
            "step": np.tile([1, 2], cutoffs),
            "actual": np.zeros(count),
            **{name: size * random.standard_normal(count) for name, size in errors.items()},
        }
    )
    return compare(frame, "mae")


def test_verdict_of_a_significant_difference_says_so() -> None:
    verdict = judge_comparison(compared({"nhits": 1.0, "seasonal naive": 4.0}))
    assert verdict.is_better
    assert verdict.text.startswith("nhits is best")
    assert "is significant" in verdict.text


def test_difference_that_is_not_significant_is_called_that() -> None:
    verdict = judge_comparison(compared({"nhits": 1.0, "seasonal naive": 1.02}, cutoffs=6))
    assert not verdict.is_better
    assert "not significant" in verdict.text or "No model" in verdict.text


def test_verdict_where_a_baseline_is_best_is_not_better() -> None:
    verdict = judge_comparison(compared({"nhits": 3.0, "last value": 1.0, "seasonal naive": 2.0}))
    assert not verdict.is_better
    assert verdict.text == "No model is better than last value, which needs no training."


def test_names_of_models_are_escaped() -> None:
    name = "<script>alert(1)</script>"
    page = render_comparison(compared({name: 1.0, "seasonal naive": 4.0}), title=name)
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 3
