"""Reads a study from the files in its directory, and writes nothing: what the dashboard and reports are made of.

A directory comes in, trials go out, also while workers add to them; Optuna is not needed. ``recorded_study.py``
is the front door.
"""
