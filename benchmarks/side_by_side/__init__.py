"""Foldproof and other optimizers, run side by side: `python -m benchmarks`."""
