"""Parts of benchmarks/defaults.py."""
