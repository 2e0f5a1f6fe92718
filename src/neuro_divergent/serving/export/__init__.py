"""Export: a fitted model comes in; a file with one graph from raw history to forecasts, and its description, comes out.

``exporter.py`` is the front door. Each export is compared with ``predict`` before anything is written
(``verification.py``). This package needs torch; what reads its files does not.
"""
