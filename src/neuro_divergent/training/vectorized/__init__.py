"""Training several networks of one shape in one step.

Trainers with networks of one architecture come in, each with its own seed, order of windows, learning rate and end;
they come out as if each had been trained by itself, up to rounding. ``trainer.py`` is the front door, ``support.py``
says what can be trained so, and ``speed.py`` measures whether it pays.
"""
