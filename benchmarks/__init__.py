"""Measurements: `python -m benchmarks` compares with peers; README.md lists the others, each a command of its own."""
