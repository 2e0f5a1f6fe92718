"""Data sets: a name or settings come in, a table comes out. ``synthetic.py`` generates series."""
