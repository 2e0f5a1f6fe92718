"""The parts of the benchmarks on the M4 competition and on electricity prices."""
