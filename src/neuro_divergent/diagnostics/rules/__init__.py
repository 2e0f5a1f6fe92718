"""What the doctor looks for: one rule per file, found by its name."""
