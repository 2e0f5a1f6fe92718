"""Values found by short trial trainings: `rate_finder.py` a learning rate, `batch_size.py` the largest batch size."""
