"""Times without polars: steps of a frequency, calendar features, and times as text.

Times are int64 arrays: days since 1970 for dates, ticks of a resolution since 1970 (in UTC where they have a zone) for
datetimes, or the integers themselves. ``step.py`` is the entry point. Everything here equals what ``data/cleaning``
computes with polars on tables; tests compare the two.
"""
