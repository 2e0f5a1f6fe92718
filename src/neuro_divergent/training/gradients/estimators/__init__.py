"""How the gradients of a training step are made: one file per `GradientEstimator`; `base.py` holds the contract.

A `StepLoss` (the batches of a step and their loss as a function of the parameters) comes in; gradients in `.grad` of
the parameters and the loss go out.
"""
