"""Data: a table comes in, batches of scaled windows come out.

A table is read (``io``), checked and completed (``cleaning``) and laid out as a ``Panel`` by ``load.py``, the entry
point; ``windows.py`` indexes its windows, ``batcher.py`` cuts and scales them, and ``loader.py`` yields them in
batches.
"""
