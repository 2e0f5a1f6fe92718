"""The parts of the comparison of optimizers and schedules."""
