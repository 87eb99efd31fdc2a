"""Compares facts with what a runtime really computes: the oracle of the soundness tests.

A fact must hold for each run that the model's contract admits. So a model is run with each value of its main
graph made an output, and what is claimed of a value (dtype, rank, dims, elements, constant, items) is held
against what it was. The runtime is onnxruntime with its optimizations off; the ONNX reference evaluator where
onnxruntime lacks a type or an operator.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from foldproof.facts.dim import Dim, DimLike, Symbol
from foldproof.facts.engine import Facts
from foldproof.facts.fact import Element, Fact, Kind, exact
from tests.facts.running import Feeds, run_all


@dataclasses.dataclass
class Checked:
    """The outcome of a comparison.

    Attributes:
        nodes: How many nodes had at least one output compared.
        values: How many values were compared.
        dims: How many claimed dims were compared, symbolic ones included.
        elements: How many claimed elements were compared.
        contradictions: What is wrong, a text for each value.
        problems: Faults that transfer functions raised.
        runtime: Which runtime told the truth.
    """

    nodes: int = 0
    values: int = 0
    dims: int = 0
    elements: int = 0
    contradictions: list[str] = dataclasses.field(default_factory=list)
    problems: list[str] = dataclasses.field(default_factory=list)
    runtime: str = ""

    @property
    def faults(self) -> list[str]:
        return [*self.contradictions, *(f"inference raised: {problem}" for problem in self.problems)]


def assert_sound(model: onnx.ModelProto, feeds: Feeds | None = None) -> Checked:
    """Asserts that each fact of the main graph's values holds in one run.

    Args:
        model: The model.
        feeds: An array for each graph input (a list for a sequence). None for a model without inputs.

    Raises:
        AssertionError: With all contradictions: value, producer, fact and truth.
        CannotRunError: If neither runtime runs the model.
    """
    checked = check(model, feeds)
    assert not checked.faults, f"unsound, says {checked.runtime}:\n" + "\n".join(checked.faults)
    return checked


def check(model: onnx.ModelProto, feeds: Feeds | None = None) -> Checked:
    """Compares each fact of the main graph's values with the truth of one run."""
    feeds = dict(feeds or {})
    values, runtime = run_all(model, feeds)
    checked = compare(model, values, feeds)
    checked.runtime = runtime
    return checked


def compare(model: onnx.ModelProto, values: Mapping[str, Any], feeds: Feeds) -> Checked:
    """Compares facts with values that are known from elsewhere, such as published outputs.

    Args:
        model: The model.
        values: The values of the main graph by name; those that are left out are not compared.
        feeds: The values of the graph inputs.
    """
    graph, facts = facts_of(model)
    truth = _Truth()
    checked = Checked()
    for value in graph.inputs:
        if value.name in feeds:
            truth.compare(value, facts.of(value), feeds[value.name])
    for node in graph:
        compared = False
        for output in node.outputs:
            fact = facts.of(output)  # inferred in any case: a problem must show
            if output.name in values:
                truth.compare(output, fact, values[output.name])
                checked.values += 1
                compared = True
        checked.nodes += compared
    checked.contradictions = truth.finish()
    checked.dims, checked.elements = truth.dims, truth.elements
    checked.problems = [str(problem) for problem in facts.problems]
    return checked


def facts_of(model: onnx.ModelProto) -> tuple[ir.Graph, Facts]:
    """The graph of a model and the facts of its values, as the pipeline would make them."""
    ir_model = ir.from_proto(_without_maps(model))
    initializers = {tensor.name for tensor in model.graph.initializer}
    inputs = {value.name for value in model.graph.input}
    return ir_model.graph, Facts(ir_model, initializers & inputs if model.ir_version >= 4 else ())


