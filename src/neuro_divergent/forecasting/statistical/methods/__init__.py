"""Statistical models by name, one file for each kind; ``base.py`` says what they share."""
