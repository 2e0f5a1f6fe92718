"""The parts of the training ladder."""
