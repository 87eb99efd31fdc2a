"""Dims of the inputs that could be bound, and the facts as they would be then."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

import onnx_ir as ir

from foldproof.dims import bindable_dims
from foldproof.explaining.causes import Causes
from foldproof.explaining.sizes import Sizes as Examples
from foldproof.facts import Dim, Fact, Facts

Sizes: TypeAlias = tuple[tuple[str, int], ...]
"""Sizes of dims, by the names by which `--set-dim` binds them, in the order of the inputs."""

OTHER_SIZE = 64
"""The size that is tried first for a dim that is no batch: images and texts of less may be refused."""


@dataclasses.dataclass(frozen=True)
class Bound:
    """What would be known if dims were bound.

    Attributes:
        facts: The facts.
        causes: What would not be constant, and why.
    """

    facts: Facts
    causes: Causes


class Bindings:
    """The facts of a model, as they would be if dims of its inputs were bound. The model is not changed.

    Args:
        model: The model.
        facts: What is known of it.
        find: Gives sizes at which the model runs. It is asked once, if at all.

    Attributes:
        dims: The names of the dims that can be bound.
    """

    def __init__(self, model: ir.Model, facts: Facts, find: Callable[[Mapping[str, int]], Examples]) -> None:
        self._graph = model.graph
        self._facts = facts
        self._bound: dict[Sizes, Bound] = {(): Bound(facts, Causes(facts))}
        self._find = find
        self._axes = bindable_dims(model)
        self.dims = tuple(self._axes)

    @functools.cached_property
    def examples(self) -> Examples:
        """An example of a size for each dim."""
        return self._find({name: 1 if axis == 0 else OTHER_SIZE for name, axis in self._axes.items()})

    def sizes(self, names: Iterable[str]) -> Sizes:
        """The example of a size for each of some dims."""
        wanted = set(names).intersection(self.dims)
        return tuple((name, self.examples.of[name]) for name in self.dims if name in wanted)

    def bound(self, sizes: Sizes) -> Bound:
        """What would be known if dims had these sizes. Asked twice, it is inferred once."""
        if sizes not in self._bound:
            inputs = [_with(self._facts.of(value), dict(sizes)) for value in self._graph.inputs]
            facts = self._facts.assuming(self._graph, inputs)
            self._bound[sizes] = Bound(facts, Causes(facts))
        return self._bound[sizes]


def _with(fact: Fact, sizes: Mapping[str, int]) -> Fact:
    """The fact of an input, if dims had given sizes."""
    if fact.item is not None:
        fact = dataclasses.replace(fact, item=_with(fact.item, sizes))
    if fact.shape is None:
        return fact
    shape = tuple(
        dim.substitute({symbol: sizes[symbol.name] for symbol in dim.symbols if symbol.name in sizes})
        if isinstance(dim, Dim)
        else dim
        for dim in fact.shape
    )
    return dataclasses.replace(fact, shape=shape)
