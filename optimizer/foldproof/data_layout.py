"""Where the elements of a model's tensors shall lie: in the model itself, in files beside it, or where they are."""

from __future__ import annotations

import dataclasses
import os
import re
from pathlib import Path
from typing import Literal, get_args

from foldproof.errors import UsageError

External = Literal["auto", "always", "never"]


@dataclasses.dataclass(frozen=True)
class DataLayout:
    """What the person wants of the data files.

    Attributes:
        external: `auto`: tensors lie outside where they did, in as many files as before, and a model of more than 2 GB
            gets a data file by itself. `always`: all that are not small lie in one data file. `never`: all lie in the
            model.
        link: External data that did not change is not copied: the new model refers to the files of the old one.
        in_place: The destination is the input.
    """

    external: External = "auto"
    link: bool = False
    in_place: bool = False

    def __post_init__(self) -> None:
        if self.external not in get_args(External):
            raise UsageError(
                f"external data can't be stored {self.external!r}", hint=f"Say one of {', '.join(get_args(External))}"
            )
        if self.link and self.external == "never":
            raise UsageError("weights can't be both linked and in the model itself", hint="Leave out one of the two")


def data_name(destination: Path, number: int = 0, token: str = "") -> str:
    """The name of a data file of ours: such as `m.onnx.data`, or `m.onnx.1f2e3d4c.2.data`.

    Args:
        destination: The model's file.
        number: Which of its data files it is: 0 is the first.
        token: Eight hexadecimal digits that set it apart from those of another run; empty where there is none.
    """
    return ".".join([destination.name, *([token] if token else []), *([str(number)] if number else []), "data"])


def is_data_name(name: str, destination: Path, *, with_token: bool = False) -> bool:
    """Whether a file is called as `data_name` calls those of this model.

    Args:
        name: The file's name.
        destination: The model's file.
        with_token: Only names with a token count, which nobody but us gives.
    """
    if not name.startswith(f"{destination.name}."):  # as next to all files of a large folder
        return False
    token = r"\.[0-9a-f]{8}" if with_token else r"(\.[0-9a-f]{8})?"
    return re.fullmatch(re.escape(destination.name) + token + r"(\.[0-9]+)?\.data", name) is not None


def is_name_of_model(name: str, model: Path) -> bool:
    """Whether a data file bears the name of a model, so that no other one is likely to use it: such as `m.onnx_data`.

    Args:
        name: The file's name.
        model: The model's file.
    """
    stems = "|".join(re.escape(stem) for stem in (model.name, model.stem))
    return is_data_name(name, model) or re.fullmatch(rf"({stems})[._]data(_[0-9]+)?", name) is not None


def linked_location(data: Path, destination: Path) -> str:
    """How a model at `destination` refers to a file that is there already.

    Args:
        data: The data file.
        destination: The model's file.

    Raises:
        UsageError: The file lies neither in the model's folder nor below it. ONNX lets no location leave the folder.
            Or its path is not in UTF-8.
    """
    folder, real = Path(os.path.realpath(destination.parent)), Path(os.path.realpath(data))
    if not real.is_relative_to(folder):
        raise UsageError(
            f"the weights in {data} can't be linked from {destination}: a model may only refer to files in its own "
            "folder or below it",
            hint="Write the output to the folder of the weights or above it, or leave out --link-weights",
        )
    named = Path(os.path.realpath(data.parent)) / data.name  # it may be a link itself, and stays that
    location = (named if named.is_relative_to(folder) else real).relative_to(folder).as_posix()
    return spelled(location, destination)


def spelled(location: str, destination: Path) -> str:
    """The location of a data file, if a model can hold it: its strings are in UTF-8, and names of files need not be.

    Args:
        location: The path of the file, from the model's folder.
        destination: The model's file.

    Raises:
        UsageError: It can't.
    """
    try:
        location.encode()
    except UnicodeEncodeError as error:
        raise UsageError(
            f"the model {destination} can't name its data file {location}: that name is not in UTF-8",
            hint="Choose another name for the output, or put the data into the model with --external-data never",
        ) from error
    return location
