"""`python -m foldproof.cli` is the command."""

from foldproof.cli import main

main()
