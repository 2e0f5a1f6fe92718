"""Scoring of many files: a model and a source of series come in, a directory of Parquet files with forecasts comes out.

``score_files.py`` is the entry point. ``plan.py`` divides a source into parts, which are read one at a time, as far as
forecasts need their rows, and whose forecasts are written complete or not at all; ``job.py`` is the record of what was
started, from which a run that was interrupted is resumed.
"""
