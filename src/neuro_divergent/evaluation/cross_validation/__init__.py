"""Cross-validation and backtests: forecasters, data and a splitter come in; forecasts of held-out rows and their scores go
out.

Entry points: ``cross_validation.cross_validate``, which trains for each fold, and ``backtest.backtest``, which does not
train.
"""
