"""Reading tables: a path or a frame of polars, pandas or Arrow comes in, a ``Table`` comes out; see ``source.py``."""
