"""Callbacks: code that runs at the events of training, one per file; `base.py` holds the contract.

A trainer calls the methods that a callback overrides; `callback_list.py` dispatches the events.
"""
