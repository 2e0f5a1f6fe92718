"""Clients on other machines, over NVIDIA FLARE, for organisations that have it already.

NVIDIA FLARE has the certificates, the connections and the jobs; what is computed stays the same. Settings of a
federation come in, a global model comes out, on the server and at each client. ``__main__.py`` is the front door:
``site.py`` prepares the machines, ``job.py`` writes a job, and ``submission.py`` submits it, again whenever it died. In
the job ``controller.py`` runs the server over ``transport.py``, and ``executor.py`` a client. A job that is submitted
again goes on after the last complete round, which is in a directory of the server.
"""
