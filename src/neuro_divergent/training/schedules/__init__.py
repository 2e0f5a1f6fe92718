"""Learning-rate schedules: the planned steps come in, a factor for each step goes out; `base.py` holds the contract."""
