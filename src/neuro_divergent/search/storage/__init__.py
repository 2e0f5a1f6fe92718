"""Where trials are recorded: ``trial_store.py`` reads and writes them, ``claims.py`` tells which process runs which."""
