"""Checkpoints: the state of a training as files, and back; `checkpoint.py` holds the format, `resume.py` finds the latest.

`callbacks/checkpointing.py` decides when one is written.
"""
