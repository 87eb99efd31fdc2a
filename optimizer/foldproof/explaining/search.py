"""Looks for the fewest dims that would have to be bound so that something becomes static."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence

import onnx_ir as ir

from foldproof.explaining.binding import Bindings, Bound, Sizes
from foldproof.explaining.causes import Cause, Causes
from foldproof.explaining.subjects import Subject
from foldproof.explaining.wording import call_text
from foldproof.facts import Dim, Facts
from foldproof.graphs import all_graphs

MAX_CALLS = 8
"""Of more calls of a function than these, those that come first are looked at."""


class Search:
    """Looks for dims to bind.

    Args:
        model: The model.
        bindings: Its dims, and what would be known if they were bound.
    """

    def __init__(self, model: ir.Model, bindings: Bindings) -> None:
        self._bindings = bindings
        self._main = model.graph
        self._functions = {function.graph: function.identifier() for function in model.functions.values()}
        self._causes: dict[Facts, Causes] = {}
        self._found: dict[tuple[ir.Graph, Facts], list[tuple[str, Facts]]] = {}
        self._calls: dict[ir.OperatorIdentifier, list[ir.Node]] = {}
        if model.functions:
            for graph in all_graphs(model):
                for node in graph:
                    self._calls.setdefault(node.op_identifier(), []).append(node)

    def to_fold(self, subject: Subject) -> Sizes | None:
        """The fewest dims that make a node constant, in all calls where it stands in a function. None where none do."""
        known = self._bindings.bound(()).facts.of(subject.value).elements or ()
        symbols = {symbol.name for each in known if isinstance(each, Dim) for symbol in each.symbols}
        return self._fewest(lambda bound: self.cause(subject, bound) is None, symbols)

    def to_know_shape(self, subject: Subject) -> Sizes | None:
        """The fewest dims that make the shapes of all outputs static. None where none do."""
        dims = self._bindings.bound(()).facts.of(subject.value).shape or ()
        symbols = {symbol.name for each in dims if isinstance(each, Dim) for symbol in each.symbols}

        def is_static(bound: Bound) -> bool:
            contexts = self.contexts(subject, bound.facts)
            return bool(contexts) and all(f.of(value).is_static for _, f in contexts for value in subject.results)

        return self._fewest(is_static, symbols)

    def cause(self, subject: Subject, bound: Bound) -> Cause | None:
        """Why a node is not constant, None where it is."""
        if self._is_in_function(subject):
            contexts = self.contexts(subject, bound.facts)
            every: Iterable[Causes] = [self._causes.setdefault(facts, Causes(facts)) for _, facts in contexts]
            if not contexts:
                return Cause("nothing calls its function", subject.value)
        else:
            every = (bound.causes,)
        return next((cause for each in every for value in subject.results if (cause := each.cause(value))), None)

    def cause_at_best(self, subject: Subject) -> Cause | None:
        """Why a node is not constant even if all dims are bound, None where it is."""
        return self.cause(subject, self._bindings.bound(self._bindings.sizes(self._bindings.dims)))

    def contexts(self, subject: Subject, facts: Facts) -> Sequence[tuple[str, Facts]]:
        """The calls in which a node may run, each with what is known there; of what is in no function, there is one."""
        root = facts.root(_graph_of(subject))
        if (root, facts) not in self._found:
            self._found[root, facts] = self._contexts(root, facts)
        return self._found[root, facts]

    def _contexts(self, root: ir.Graph, facts: Facts) -> list[tuple[str, Facts]]:
        if root is self._main:
            return [("", facts)]
        found: list[tuple[str, Facts]] = []
        for call in self._calls.get(self._functions[root], ()):
            assert call.graph is not None
            for path, outer in self._contexts(facts.root(call.graph), facts):
                inner = outer.called(call)
                if inner is not None and len(found) < MAX_CALLS:
                    found.append((f"{path} > {call_text(call)}" if path else call_text(call), inner))
        return found

    def _is_in_function(self, subject: Subject) -> bool:
        return self._bindings.bound(()).facts.root(_graph_of(subject)) is not self._main

    def _fewest(self, is_enough: Callable[[Bound], bool], first: set[str]) -> Sizes | None:
        """The fewest dims that are enough, so that none of them can be left out; those that are named first of all."""
        bound = functools.partial(_asked, is_enough, self._bindings)
        if bound(()):
            return ()
        chosen = self._bindings.sizes(first)
        if not chosen or not bound(chosen):
            chosen = self._bindings.sizes(self._bindings.dims)
            if not bound(chosen):
                return None
        for dim in chosen:
            fewer = tuple(each for each in chosen if each != dim)
            if bound(fewer):
                chosen = fewer
        return chosen


def _asked(is_enough: Callable[[Bound], bool], bindings: Bindings, sizes: Sizes) -> bool:
    return is_enough(bindings.bound(sizes))


def _graph_of(subject: Subject) -> ir.Graph:
    graph = subject.value.graph
    assert graph is not None, "it stands in the model"
    return graph
