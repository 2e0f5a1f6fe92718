"""A local web application that shows runs while they train.

Directories of runs, studies, federations, pipelines, registries and continuous training come in, and nothing else is
read; JSON, server-sent events and one page go out. ``app.py`` is the entry point, ``routes/`` the API, ``static/`` the
page.
"""
