"""Random graphs, optimized and compared with what they were: `python -m tests.fuzzing --help`."""
