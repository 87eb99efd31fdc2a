"""Builds the two sides of a claim: small models of a rewrite and some of the graph around it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence

import onnx
import onnx_ir as ir

from foldproof.certificates.boundary import Symbols, declared, declared_constant, known
from foldproof.certificates.claim import Claim, Stored
from foldproof.certificates.recorder import Frozen, Snapshot
from foldproof.certificates.side_model import Writer
from foldproof.certificates.tensors import NotRestated, Tensors, tensor_proto
from foldproof.facts.fact import UNKNOWN, Fact

SMALL = 1 << 10
"""A constant of at most so many bytes is written into the claim."""

MAX_EMBEDDED = 1 << 16
"""The same for one that neither of the two models holds."""


class Sides:
    """The two sides of a claim about one rewrite.

    Args:
        snapshot: The rewrite.
        level: So many levels of producers are taken in.
        tensors: The constants of the two models.
        ir_version: The model's IR version.
        stores: Whether large constants are themselves. Else they may have any elements, as inputs do.

    Raises:
        NotRestated: It can't be restated so.
    """

    def __init__(self, snapshot: Snapshot, level: int, tensors: Tensors, ir_version: int, *, stores: bool) -> None:
        self._snapshot = snapshot
        self._tensors = tensors
        self._ir_version = ir_version
        self._stores = stores
        self._expanded = self._expand(level)
        self._names: dict[ir.Value, str] = {}
        self._boundary: list[ir.Value] = []
        self._stored: dict[ir.Value, Stored] = {}
        self._embedded: dict[ir.Value, onnx.TensorProto] = {}

    @property
    def boundary(self) -> dict[str, str]:
        """The names of the claim's inputs, with those that they have in the model. Empty before `claim`."""
        return {self._names[value]: str(value.name) for value in self._boundary}

    def claim(self) -> Claim:
        """The claim.

        Raises:
            NotRestated: It can't be restated so.
        """
        snapshot = self._snapshot
        pairs = snapshot.replaced
        gone = {output: node for node in snapshot.gone for output in node.outputs}
        added = {output: node for node in snapshot.added for output in node.outputs}
        before = self._cone([output for output, _ in pairs], {**self._expanded, **gone}, ())
        after = self._cone([value for _, value in pairs], {**self._expanded, **added}, gone.keys() - added.keys())
        for value in self._boundary:
            self._names[value] = f"x{len(self._names)}"
        for value in (*self._stored, *self._embedded):
            self._names[value] = f"c{len(self._names)}"
        symbols = Symbols()
        boundary = tuple(known(self._names[value], self._fact(value), symbols) for value in self._boundary)
        stored = tuple(dataclasses.replace(each, name=self._names[value]) for value, each in self._stored.items())
        inputs = [*map(declared, boundary), *map(declared_constant, stored)]
        models = []
        for nodes, values in ((before, [a for a, _ in pairs]), (after, [b for _, b in pairs])):
            models.append(Writer(self._names, self._embedded).model(nodes, values, inputs, self._ir_version))
        return Claim(models[0], models[1], boundary, stored)

    def _expand(self, level: int) -> dict[ir.Value, Frozen]:
        """What is computed in the claim rather than given: producers up to a level, by the values that they make."""
        snapshot = self._snapshot
        own = {output for node in (*snapshot.gone, *snapshot.added) for output in node.outputs}
        frontier = [value for node in (*snapshot.gone, *snapshot.added) for value in node.reads]
        frontier += [value for _, value in snapshot.replaced]
        found: dict[ir.Value, Frozen] = {}
        for _ in range(level):
            following: list[ir.Value] = []
            for value in frontier:
                maker = snapshot.producers.get(value)
                if maker is None or value in own or value in found or maker.obstacle:
                    continue
                found.update(dict.fromkeys(maker.outputs, maker))
                following.extend(maker.reads)
            frontier = following
        return found

    def _cone(
        self, values: Sequence[ir.Value], makers: Mapping[ir.Value, Frozen], forbidden: Iterable[ir.Value]
    ) -> list[Frozen]:
        """The nodes that it takes to compute some values, in an order in which they can stand."""
        forbidden = set(forbidden)
        order: dict[Frozen, None] = {}
        done: set[ir.Value] = set()
        stack = [(value, False) for value in reversed(values)]
        while stack:
            value, is_ready = stack.pop()
            maker = makers.get(value)
            if is_ready:
                assert maker is not None
                order[maker] = None
                continue
            if value in done:
                continue
            done.add(value)
            if value in forbidden:
                raise NotRestated("what was put in reads what was taken away")
            if maker is None or (value in self._expanded and self._is_constant(value)):
                self._leaf(value)
                continue
            if maker.obstacle:
                raise NotRestated(maker.obstacle)
            done.update(maker.outputs)
            stack.append((value, True))
            stack.extend((each, False) for each in reversed(maker.reads))
        return list(order)

    def _is_constant(self, value: ir.Value) -> bool:
        return self._fact(value).constant is not None

    def _fact(self, value: ir.Value) -> Fact:
        return self._snapshot.facts.get(value, UNKNOWN)

    def _leaf(self, value: ir.Value) -> None:
        """A value that a side begins with: a constant, or an input."""
        if value in self._boundary or value in self._stored or value in self._embedded:
            return
        tensor = self._fact(value).constant
        if tensor is None:
            self._boundary.append(value)
        elif tensor.nbytes <= SMALL:
            self._embedded[value] = tensor_proto(tensor)
        elif not self._stores:
            self._boundary.append(value)
        else:
            stored = self._tensors.stored(tensor, "") if tensor.dtype is not ir.DataType.STRING else None
            if stored is not None:
                self._stored[value] = stored
            elif tensor.nbytes <= MAX_EMBEDDED:
                self._embedded[value] = tensor_proto(tensor)
            else:
                raise NotRestated(f"a constant of {tensor.nbytes} bytes is in neither of the two models")
