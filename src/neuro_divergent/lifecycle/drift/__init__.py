"""Drift: whether the errors of a model have changed, and whether the feed of its data is broken.

Tables of forecasts, models and new data come in; a decision about the panel as a whole, the series that stand out and
incidents of the feed go out, in words and as plain values. ``detection.py`` is the front door: ``detect_drift``
compares new errors with those of a reference. ``errors.py`` makes errors, ``feed.py`` checks the data,
``input_drift.py`` compares inputs while actual values are not there yet, and ``alpha_spending.py`` divides a
false-alarm rate per year over looks.
"""
