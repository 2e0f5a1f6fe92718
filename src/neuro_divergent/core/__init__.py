"""Foundations used by every package: configs, the registry of components, errors and the types shared between packages.

Settings and names come in, validated ``Config`` objects and component classes come out. Start with ``config.py``
(settings and components) and ``spec.py`` (``Batch``, ``TaskSpec``, ``Traits``).
"""
