"""Inputs that a person hands over, as verification takes them: as a folder."""

from __future__ import annotations

import contextlib
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np


@contextlib.contextmanager
def folder_of(inputs: Mapping[str, np.ndarray]) -> Iterator[Path | None]:
    """A temporary folder with one feed, for `Options.feeds`; None where there are no inputs.

    Args:
        inputs: Arrays by the input's name.
    """
    if not inputs:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="foldproof-") as folder:
        # Not by numpy.savez, for which some names mean something else.
        with zipfile.ZipFile(Path(folder, "given.npz"), "w") as archive:
            for name, array in inputs.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                    np.lib.format.write_array(file, np.asanyarray(array), allow_pickle=False)
        yield Path(folder)
