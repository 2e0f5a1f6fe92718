"""How tasks reach clients and updates come back, one way per package or file; ``base.py`` has the contract."""
