"""Clients on other machines, over HTTPS with certificates on both sides, for a handful of organisations.

The server (``transport.py``) hands tasks to clients that ask for them (``remote_client.py``), so that only the server
needs an open port. ``certificates.py`` makes the certificates, ``exchange.py`` is where the rounds of the server and
the requests of clients meet, and ``app.py`` has the routes.
"""