def _without_maps(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without declarations of sequences of maps, which onnx_ir refuses."""
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    for value in (*bare.graph.value_info, *bare.graph.output):
        if value.type.sequence_type.elem_type.HasField("map_type"):
            value.ClearField("type")
    return bare


def random_feeds(model: onnx.ModelProto, symbols: Mapping[str, int], seed: int = 0) -> dict[str, np.ndarray]:
    """Small random values for all tensor inputs, at a binding of the symbols (unnamed dims as `x:0`)."""
    rng = np.random.default_rng(seed)
    initializers = {tensor.name for tensor in model.graph.initializer}
    feeds = {}
    for value in model.graph.input:
        if value.name in initializers:
            continue
        dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        shape = [
            dim.dim_value if dim.HasField("dim_value") else symbols[dim.dim_param or f"{value.name}:{axis}"]
            for axis, dim in enumerate(value.type.tensor_type.shape.dim)
        ]
        feeds[value.name] = np.asarray(rng.integers(0 if dtype.kind in "ub" else -3, 4, shape)).astype(dtype)
    return feeds


# Comparing --------------------------------------------------------------------------------------------------


class _Truth:
    """Holds facts against values. A symbol is learnt where it first stands alone."""

    def __init__(self) -> None:
        self.dims = 0
        self.elements = 0
        self._bound: dict[Symbol, int] = {}
        self._faults: list[str] = []
        self._later: list[tuple[str, Dim, int]] = []

    def compare(self, value: ir.Value, fact: Fact, actual: Any) -> None:
        node = value.producer()
        where = f"{value.name} ({'graph input' if node is None else f'{node.op_type}#{value.index()}'})"
        self._compare(where, fact, actual)

    def finish(self) -> list[str]:
        """All contradictions, after the expressions whose symbols were learnt late are compared too."""
        for where, dim, actual in self._later:
            if dim.symbols <= self._bound.keys():
                self._number(where, dim, actual)
        self._later.clear()
        return self._faults

    def _compare(self, where: str, fact: Fact, actual: Any) -> None:
        if fact.kind is Kind.OPTIONAL:
            if fact.items is not None and len(fact.items) != (actual is not None):
                self._fault(where, fact, "empty" if actual is None else "not empty")
            elif actual is not None and fact.item is not None:
                self._compare(f"content of {where}", fact.item, actual)
        elif fact.kind is Kind.SEQUENCE:
            self._sequence(where, fact, actual)
        elif isinstance(actual, (list, tuple, dict)) or actual is None:
            if fact.dtype is not None or fact.shape is not None or fact.elements is not None:
                self._fault(where, fact, f"a {type(actual).__name__}")
        else:
            self._tensor(where, fact, np.asarray(actual))

    def _sequence(self, where: str, fact: Fact, actual: Any) -> None:
        if not isinstance(actual, (list, tuple)):
            self._fault(where, fact, type(actual).__name__)
            return
        if fact.items is not None:
            if len(fact.items) != len(actual):
                self._fault(where, fact, f"a sequence of {len(actual)}")
                return
            for position, (item, truth) in enumerate(zip(fact.items, actual, strict=True)):
                self._compare(f"{where}[{position}]", item, truth)
        if fact.item is not None:
            for position, truth in enumerate(actual):
                self._compare(f"{where}[{position}]", fact.item, truth)

    def _tensor(self, where: str, fact: Fact, actual: np.ndarray) -> None:
        truth = f"{actual.dtype}{list(actual.shape)} {actual.reshape(-1)[:16].tolist()}"
        dtype = _dtype(actual)
        if fact.dtype is not None and fact.dtype is not dtype:
            self._fault(where, fact, truth)
            return
        if fact.shape is not None:
            if len(fact.shape) != actual.ndim:
                self._fault(where, fact, truth)
                return
            for axis, (dim, size) in enumerate(zip(fact.shape, actual.shape, strict=True)):
                self.dims += 1
                self._number(f"dim {axis} of {where}", dim, size)
        elements = fact.elements
        if elements is not None:
            if len(elements) != actual.size:
                self._fault(where, fact, truth)
                return
            for position, number in enumerate(actual.reshape(-1).tolist()):
                if elements[position] is not None:
                    self.elements += 1
                    self._number(f"element {position} of {where}", elements[position], number)
        if fact.constant is not None and not _same(fact.constant, actual):
            self._fault(where, fact, truth)

    def _number(self, where: str, claimed: Element | DimLike, actual: Any) -> None:
        """One dim or element. Nothing may be claimed of -0.0, NaN and the infinities."""
        number = exact(actual)
        if isinstance(claimed, (int, Fraction)):
            if number is None or claimed != number:
                self._faults.append(f"{where}: proven {claimed}, really {actual}")
            return
        assert isinstance(claimed, Dim)
        if not isinstance(number, int):
            self._faults.append(f"{where}: proven {claimed}, really {actual}")
            return
        unbound = claimed.symbols - self._bound.keys()
        if len(claimed.symbols) == 1 and unbound:
            (symbol,) = unbound
            if claimed == Dim.symbol(*symbol):
                self._bound[symbol] = number
                unbound = frozenset()
        if unbound:
            self._later.append((where, claimed, number))
            return
        if any(self._bound[symbol] < 0 for symbol in claimed.symbols):
            self._faults.append(f"{where}: a symbol of {claimed} is negative, really {actual}")
            return
        try:
            value = claimed.evaluate(self._bound)
        except ZeroDivisionError:
            at = self._binding(claimed)
            self._faults.append(f"{where}: {claimed} divides by zero at {at}, really {actual}")
            return
        if value != number:
            at = self._binding(claimed)
            self._faults.append(f"{where}: proven {claimed} = {value} at {at}, really {actual}")

    def _binding(self, dim: Dim) -> str:
        return ", ".join(f"{symbol.name} = {self._bound[symbol]}" for symbol in sorted(dim.symbols))

    def _fault(self, where: str, fact: Fact, truth: str) -> None:
        self._faults.append(f"{where}: proven {describe(fact)}, really {truth}")


def describe(fact: Fact) -> str:
    """A fact in one line."""
    if fact.kind is not Kind.TENSOR:
        inner = "?" if fact.item is None else describe(fact.item)
        items = "" if fact.items is None else f" = [{', '.join(describe(item) for item in fact.items)}]"
        return f"{fact.kind.value}({inner}){items}"
    dtype = "?" if fact.dtype is None else fact.dtype.name.lower()
    shape = "[...]" if fact.shape is None else f"[{', '.join(map(str, fact.shape))}]"
    elements = fact.elements
    data = ""
    if elements is not None:
        data = f" = [{', '.join('?' if element is None else str(element) for element in elements[:16])}]"
    return f"{dtype}{shape}{data}{' (constant)' if fact.constant is not None else ''}"


def _dtype(actual: np.ndarray) -> ir.DataType:
    return ir.DataType.STRING if actual.dtype.kind in "OSU" else ir.DataType.from_numpy(actual.dtype)


def _same(constant: ir.TensorProtocol, actual: np.ndarray) -> bool:
    """Whether a stored tensor is the array, bit for bit."""
    stored = constant.numpy()
    if stored.shape != actual.shape:
        return False
    if stored.dtype.kind in "OSU":
        return [_text(x) for x in stored.reshape(-1)] == [_text(x) for x in actual.reshape(-1)]
    return stored.dtype == actual.dtype and stored.tobytes() == actual.tobytes()


def _text(x: Any) -> str:
    return x.decode() if isinstance(x, bytes) else str(x)
