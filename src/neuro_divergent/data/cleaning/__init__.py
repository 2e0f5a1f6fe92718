"""Cleaning: the columns of a ``Table`` come in, complete arrays come out.

``filling.py`` is the entry point for missing values and gaps; ``frequency.py`` infers the step between rows,
``calendar.py`` parses times and makes calendar features, ``epochs.py`` reads counts from 1970, ``categories.py``
encodes categories, ``numbers.py`` reads written numbers, and ``duplicates.py`` combines rows of the same time.
"""
