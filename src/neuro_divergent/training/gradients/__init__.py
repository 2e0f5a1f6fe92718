"""Gradients: how they are computed, changed before the step, checked and recorded.

`estimators/` compute them for a step and `transforms/` change them; `check.py` compares them with finite differences
and `tape.py` records them for any calculation.
"""
