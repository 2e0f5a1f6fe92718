"""Probability distributions that ``torch.distributions`` lacks, or lacks the quantiles of.

All of this imports torch; the losses import it when they are used.
"""
