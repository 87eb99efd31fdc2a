"""Where what is kept from run to run lies."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """The person's folder for what may be deleted at any time. It need not be there yet.

    Raises:
        RuntimeError: There is no home directory.
    """
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "foldproof"
