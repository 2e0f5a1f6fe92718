"""What each figure shows, independent of how it is drawn.

Tables and plain values come in; ``figure.Figure`` objects of axes and marks go out. ``figure.py`` defines the marks;
there is one file per kind of figure. A figure of which there is nothing to show is an ``InputError``.
"""
