"""Comparison of models: a table of forecasts, or what ``cross_validate`` or ``backtest`` returned, comes in; scores, ranks and
p values go out.

Entry point: ``comparison.compare``; ``significance`` has the tests. Runs are compared by ``runs.diff``.
"""
