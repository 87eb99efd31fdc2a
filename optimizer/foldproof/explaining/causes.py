"""Why a value is not the same in every run, or the same only for some sizes of the dims."""

from __future__ import annotations

import dataclasses

import onnx_ir as ir

from foldproof.explaining.wording import call_text
from foldproof.facts import Dim, Facts, Kind
from foldproof.facts.dim import Symbol
from foldproof.folding.sources import is_source
from foldproof.graphs import operator_name, reads_of
from foldproof.kernels import CROSS_CHECKED


@dataclasses.dataclass(frozen=True)
class Cause:
    """Why a value is no constant.

    Attributes:
        text: A sentence without its full stop.
        value: The value at which it begins.
    """

    text: str
    value: ir.Value


class Causes:
    """Finds out what is constant, and where what is not begins to vary.

    Args:
        facts: What is known.
    """

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._found: dict[ir.Value, Cause | None] = {}

    def is_constant(self, value: ir.Value) -> bool:
        """Whether a value is the same in every run."""
        return self.cause(value) is None

    def cause(self, value: ir.Value) -> Cause | None:
        """Why a value is not the same in every run, None where it is."""
        stack = [value]
        while stack:
            current = stack[-1]
            node = current.producer()
            if current in self._found:
                stack.pop()
            elif (settled := self._at_once(current)) is not None:
                self._found[current] = settled[0]
                stack.pop()
            elif node is not None and (missing := [each for each in _by_content(node) if each not in self._found]):
                stack.extend(missing)
            else:
                assert node is not None, "what no node makes is settled at once"
                self._found[current] = self._of_node(node)
                stack.pop()
        return self._found[value]

    def _at_once(self, value: ir.Value) -> tuple[Cause | None] | None:
        """The answer for what can be told without what is further up, None for nothing."""
        facts = self._facts
        fact = facts.of(value)
        node = value.producer()
        filled = fact.kind is Kind.TENSOR and fact.is_static and isinstance(fact.fill, int)
        if is_source(value, facts) or filled:
            return (None,)
        if node is None:
            return (self._of_source(value),)
        symbol = next((s for each in fact.elements or () if isinstance(each, Dim) for s in sorted(each.symbols)), None)
        if symbol is not None:
            return (Cause(self._of_symbol(symbol), value),)
        if not facts.is_deterministic(node):
            known = (
                "nothing is known of what it does" if facts.is_opaque(node) else "it may give another result each time"
            )
            return (Cause(f"{value.name} = {call_text(node)}: {known}", value),)
        if node.op_type in CROSS_CHECKED and not node.domain:
            return (self._of_unknown_shape(node),)
        return None

    def _of_unknown_shape(self, node: ir.Node) -> Cause:
        """Where the shape that a node looks at was lost: at the first node of which it is unknown."""
        read = next((value for value in node.inputs if value is not None), None)
        if read is None:
            return Cause("its input is left out", node.outputs[0])
        seen: set[ir.Value] = set()
        while (maker := read.producer()) is not None and read not in seen:
            seen.add(read)
            further = next((each for each in reads_of(maker) if self._facts.of(each).shape is None), None)
            if further is None:
                break
            read = further
        if maker is None:
            return Cause(f"the rank of {read.name} is not known", read)
        why = f": nothing is known of what {operator_name(maker)} does" if self._facts.is_opaque(maker) else ""
        return Cause(f"the rank of {read.name} = {call_text(maker)} is not known{why}", read)

    def _of_source(self, value: ir.Value) -> Cause:
        facts = self._facts
        owner = None if value.graph is None else facts.owner(value.graph)
        if owner is not None:
            what = f"what the body of {call_text(owner)} is given as {value.name}"
        elif value.is_initializer() and facts.is_overridable(value):
            what = f"{value.name}, a default that the caller may override"
        elif facts.is_in_main(value.graph):
            what = f"what is in the input {value.name}"
        else:
            what = f"what the function is given as {value.name}"
        return Cause(f"it depends on {what}", value)

    def _of_node(self, node: ir.Node) -> Cause | None:
        causes = [(value, cause) for value in _by_content(node) if (cause := self._found[value]) is not None]
        return causes[0][1] if causes else None

    def _of_symbol(self, symbol: Symbol) -> str:
        if symbol.scope <= 0:
            return f"it depends on the size of {symbol.name}"
        place = self._facts.birthplace(symbol)
        if place is None:
            return f"the size {symbol.name} is known only when the model runs"
        value, axis = place
        node = value.producer()
        if node is None:
            return f"dim {axis} of {value.name} is known only when the model runs"
        text = f"dim {axis} of {value.name} = {call_text(node)} is known only when the model runs"
        if self._facts.is_opaque(node):
            return f"{text}: nothing is known of what {operator_name(node)} does"
        begin = self._data_of(node)
        return text if begin is None else f"{text}: {begin.text}"

    def _data_of(self, node: ir.Node) -> Cause | None:
        """What decides on a dim that a node makes: of what it reads, integers before all else, as a target shape is."""
        varying = [value for value in _by_content(node) if not self.is_constant(value)]
        varying.sort(key=lambda value: not self._is_small_integers(value))
        return self.cause(varying[0]) if varying else None

    def _is_small_integers(self, value: ir.Value) -> bool:
        fact = self._facts.of(value)
        return fact.dtype is not None and fact.dtype.is_integer() and fact.rank in (0, 1)


def _by_content(node: ir.Node) -> tuple[ir.Value, ...]:
    """What a node reads with its content, all but those of which it looks at the shape alone."""
    return () if node.op_type in CROSS_CHECKED and not node.domain else reads_of(node)
