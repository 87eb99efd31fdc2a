"""How much memory a model will take, before anything is known of it but the size of its files."""

from __future__ import annotations

import contextlib

from foldproof.batch.folders import Folder, LocalFolder
from foldproof.model_file import data_of

_BASE = 400 << 20
"""What the two processes of a task take for a model without weights (bytes)."""

_PER_BYTE = 8
"""How many bytes a byte in the model's file makes: both models, as they are read, written and run."""

_PER_DATA_BYTE = 4
"""The same of a byte in a data file, which is never read as a whole."""

_PARSED_BELOW = 64 << 20
"""A model's file that is larger holds its weights itself, so that nobody has to look for its data files."""


def memory_of(folder: Folder, name: str) -> int:
    """The bytes that a model is expected to take.

    Args:
        folder: The folder that it lies in.
        name: Its path from there.
    """
    size = folder.size(name) or 0
    data = 0
    if isinstance(folder, LocalFolder) and size < _PARSED_BELOW:
        with contextlib.suppress(OSError):  # whoever does the task will say so
            data = sum(path.stat().st_size for path in data_of(folder.path / name) if path.is_file())
    return _BASE + _PER_BYTE * size + _PER_DATA_BYTE * data
