"""The ``nd`` command.

Arguments come in; text for people, or with ``--json`` one JSON document, goes out. ``main.py`` is the entry point; each
command has a module of its name, which imports what is heavy only when the command runs.
"""
