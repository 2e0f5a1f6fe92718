"""The parts of benchmarks/out_of_core.py: panels on disk come in, tables and plain values go out."""
