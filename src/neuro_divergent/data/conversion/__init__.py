"""From files of any size to a panel: paths come in, a stored panel or one in memory goes out; see ``conversion.py``.

Rows that are sorted by series are streamed (``series_parts.py``). Others are first distributed over runs on disk by
ranges of series (``buckets.py``), so that each range fits in memory. ``journal.py`` lets a killed conversion go on.
"""
