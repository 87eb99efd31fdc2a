"""What a rule is: a named rewrite with one local reason, which says when it applies and what replaces what."""

from __future__ import annotations

import dataclasses
import enum
import inspect
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import onnx_ir as ir

from foldproof.errors import UsageError

if TYPE_CHECKING:
    from foldproof.facts import Facts
    from foldproof.rewriting.builder import Builder

ANY = "*"
"""The operator name of a rule that is tried at each node."""


@dataclasses.dataclass(frozen=True)
class Reason:
    """Why a rule does not apply. The text is put together only when somebody asks.

    Args:
        template: A sentence without its full stop, with `{}` for each argument.
        arguments: What goes in, such as a dim. A value of the model goes in by its name.
    """

    template: str
    arguments: tuple[object, ...]

    def __init__(self, template: str, *arguments: object) -> None:
        object.__setattr__(self, "template", template)
        object.__setattr__(self, "arguments", arguments)

    def __str__(self) -> str:
        # A value's own text shows its elements, which it might not have.
        return self.template.format(*(each.name if isinstance(each, ir.Value) else each for each in self.arguments))


@dataclasses.dataclass(frozen=True)
class Constant:
    """Each output of the node becomes a constant.

    Attributes:
        tensors: Their values. Arrays of numpy, or tensors of the IR; None for an output that nobody reads.
    """

    tensors: tuple[np.ndarray[Any, Any] | np.generic | ir.TensorProtocol | None, ...]

    def __init__(self, *tensors: np.ndarray[Any, Any] | np.generic | ir.TensorProtocol | None) -> None:
        object.__setattr__(self, "tensors", tensors)


@dataclasses.dataclass(frozen=True)
class Forward:
    """Each output of the node is read from a value that is there already; None keeps an output that nobody reads."""

    values: tuple[ir.Value | None, ...]

    def __init__(self, *values: ir.Value | None) -> None:
        object.__setattr__(self, "values", values)


@dataclasses.dataclass(frozen=True)
class Replace:
    """New nodes take the node's place.

    Attributes:
        build: Makes them, as `op.Size(x)`, and returns the values that replace the node's outputs, in their order;
            None for one that nothing reads.
        gone_too: Other nodes that go with it. What `build` returns ends with what replaces their outputs.
    """

    build: Callable[[Builder], ir.Value | Sequence[ir.Value | None]]
    gone_too: tuple[ir.Node, ...] = ()


@dataclasses.dataclass(frozen=True)
class Remove:
    """The node, or the initializer, goes: nothing reads it."""


Action: TypeAlias = "Constant | Forward | Replace | Remove"
Outcome: TypeAlias = "Action | Reason | None"
"""What a rule says at a node: what to do, the reason why not, or None where the node is not its concern."""


class Cost(enum.IntEnum):
    """What rules lower: each rewrite lowers the one that its rule declares, and raises none that stands before it.

    Compared in this order, like the letters of words, the costs of a model fall with each rewrite; they are whole
    numbers, so rewriting ends. What nothing reads counts for the last one only, and after all of them in the same way.
    """

    CALLS = 0
    """Calls of the model's own functions. One that calls no other is inlined first: so none comes with its body."""
    CONTROL = 1
    """Nodes that hold bodies; one that holds such nodes counts more than they do, however often they are copied."""
    NODES = 2
    """Nodes, also in bodies and functions. A constant is none, an Identity half a one: it may only name an output."""
    NESTING = 3
    """Nodes in bodies, each counted once for each body around it."""
    EXPRESSION = 4
    """Operators of what the graphs give, each output written out as one expression, in which nothing is shared."""
    FORM = 5
    """Nodes in a form for which there is a cheaper one. No rule leads back from that."""
    OPERANDS = 6
    """Values that nodes read and make; those that are not constant count twice."""
    STORED = 7
    """Nodes and initializers in all, also those that nothing reads."""


LAST_OPSET = 2**31 - 1
"""No version of an operator set is later."""


