"""Comparison of models: forecasts of several models come in; scores, ranks and p values go out.

Entry point: ``comparison.compare``; ``significance`` has the tests. Runs are compared by ``runs.diff``.
"""
