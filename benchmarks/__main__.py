"""`python -m benchmarks`: Foldproof side by side with its peers."""

import sys

from benchmarks.side_by_side.command import main

sys.exit(main())
