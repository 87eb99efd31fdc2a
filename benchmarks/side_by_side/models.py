"""The models that the tools run on: a corpus in a folder, and models made to any size."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import onnx

from benchmarks.scaling import MODELS
from foldproof.engines import EngineError
from foldproof.protos import external_locations, load_proto, scopes
from foldproof.verification import Settings, Verifier

Feed = dict[str, Any]
"""What each input is given."""

_FEEDS = 2  # for a model of which no manifest says what to feed it


class CorpusError(Exception):
    """A corpus that can't be read."""


@dataclasses.dataclass(frozen=True)
class Model:
    """A model and what to feed it.

    Attributes:
        name: What it is called here.
        path: The file.
        feeds: What it is run on, to see whether a result is right.
        random: Whether its outputs differ from run to run, so that only their shapes and types can be compared.
        family: Of a scaling model, which one it is; None for one of a corpus.
    """

    name: str
    path: pathlib.Path
    feeds: tuple[Feed, ...]
    random: bool = False
    family: str | None = None


@dataclasses.dataclass(frozen=True)
class Description:
    """What a file holds.

    Attributes:
        nodes: The nodes of the graph, its bodies and its functions, save those of Constant.
        constants: The Constant nodes.
        size: Bytes, those of external data included.
        signature: The inputs and outputs with their types, initializers left out.
        foreign: The domains of operators that are not ONNX's own.
        external: Whether weights lie in files of their own.
    """

    nodes: int
    constants: int
    size: int
    signature: tuple[tuple[str, bytes], ...]
    foreign: tuple[str, ...]
    external: bool


def describe(path: pathlib.Path) -> Description:
    """Reads a model, without its external data.

    Raises:
        ModelError: It can't be read.
    """
    proto = load_proto(path)
    nodes = [node for scope in scopes(proto) for node in scope.nodes]
    constants = sum(node.op_type == "Constant" and node.domain in ("", "ai.onnx") for node in nodes)
    stored = {tensor.name for tensor in proto.graph.initializer}
    data = [path.parent / location for location in external_locations(proto)]
    return Description(
        len(nodes) - constants,
        constants,
        sum(file.stat().st_size for file in (path, *data) if file.is_file()),
        tuple(
            (value.name, value.type.SerializeToString(deterministic=True))
            for value in (*proto.graph.input, *proto.graph.output)
            if value.name not in stored
        ),
        tuple(sorted({node.domain for node in nodes} - {"", "ai.onnx"})),
        bool(data),
    )


def corpus(folder: pathlib.Path, only: Iterable[str] = ()) -> Iterator[Model]:
    """The models of a folder: those that its manifest.json lists, or else all files that end in .onnx, at any depth.

    Args:
        folder: The folder.
        only: The names of the models that are wanted; all if it is empty.

    Raises:
        CorpusError: The folder has no models, the manifest can't be understood, or a name is not among them.
    """
    manifest = folder / "manifest.json"
    if manifest.is_file():
        try:
            records = {str(record["name"]): record for record in json.loads(manifest.read_text())["models"]}
        except (ValueError, KeyError, TypeError) as error:
            raise CorpusError(f"{manifest} is no manifest of models: {error!r}") from error
    else:
        records = {
            path.relative_to(folder).with_suffix("").as_posix(): {"path": path.relative_to(folder)}
            for path in sorted(folder.rglob("*.onnx"))
        }
    if not records:
        raise CorpusError(f"{folder} holds no models: neither a manifest.json nor a file .onnx")
    unknown = [name for name in only if name not in records]
    if unknown:
        raise CorpusError(f"{folder} has no model {unknown[0]}; its models are: {', '.join(records)}")
    for name in only or records:
        record = records[name]
        path = folder / record["path"]
        if not path.is_file():
            raise CorpusError(f"{manifest} lists {path}, which does not exist")
        if "input_shapes" in record:
            feeds = tuple(_fed(hints, seed) for seed, hints in enumerate(record["input_shapes"]))
        else:
            feeds = _made_up(path)
        yield Model(name, path, feeds, bool(record.get("random_ops")))


def scaling(families: Iterable[str], sizes: Iterable[int], folder: pathlib.Path) -> Iterator[Model]:
    """Scaling models, each family from the smallest to the largest.

    Args:
        families: Names of `benchmarks.scaling.MODELS`.
        sizes: How many nodes they are to have, roughly.
        folder: Where to write them.
    """
    for family in families:
        for size in sorted(sizes):
            proto = MODELS[family](size)
            path = folder / f"{family}_{size}.onnx"
            onnx.save(proto, path)
            dims = [
                dim.dim_value or 2 + axis for axis, dim in enumerate(proto.graph.input[0].type.tensor_type.shape.dim)
            ]
            feed = _fed({"x": {"dtype": "float32", "shape": dims}}, 0)
            yield Model(f"{family} {size}", path, (feed,), family=family)


def _fed(hints: Mapping[str, Mapping[str, Any]], seed: int) -> Feed:
    """The feed that a manifest's hints describe: of each input a type, a shape, and a value or bounds."""
    generator = np.random.default_rng(seed)
    feed: Feed = {}
    for name, hint in hints.items():
        shape, dtype = tuple(hint["shape"]), str(hint["dtype"])
        if "value" in hint:
            value = np.asarray(hint["value"], dtype=object if dtype == "str" else dtype)
            feed[name] = value.reshape(shape) if value.ndim else np.full(shape, value)
        elif hint.get("whole") or not dtype.startswith(("float", "bfloat")):
            low, high = int(hint.get("low", 0)), int(hint.get("high", 2))
            feed[name] = generator.integers(low, high, size=shape).astype(dtype)
        else:
            low, high = hint.get("low", -1.0), hint.get("high", 1.0)
            feed[name] = np.asarray(generator.random(shape) * (high - low) + low).astype(dtype)
    return feed


def _made_up(path: pathlib.Path) -> tuple[Feed, ...]:
    """Feeds that verification found for a model; none where nothing can run it."""
    try:
        with Verifier(path, Settings()) as verifier:
            return tuple(trial.feed.values for _, trial in zip(range(_FEEDS), verifier.trials(), strict=False))
    except EngineError:
        return ()
