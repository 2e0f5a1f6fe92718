"""Cross-validation and backtests: forecasters and data come in; forecasts of held-out rows and scores go out.

Entry points: ``cross_validation.cross_validate``, which trains for each fold, and ``backtest.backtest``, which does not
train.
"""
