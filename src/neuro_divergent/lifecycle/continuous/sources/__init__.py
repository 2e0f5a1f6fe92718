"""Where the rows of continuous training come from, one kind per file.

A position comes in, and the rows after it come out with the next position. ``base.py`` has the contract.
"""