@dataclasses.dataclass(frozen=True)
class Rule:
    """A named rewrite.

    Attributes:
        name: Its name, unique among all rules of a run.
        op_types: The operators at which it is tried; `ANY` for all.
        domain: Their domain; the empty string is `ai.onnx`.
        exact: Whether outputs stay bit for bit the same for every admitted input. Otherwise floats may round
            differently, as in real arithmetic both sides are equal.
        apply: The function that is asked at each such node.
        equation: What equals what, and when; one line.
        benefit: Rules of one node are tried from the highest benefit down.
        explanation: The rest of what its author says.
        of_initializers: Whether it is asked about initializers instead of nodes.
        level: The lowest optimization level at which it is applied: 1 folds shapes and cleans up, 2 is the default, 3
            may make the file grow.
        example: A small model to which it applies, in ONNX's text form: the graph, with its header if it needs a
            certain opset. Empty for none.
        lowers: The cost that each of its rewrites lowers.
        since: The first version of the operators' opset at which it is tried.
        until: The last one.
        on_request: Whether it is applied only where the person asks for it by its name, or by the option of that name.
        after: Operators of `ai.onnx`, one of which makes an input of each node at which it may apply: it is tried at no
            other. Empty for any.
        early: Whether it is tried before all others too, in a sweep from the outputs to the inputs. It asks for nothing
            but facts, and lets whole computations die, which others would rewrite in vain.
        family: The module that it stands in: rules of one kind stand together.
    """

    name: str
    op_types: tuple[str, ...]
    domain: str
    exact: bool
    apply: Callable[[Any, Facts], Outcome]
    equation: str
    benefit: int = 1
    explanation: str = ""
    of_initializers: bool = False
    level: int = 1
    example: str = ""
    lowers: Cost = Cost.NODES
    since: int = 1
    until: int = LAST_OPSET
    on_request: bool = False
    after: tuple[str, ...] = ()
    early: bool = False
    family: str = ""

    def __call__(self, subject: ir.Node | ir.Value, facts: Facts) -> Outcome:
        """Asks the rule, so that a rule can be tested as the function that it was written as."""
        return self.apply(subject, facts)

    def is_for(self, domain: str, op_type: str, version: int) -> bool:
        """Whether it is tried at the nodes of an operator, in a version of its domain's opset."""
        if ANY in self.op_types:
            return True
        return domain == self.domain and op_type in self.op_types and self.since <= version <= self.until

    def is_after(self, makers: frozenset[str]) -> bool:
        """Whether it is tried at a node whose inputs are made by some operators."""
        return not self.after or not makers.isdisjoint(self.after)


def rule(
    *op_types: str,
    exact: bool,
    domain: str = "",
    benefit: int = 1,
    level: int = 2,
    lowers: Cost = Cost.NODES,
    since: int = 1,
    until: int = LAST_OPSET,
    on_request: bool = False,
    after: Iterable[str] = (),
    early: bool = False,
) -> Callable[[Callable[[ir.Node, Facts], Outcome]], Rule]:
    """Makes a rule of a function `(node, facts) -> outcome`, whose docstring starts with the rule's equation.

    Args:
        op_types: The operators at which it is tried; `ANY` for all.
        exact: See `Rule.exact`.
        domain: The operators' domain.
        benefit: See `Rule.benefit`.
        level: See `Rule.level`.
        lowers: See `Rule.lowers`.
        since: See `Rule.since`.
        until: See `Rule.until`.
        on_request: See `Rule.on_request`.
        after: See `Rule.after`.
        early: See `Rule.early`.
    """

    def make(function: Callable[[ir.Node, Facts], Outcome]) -> Rule:
        text = documented(function, function.__name__)
        return Rule(
            name=function.__name__,
            op_types=op_types,
            domain=domain,
            exact=exact,
            apply=function,
            **text._asdict(),
            benefit=benefit,
            level=level,
            lowers=lowers,
            since=since,
            until=until,
            on_request=on_request,
            after=tuple(after),
            early=early,
        )

    return make


def initializer_rule(
    *, exact: bool, level: int = 2, lowers: Cost = Cost.STORED
) -> Callable[[Callable[[ir.Value, Facts], Outcome]], Rule]:
    """Makes a rule of a function `(initializer, facts) -> outcome`, which may remove it or forward another."""

    def make(function: Callable[[ir.Value, Facts], Outcome]) -> Rule:
        text = documented(function, function.__name__)
        return Rule(
            name=function.__name__,
            op_types=(),
            domain="",
            exact=exact,
            apply=function,
            **text._asdict(),
            level=level,
            lowers=lowers,
            of_initializers=True,
        )

    return make


class Documentation(NamedTuple):
    """What a rule's docstring tells: see the attributes of `Rule`."""

    equation: str
    explanation: str
    example: str
    family: str


def documented(definition: object, name: str) -> Documentation:
    """Reads a rule's docstring.

    The first line is the equation. The example is the last section, under the line `Example:`.

    Args:
        definition: The function or class that the rule is made of.
        name: The rule's name.

    Raises:
        UsageError: There is no docstring.
    """
    text, _, example = inspect.cleandoc(getattr(definition, "__doc__", None) or "").partition("\nExample:\n")
    equation, _, explanation = text.partition("\n")
    if not equation:
        raise UsageError(f"the rule {name!r} has no docstring", hint="Start it with the rule's equation")
    family = str(getattr(definition, "__module__", "")).rpartition(".")[2]
    return Documentation(equation, explanation.strip(), textwrap.dedent(example).strip(), family)
