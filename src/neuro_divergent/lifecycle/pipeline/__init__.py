"""Pipelines: named stages come in, their results and a record of what was done come out.

``pipeline.py`` is the front door: ``Pipeline([...]).run()``. ``stages/`` has the built-in stages, one file each, and
``function_stage.py`` makes a stage of any function. ``graph.py`` connects and orders stages, ``runner.py`` runs those
whose results are not kept yet, ``result_cache.py`` keeps them, and ``reading.py`` reads the directory of a pipeline
without running anything.
"""
