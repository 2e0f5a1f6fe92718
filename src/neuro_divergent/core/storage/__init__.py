"""Reliable files: bytes come in, complete files with a manifest are stored, and verified bytes come out.

Start with ``atomic.py`` (directories on disk) and ``store.py`` (named sets of files, local or remote).
"""
