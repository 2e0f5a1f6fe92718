"""Reading tables: a path, the address of a database or a frame comes in, a ``Table`` comes out; see ``source.py``."""
