"""What is done to gradients before the weights change: one file per `GradientTransform`; `base.py` holds the contract.

Parameters with gradients come in; the same gradients, changed in place, go out.
"""
