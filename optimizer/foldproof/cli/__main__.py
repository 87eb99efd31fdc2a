"""`python -m foldproof.cli` is the command."""

from foldproof.__main__ import main

main()
