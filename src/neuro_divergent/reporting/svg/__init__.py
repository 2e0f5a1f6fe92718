"""Figures as SVG without a drawing library.

A ``Figure`` comes in; SVG text goes out. ``inline.py`` renders into HTML pages, ``file.py`` into stand-alone files;
``layout_engine.py`` computes the layout for both.
"""
