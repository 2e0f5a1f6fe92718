"""Versions of models: a fitted or saved model comes in; a version that never changes and its evidence come out.

``registry.py`` is the front door. Files are stored by content in ``blobs.py``, rows in the tables of ``tables.py``;
``description.py`` and ``semantic_version.py`` decide about the version, ``aliases.py`` moves ``champion`` and others.
"""
