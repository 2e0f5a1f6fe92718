"""Scoring: a long table of forecasts and names of metrics come in, a table of scores by model and group goes out.

Entry point: ``score.score``; ``formulas`` lists the metrics.
"""
