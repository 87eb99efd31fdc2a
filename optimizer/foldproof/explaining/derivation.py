"""Why something is known of a value: what it rests on, back to the inputs of the model.

Nothing is written down while facts are inferred. What a fact rests on is found by asking again: if an input of its node
was known less well, would less be known of the value?
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator

import onnx_ir as ir

from foldproof.explaining.wording import content_text, dims_text, source_text
from foldproof.facts import Dim, Element, Fact, Facts, NodeView
from foldproof.facts.engine import Supposition
from foldproof.facts.registry import body_inputs_of
from foldproof.graphs import reads_of

MAX_STEPS = 1000
"""After so many steps back a derivation is cut off."""


class Aspect(enum.Enum):
    """What is known of a value: its dims, or its elements."""

    SHAPE = "shape"
    ELEMENTS = "elements"

    def text(self, fact: Fact) -> str:
        """What a fact says of it, empty for nothing."""
        if self is Aspect.SHAPE:
            return "" if fact.shape is None else f"[{dims_text(fact.shape)}]"
        return content_text(fact) or ""


@dataclasses.dataclass(frozen=True)
class Step:
    """One step back.

    Attributes:
        value: The name of the value of which something is known.
        aspect: `shape` or `elements`.
        known: What is known.
        source: Where the value comes from: a node, an input, an initializer.
        by: The names of the values by which it is known.
        skipped: How many nodes that hand it on unchanged stand between.
    """

    value: str
    aspect: str
    known: str
    source: str
    by: tuple[str, ...]
    skipped: int = 0


@dataclasses.dataclass(frozen=True)
class Derivation:
    """Why something is known of a value.

    Attributes:
        steps: From the value back, the nearest first.
        inputs: The inputs of the model on whose declared types it rests.
        initializers: The initializers that it rests on.
        is_complete: Whether it was followed to the end.
    """

    steps: tuple[Step, ...]
    inputs: tuple[str, ...]
    initializers: tuple[str, ...]
    is_complete: bool = True


_Known = tuple[ir.Value, Aspect]


class Deriver:
    """Derives what is known.

    Args:
        facts: What is known.
    """

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._reasons: dict[_Known, tuple[_Known, ...]] = {}

    def derive(self, value: ir.Value, limit: int = MAX_STEPS) -> Derivation:
        """Why what is known of a value is known: of its elements, or else of its shape.

        Args:
            value: The value.
            limit: After so many steps back it is cut off.
        """
        steps: list[Step] = []
        inputs: dict[str, None] = {}
        initializers: dict[str, None] = {}
        aspect = Aspect.ELEMENTS if Aspect.ELEMENTS.text(self._facts.of(value)) else Aspect.SHAPE
        queue: list[_Known] = [(value, aspect)]
        seen = set(queue)
        for known in queue:  # it grows meanwhile
            if len(steps) >= limit:
                return Derivation(tuple(steps), tuple(inputs), tuple(initializers), is_complete=False)
            current, of = known
            text = of.text(self._facts.of(current))
            reasons, skipped = self._changing(known)
            steps.append(
                Step(
                    str(current.name),
                    of.value,
                    text,
                    source_text(current, self._facts),
                    tuple(dict.fromkeys(str(reason.name) for reason, _ in reasons)),
                    skipped,
                )
            )
            if current.producer() is None:
                if current.is_initializer():
                    initializers[str(current.name)] = None
                elif self._is_input(current):
                    inputs[str(current.name)] = None
            fresh = [each for each in reasons if each not in seen]
            seen.update(fresh)
            queue.extend(fresh)
        return Derivation(tuple(steps), tuple(inputs), tuple(initializers))

    def _is_input(self, value: ir.Value) -> bool:
        return value.graph is not None and self._facts.owner(value.graph) is None

    def _changing(self, known: _Known) -> tuple[tuple[_Known, ...], int]:
        """What something rests on, past the nodes that only hand it on, and how many these are."""
        text = known[1].text(self._facts.of(known[0]))
        reasons, skipped = self._rests_on(known), 0
        while len(reasons) == 1 and reasons[0][1] is known[1] and known[1].text(self._facts.of(reasons[0][0])) == text:
            further = self._rests_on(reasons[0])
            if len(further) != 1 or reasons[0][0].producer() is None:
                break
            reasons, skipped = further, skipped + 1
        return reasons, skipped

    def _rests_on(self, known: _Known) -> tuple[_Known, ...]:
        if known not in self._reasons:
            self._reasons[known] = tuple(self._find(*known))
        return self._reasons[known]

    def _find(self, value: ir.Value, aspect: Aspect) -> Iterator[_Known]:
        """Of what a node reads, all of which something must be known so that this is known of the value."""
        if not aspect.text(self._facts.of(value)):
            return
        node = value.producer()
        owner = self._facts.owner(value.graph) if node is None and value.graph is not None else None
        reader = owner if node is None else node
        for read in () if reader is None else reads_of(reader):
            for of, weaker in _weaker(self._facts.of(read)):
                if self._is_lost(value, aspect, node, owner, self._facts.supposing({read: weaker})):
                    yield read, of
                    break

    def _is_lost(
        self, value: ir.Value, aspect: Aspect, node: ir.Node | None, owner: ir.Node | None, supposed: Supposition
    ) -> bool:
        """Whether less would be known of a value if what is supposed was all that is known of what its node reads."""
        fact = self._facts.of(value)
        if node is not None:
            supposed.infer(node)
            less = supposed.of(value)
        else:
            infer = None if owner is None else body_inputs_of(owner)
            if infer is None or owner is None or value.graph is None:
                return False
            facts = infer(NodeView(owner, supposed), value.graph)
            index = next((k for k, each in enumerate(value.graph.inputs) if each is value), len(facts))
            if index >= len(facts):
                return False
            less = facts[index]
        if aspect is Aspect.ELEMENTS and fact.elements is None:
            return less.constant is None and less.fill != fact.fill
        before, after = (each.shape if aspect is Aspect.SHAPE else each.elements for each in (fact, less))
        if before is None or after is None or len(before) != len(after):
            return before is not after
        return any(x != y and x != self._reborn(y, supposed) for x, y in zip(before, after, strict=True))

    def _reborn(self, number: Element, supposed: Supposition) -> Element:
        """A number with the symbols that came up in a supposition as those that came up in the same place in truth."""
        if not isinstance(number, Dim):
            return number
        places = {symbol: supposed.birthplace(symbol) for symbol in number.symbols}
        return number.substitute({symbol: self._facts.fresh(*place) for symbol, place in places.items() if place})


def _weaker(fact: Fact) -> Iterator[tuple[Aspect, Fact]]:
    """What could be known less of a value: nothing of its elements, then nothing of its shape either."""
    if any(each is not None for each in (fact.known_elements, fact.constant, fact.known_fill, fact.items)):
        less = dataclasses.replace(fact, known_elements=None, constant=None, known_fill=None, items=None)
        yield Aspect.ELEMENTS, less
    yield Aspect.SHAPE, Fact(dtype=fact.dtype, kind=fact.kind, basis=fact.basis)
