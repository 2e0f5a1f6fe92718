"""The parts of the reproduction of published results."""
