"""Leaderboard: a preset (public data set and task) and models come in, a ranked table goes out.

Entry point: ``leaderboard.run_leaderboard``; ``preset`` lists the data sets.
"""
