"""Whether models on which no rule fires come out field by field as they were given.

`python -m benchmarks.faithful FOLDER` optimizes each `.onnx` file in a folder and below it with `--rules none`,
and compares the two: all fields, known or not, and the elements of external tensors by their bytes. What is said of
where those lie differs, as they are in another file.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import onnx

from foldproof.errors import FoldproofError
from foldproof.model_file import differences
from foldproof.pipeline import optimize_file
from foldproof.protos import stored_tensors

_CHUNK = 1 << 20


def changes(before: Path, after: Path) -> Iterator[str]:
    """Says where the models in two files differ.

    Args:
        before: A model's file.
        after: The other's.
    """
    ours, theirs = (onnx.load(path, load_external_data=False) for path in (before, after))
    yield from differences(ours, theirs, without={"external_data"})
    for one, other in zip(stored_tensors(ours), stored_tensors(theirs), strict=True):
        if one.data_location == onnx.TensorProto.EXTERNAL:
            pieces = zip(_elements(one, before.parent), _elements(other, after.parent), strict=True)
            if not all(left == right for left, right in pieces):
                yield f"the elements of {one.name!r}"


def _elements(tensor: onnx.TensorProto, folder: Path) -> Iterator[bytes]:
    """The bytes of an external tensor, piece by piece."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    with (folder / entries["location"]).open("rb") as file:
        file.seek(int(entries.get("offset", 0)))
        left = int(entries.get("length", 0)) or (folder / entries["location"]).stat().st_size - file.tell()
        while left > 0:
            piece = file.read(min(left, _CHUNK))
            yield piece
            left -= len(piece)


def main() -> None:
    """Looks at all models of the folder that the arguments name."""
    models = sorted(Path(sys.argv[1]).rglob("*.onnx"))
    equal = 0
    for model in models:
        with tempfile.TemporaryDirectory(prefix="faithful-") as folder:
            out = Path(folder) / "out.onnx"
            try:
                optimize_file(model, out, rules=(), verify=False)
            except FoldproofError as error:
                sys.stdout.write(f"{model}: {error}\n")
                continue
            found = list(changes(model, out))
        equal += not found
        for change in found[:5]:
            sys.stdout.write(f"{model}: {change}\n")
    sys.stdout.write(f"{equal} of {len(models)} models come out equal\n")
    sys.exit(equal < len(models) or not models)


if __name__ == "__main__":
    main()
