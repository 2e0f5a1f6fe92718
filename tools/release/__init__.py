"""Checks a release: builds it, installs it where no checkout is, and tries it there.

Front door: ``python -m tools.release``, which ``make release-check`` calls.
"""
