"""The reference: public names, settings, architectures, commands and errors come in, pages in Markdown go out.

Front door: ``write_reference`` in ``pages.py``. What each page says is read from the package itself: its docstrings,
config classes, registries and command line.
"""

from tools.site.reference.pages import write_reference

__all__ = ["write_reference"]
