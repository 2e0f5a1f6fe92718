"""Promotion: whether a challenger replaces the champion, and whether that has to be undone.

Held-out forecasts of both come in and a ``GateDecision`` goes out (``gate.py``). Forecasts that both made before the
values were known come in as blocks (``block.py``), and ``shadow_test.py`` decides from them with the sequential test of
``e_process.py``. Nothing here stores or switches anything: the caller does, in its own transaction.
"""
