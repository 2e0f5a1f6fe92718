"""Ways of sharing a training among processes: one file each, registered by name."""
