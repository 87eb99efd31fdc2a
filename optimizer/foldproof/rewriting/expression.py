"""Rules written as two expressions, a pattern and what it equals: both sides can be executed and checked."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import onnx_ir as ir

from foldproof.errors import UsageError
from foldproof.facts.schema_inference import schema_of
from foldproof.rewriting.rule import LAST_OPSET, Cost, Outcome, Reason, Replace, Rule, documented

if TYPE_CHECKING:
    from foldproof.facts import Facts
    from foldproof.rewriting.builder import Builder

COMMUTATIVE = frozenset(
    {"Add", "Mul", "And", "Or", "Xor", "Equal", "Max", "Min", "BitwiseAnd", "BitwiseOr", "BitwiseXor"}
)
"""Operators of which the first two inputs may be swapped."""


class Variable:
    """A parameter of a pattern: it stands for any value, or for any value of an attribute."""

    def __init__(self, name: str) -> None:
        self.name = name


class Pattern:
    """An operator applied to patterns and variables.

    Args:
        op_type: The operator, of `ai.onnx`.
        inputs: What its inputs match.
        attributes: What its attributes match: a variable or a literal. Others must have their default.

    Raises:
        UsageError: An input is neither a pattern nor a variable.
    """

    def __init__(self, op_type: str, inputs: tuple[Pattern | Variable, ...], attributes: Mapping[str, Any]) -> None:
        for each in inputs:
            if not isinstance(each, (Pattern, Variable)):
                raise UsageError(
                    f"a pattern has the input {each!r} of {op_type}",
                    hint="Take a parameter for it, and let the condition look at its constant",
                )
        self.op_type = op_type
        self.inputs = inputs
        self.attributes = attributes

    @property
    def makers(self) -> tuple[str, ...]:
        """Operators one of which makes an input of a node that matches; none where its inputs may be anything."""
        return tuple({each.op_type: None for each in self.inputs if isinstance(each, Pattern)})

    def matches(
        self, node: ir.Node, bound: Mapping[str, Any], facts: Facts
    ) -> Iterator[tuple[dict[str, Any], list[ir.Node]]]:
        """All ways in which a node matches: the variables with what they stand for, and the nodes that were matched."""
        if (
            node.op_type != self.op_type
            or node.domain
            or len(node.outputs) != 1
            or len(node.inputs) != len(self.inputs)
        ):
            return
        start = self._attributes_match(node, dict(bound), facts)
        if start is None:
            return
        orders = [tuple(node.inputs)]
        if self.op_type in COMMUTATIVE and len(node.inputs) == 2:
            orders.append((node.inputs[1], node.inputs[0]))
        for order in orders:
            for found, nodes in self._inputs_match(order, 0, start, facts):
                yield found, [node, *nodes]

    def _inputs_match(
        self, values: tuple[ir.Value | None, ...], index: int, bound: dict[str, Any], facts: Facts
    ) -> Iterator[tuple[dict[str, Any], list[ir.Node]]]:
        if index == len(values):
            yield bound, []
            return
        value, wanted = values[index], self.inputs[index]
        if isinstance(wanted, Variable):
            if wanted.name not in bound or bound[wanted.name] is value:
                yield from self._inputs_match(values, index + 1, {**bound, wanted.name: value}, facts)
            return
        maker = None if value is None else value.producer()
        if maker is None:
            return
        for found, nodes in wanted.matches(maker, bound, facts):
            for rest, more in self._inputs_match(values, index + 1, found, facts):
                yield rest, [*nodes, *more]

    def _attributes_match(self, node: ir.Node, bound: dict[str, Any], facts: Facts) -> dict[str, Any] | None:
        given = {name: attribute.value for name, attribute in node.attributes.items() if not attribute.is_ref()}
        if len(given) < len(node.attributes):
            return None
        defaults = _defaults(node, facts)
        for name, wanted in self.attributes.items():
            value = given.pop(name, defaults.get(name))
            if not isinstance(wanted, Variable):
                if value != wanted:
                    return None
            elif bound.setdefault(wanted.name, value) != value:
                return None
        return bound if all(value == defaults.get(name) for name, value in given.items()) else None


def _defaults(node: ir.Node, facts: Facts) -> dict[str, Any]:
    return _schema_defaults(node.domain, node.op_type, facts.opset_version(node))


@functools.lru_cache(maxsize=1024)
def _schema_defaults(domain: str, op_type: str, version: int) -> dict[str, Any]:
    schema = schema_of(domain, op_type, version)
    if schema is None:
        return {}
    return {
        name: ir.serde.deserialize_attribute(attribute.default_value).value
        for name, attribute in schema.attributes.items()
        if attribute.default_value.name
    }


class _Writer:
    """Lets a pattern be written as `op.Relu(x)`."""

    def __getattr__(self, op_type: str) -> Callable[..., Pattern]:
        return lambda *inputs, **attributes: Pattern(op_type, inputs, attributes)


def expression_rule(
    *,
    exact: bool,
    benefit: int = 1,
    level: int = 2,
    lowers: Cost = Cost.NODES,
    since: int = 1,
    until: int = LAST_OPSET,
    shared: bool = False,
) -> Callable[[type], Rule]:
    """Makes a rule of a class with two functions (and perhaps a third).

    `pattern(op, x, ...)` and `replacement(op, x, ...)` are written as in onnxscript. What a parameter stands for in the
    pattern, a value or an attribute, it is in the replacement. `condition(facts, x, ...)` may demand more: it returns
    None where the rule applies, or the `Reason` why not. All have the same parameters. The class's docstring starts
    with the rule's equation.

    Args:
        exact: See `Rule.exact`.
        benefit: See `Rule.benefit`.
        level: See `Rule.level`.
        lowers: See `Rule.lowers`.
        since: See `Rule.since`.
        until: See `Rule.until`.
        shared: Also match where an inner value of the pattern is read elsewhere, so that its node stays.

    Raises:
        UsageError: When it is applied to the class: a function or the docstring is missing, the functions have other
            parameters than the pattern, or the pattern holds something else than operators and parameters.
    """

    def make(definition: type) -> Rule:
        written, replacement = (_function(definition, name) for name in ("pattern", "replacement"))
        parameters = _parameters(written)
        pattern = written(_Writer(), *map(Variable, parameters))
        if not isinstance(pattern, Pattern):
            raise UsageError(f"the pattern of {definition.__name__!r} is no operator applied to its parameters")
        condition = vars(definition).get("condition")
        for function in filter(None, (replacement, condition)):
            if _parameters(function) != parameters:
                raise UsageError(
                    f"the {function.__name__} of {definition.__name__!r} has not the parameters of its pattern",
                    hint=f"Give it {', '.join(parameters)} after the first one",
                )

        def apply(node: ir.Node, facts: Facts) -> Outcome:
            outcome: Outcome = None
            for found, nodes in pattern.matches(node, {}, facts):
                arguments = [found.get(name) for name in parameters]
                if not shared and any(_is_read_elsewhere(inner, nodes) for inner in nodes[1:]):
                    outcome = Reason("a value inside the pattern is read elsewhere")
                    continue
                outcome = None if condition is None else condition(facts, *arguments)
                if outcome is None:
                    return Replace(functools.partial(_replaced, replacement, arguments))
            return outcome

        name = snake_case(definition.__name__)
        text = documented(definition, name)
        return Rule(
            name=name,
            op_types=(pattern.op_type,),
            domain="",
            exact=exact,
            apply=apply,
            **text._asdict(),
            benefit=benefit,
            level=level,
            lowers=lowers,
            since=since,
            until=until,
            after=pattern.makers,
        )

    return make


def _function(definition: type, name: str) -> Callable[..., Any]:
    function: Callable[..., Any] | None = vars(definition).get(name)
    if function is None:
        raise UsageError(f"the rule {definition.__name__!r} has no {name}")
    return function


def _parameters(function: Callable[..., Any]) -> list[str]:
    """The names of a function's parameters but the first, which is the writer, the builder or the facts."""
    return list(inspect.signature(function).parameters)[1:]


def _replaced(replacement: Callable[..., Any], arguments: list[Any], op: Builder) -> Any:
    return replacement(op, *arguments)


def _is_read_elsewhere(node: ir.Node, nodes: list[ir.Node]) -> bool:
    return any(
        output.is_graph_output() or any(use.node not in nodes for use in output.uses()) for output in node.outputs
    )


def snake_case(name: str) -> str:
    """The name of a rule that a class states."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")
