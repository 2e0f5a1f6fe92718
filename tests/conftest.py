"""Settings that hold for all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# Two test processes share the cores; threads of torch that wait for each other would make both crawl.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A machine that is busy for a moment is no failure. `make soak` looks much harder.
settings.register_profile("usual", deadline=None)
settings.register_profile("soak", deadline=None, max_examples=2000)
settings.load_profile("soak" if os.environ.get("ND_SOAK") else "usual")
