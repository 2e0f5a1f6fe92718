"""Panels on disk: a directory of arrays that are mapped into memory, and the parts that were appended to it.

``Panel.save`` and ``Panel.open`` are the front doors; ``append_rows`` adds rows, ``compact`` writes all parts as one,
``check_panel`` verifies every byte and ``describe_stored`` tells what there is.
"""
