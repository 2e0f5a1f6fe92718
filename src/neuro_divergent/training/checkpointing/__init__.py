"""Checkpoints: the state of a training as files, and back; `checkpoint.py` is the format, `resume.py` finds the latest.

`callbacks/checkpointing.py` decides when one is written.
"""
