"""Computes nodes in batches: one session for all that is ready, and bisection where one of them fails."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import onnx_ir as ir

from foldproof.engines import Engine, EngineError, OnnxRuntime, Reference, has_onnxruntime
from foldproof.facts import Facts
from foldproof.folding import batch
from foldproof.folding.candidates import reads_of
from foldproof.folding.limits import SECONDS

_SIGNS_OF_LACKING = (
    "NOT_IMPLEMENTED",
    "INVALID_GRAPH",
    "not currently registered or supported",
    "can't hand over",
    "ValidateOpsetForDomain",
    "is not a registered function/op",
    "not supported",
)
"""What onnxruntime says where it lacks an operator, a type or an opset. Anything else is a failure of the computation
itself, which another engine must not overlook: the ONNX reference divides by 0, for one."""


_EXACT = frozenset({ir.DataType.BOOL, ir.DataType.STRING})


class Evaluator:
    """Computes nodes of a model.

    Args:
        model: The model.
        facts: Its facts.

    Attributes:
        failures: Why a node could not be computed.
        sessions: How many models were loaded, by the name of the engine.
    """

    def __init__(self, model: ir.Model, facts: Facts) -> None:
        self._model = model
        self._facts = facts
        self._has_runtime = has_onnxruntime()
        self._lacking: set[Hashable] = set()
        self.failures: dict[ir.Node, str] = {}
        self.sessions = 0

    def evaluate(self, nodes: Sequence[ir.Node], wanted: Sequence[ir.Value]) -> dict[ir.Value, Any]:
        """Computes nodes.

        Args:
            nodes: The nodes, each after those that it reads, all in the main graph or all in one function.
            wanted: The values that are needed.

        Returns:
            Of the wanted values those that could be computed: arrays, or lists of arrays.
        """
        computed: dict[ir.Value, Any] = {}
        self._evaluate(nodes, dict.fromkeys(wanted), computed, SECONDS)
        return {value: computed[value] for value in wanted if value in computed}

    def _evaluate(
        self, nodes: Sequence[ir.Node], wanted: dict[ir.Value, None], computed: dict[ir.Value, Any], seconds: float
    ) -> None:
        """Computes nodes, those that the runtime is known to lack by the reference, one by one."""
        parts = list(self._parts(nodes))
        for number, part in enumerate(parts):
            later = [node for other in parts[number + 1 :] for node in other]
            self._run(part, self._needed(part, later, wanted), computed, seconds)

    def _parts(self, nodes: Sequence[ir.Node]) -> Iterator[list[ir.Node]]:
        part: list[ir.Node] = []
        for node in nodes:
            if self._signature(node) in self._lacking:
                if part:
                    yield part
                yield [node]
                part = []
            else:
                part.append(node)
        if part:
            yield part

    def _needed(
        self, nodes: Sequence[ir.Node], later: Sequence[ir.Node], wanted: dict[ir.Value, None]
    ) -> dict[ir.Value, None]:
        """What must be handed out of nodes: what is wanted, and what later ones read."""
        read = {value for node in later for value in reads_of(node)}
        return {value: None for node in nodes for value in node.outputs if value in wanted or value in read}

    def _run(
        self, nodes: Sequence[ir.Node], wanted: dict[ir.Value, None], computed: dict[ir.Value, Any], seconds: float
    ) -> None:
        nodes = self._reachable(nodes, computed)
        wanted = {value: None for node in nodes for value in node.outputs if value in wanted}
        if not wanted:
            return
        if len(nodes) == 1:
            self._run_alone(nodes[0], wanted, computed, seconds)
            return
        try:
            computed.update(zip(wanted, self._results(OnnxRuntime, nodes, wanted, computed, seconds), strict=True))
        except EngineError:
            middle = len(nodes) // 2
            first, second = nodes[:middle], nodes[middle:]
            self._evaluate(first, self._needed(first, second, wanted), computed, seconds / 2)
            self._evaluate(second, wanted, computed, seconds / 2)

    def _reachable(self, nodes: Sequence[ir.Node], computed: dict[ir.Value, Any]) -> list[ir.Node]:
        """The nodes that don't depend on one that failed."""
        reachable: dict[ir.Node, None] = {}
        missing: set[ir.Value] = {output for node in self.failures for output in node.outputs}
        for node in nodes:
            if any(value in missing and value not in computed for value in reads_of(node)):
                missing.update(node.outputs)
            else:
                reachable[node] = None
        return list(reachable)

    def _run_alone(
        self, node: ir.Node, wanted: dict[ir.Value, None], computed: dict[ir.Value, Any], seconds: float
    ) -> None:
        errors = []
        signature = self._signature(node)
        kinds: list[type[OnnxRuntime] | type[Reference]] = [OnnxRuntime, Reference]
        if signature in self._lacking:
            kinds = [Reference]
        if not self._has_runtime:
            kinds = [Reference]
            if self._rounds(node):
                self.failures[node] = "onnxruntime is not installed, and nothing else rounds as it does"
                return
        for kind in kinds:
            try:
                results = self._results(kind, [node], wanted, computed, seconds)
                computed.update(zip(wanted, results, strict=True))
                return
            except Unsupported as error:
                self._lacking.add(signature)
                errors.append(error.brief)
            except EngineError as error:
                errors.append(error.brief)
                break
        self.failures[node] = "; ".join(errors)

    def _rounds(self, node: ir.Node) -> bool:
        """Whether floats take part, so that another engine than the runtime may give other bits."""
        dtypes = [self._facts.of(value).dtype for value in (*reads_of(node), *node.outputs)]
        return any(dtype is None or not (dtype.is_integer() or dtype in _EXACT) for dtype in dtypes)

    def _signature(self, node: ir.Node) -> Hashable:
        """What decides whether a runtime has a kernel for a node."""
        types = tuple(self._facts.of(value).dtype for value in (*node.inputs, *node.outputs))
        return node.domain, node.op_type, self._facts.opset_version(node), types

    def _results(
        self,
        kind: type[OnnxRuntime] | type[Reference],
        nodes: Sequence[ir.Node],
        wanted: dict[ir.Value, None],
        computed: dict[ir.Value, Any],
        seconds: float,
    ) -> list[Any]:
        if kind is OnnxRuntime and not self._has_runtime:
            raise EngineError("onnxruntime is not installed")
        written = batch.write(nodes, wanted, computed, self._model, self._facts)
        self.sessions += 1
        try:
            engine: Engine = kind(written.proto)
            return engine.run(written.feeds, seconds)
        except EngineError as error:
            if any(sign in str(error) for sign in _SIGNS_OF_LACKING):
                raise Unsupported(str(error)) from error
            raise
        finally:
            written.release()


class Unsupported(EngineError):
    """The engine lacks an operator or a type."""
