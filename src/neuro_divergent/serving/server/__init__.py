"""The server of exported models: HTTP requests come in, forecasts in JSON, CSV or tensors go out.

``ServerSettings`` and a list of ``ModelSource`` go in to ``serve``, which returns when the process is told to stop.
"""
