"""Mutated model files through load, optimize and save: `python -m tests.fuzz --help`."""
