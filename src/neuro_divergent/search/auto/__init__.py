"""Auto: a table and a time budget come in; a combination of the best models goes out, with intervals and a leaderboard.

``forecaster.py`` is the front door, ``search.py`` spends the budget, and ``combination.py`` chooses the weights.
"""
