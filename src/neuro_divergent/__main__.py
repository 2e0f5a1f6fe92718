"""``python -m neuro_divergent`` is ``nd``: for launchers that start a module."""

from neuro_divergent.interfaces.cli.main import run

if __name__ == "__main__":
    run()
