"""Optimizers: settings come in, a `torch.optim.Optimizer` for a module goes out; `base.py` holds the contract."""
