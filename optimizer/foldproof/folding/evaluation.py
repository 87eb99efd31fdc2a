"""Computes nodes in batches: one session for all that is ready, and bisection where one of them fails.

The sessions run in a child process. A node that crashes it or hangs costs a new process, and no other node its fold.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from foldproof.engines import Engine, EngineError, OnnxRuntime, Reference, TimedOut, Worker, has_onnxruntime
from foldproof.facts import Facts
from foldproof.folding import batch
from foldproof.folding.determined import determined, may_be_determined
from foldproof.folding.limits import (
    ENDLESS_SECONDS,
    MEMORY,
    MEMORY_FACTOR,
    PATIENCE,
    SECONDS,
    STRING_BYTES,
    is_endless,
    makes_strings,
)
from foldproof.folding.sources import is_source, size_of, string_bytes, tensor_of
from foldproof.graphs import reads_of
from foldproof.large_tensors import let_go

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
        worker: The process that onnxruntime runs in; unless given, one that was lent, or one of its own. It is started
            when it is needed.

    Attributes:
        failures: Why a node could not be computed.
        sessions: How many models were loaded.
    """

    def __init__(self, model: ir.Model, facts: Facts, worker: Worker | None = None) -> None:
        self._model = model
        self._facts = facts
        self._has_runtime = has_onnxruntime()
        self._worker = worker or Worker.borrowed() or Worker()
        self._patience = PATIENCE
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
        others = [node for node in nodes if not self._determine(node, computed)]
        self._evaluate(others, dict.fromkeys(wanted), computed, SECONDS)
        return {value: computed[value] for value in wanted if value in computed}

    def _determine(self, node: ir.Node, computed: dict[ir.Value, Any]) -> bool:
        """Computes a node whose result no runtime chooses, if all that it reads is at hand; whether it did."""
        if not may_be_determined(node):
            return False
        inputs: list[Any] = []
        for value in node.inputs:
            if value is None:
                inputs.append(None)
            elif value in computed:
                inputs.append(computed[value])
            elif is_source(value, self._facts):
                tensor = tensor_of(value, self._facts)
                with let_go(tensor):  # no view of it may be left
                    inputs.append(np.array(tensor.numpy()) if isinstance(tensor, ir.ExternalTensor) else tensor.numpy())
            else:
                return False
        found = determined(node, inputs, self._facts)
        if found is None:
            return False
        computed.update(zip(node.outputs, found, strict=True))
        return True

    def _evaluate(
        self, nodes: Sequence[ir.Node], wanted: dict[ir.Value, None], computed: dict[ir.Value, Any], seconds: float
    ) -> None:
        """Computes nodes: all at once, but for those that are better alone."""
        parts = list(self._parts(nodes))
        for number, part in enumerate(parts):
            later = [node for other in parts[number + 1 :] for node in other]
            self._run(part, self._needed(part, later, wanted), computed, seconds)

    def _parts(self, nodes: Sequence[ir.Node]) -> Iterator[list[ir.Node]]:
        """Nodes that run together. What the runtime is known to lack, what may never end or makes strings, is alone."""
        part: list[ir.Node] = []
        for node in nodes:
            is_lacking = bool(self._lacking) and self._signature(node) in self._lacking
            if is_lacking or is_endless(node, self._facts) or makes_strings(node, self._facts):
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
        except EngineError as error:
            if isinstance(error, TimedOut):
                seconds /= 2  # so that all halves together take no more than twice the time
            middle = len(nodes) // 2
            first, second = nodes[:middle], nodes[middle:]
            self._evaluate(first, self._needed(first, second, wanted), computed, seconds)
            self._evaluate(second, wanted, computed, seconds)

    def _reachable(self, nodes: Sequence[ir.Node], computed: dict[ir.Value, Any]) -> list[ir.Node]:
        """The nodes whose inputs are all at hand, so that they don't depend on one that failed."""
        reachable: dict[ir.Node, None] = {}
        made: set[ir.Value] = set(computed)
        for node in nodes:
            if all(value in made or is_source(value, self._facts) for value in reads_of(node)):
                reachable[node] = None
                made.update(node.outputs)
        return list(reachable)

    def _run_alone(
        self, node: ir.Node, wanted: dict[ir.Value, None], computed: dict[ir.Value, Any], seconds: float
    ) -> None:
        has_strings = makes_strings(node, self._facts)
        if has_strings and self._string_bytes(node, computed) > STRING_BYTES:
            self.failures[node] = f"the strings that it reads have more than {STRING_BYTES >> 20} MiB"
            return
        errors = []
        signature = self._signature(node)
        kinds: list[type[OnnxRuntime] | type[Reference]] = [OnnxRuntime, Reference]
        if signature in self._lacking:
            kinds = [Reference]
        if is_endless(node, self._facts):
            kinds = [OnnxRuntime]  # the reference can't be stopped
            seconds = min(seconds, self._patience, ENDLESS_SECONDS)
            if seconds <= 0.0:
                self.failures[node] = "others like it took too long"
                return
        if not self._has_runtime:
            kinds = [Reference]
            if self._rounds(node):
                self.failures[node] = "onnxruntime is not installed, and nothing else rounds as it does"
                return
        for kind in kinds:
            try:
                results = self._results(kind, [node], wanted, computed, seconds)
                if has_strings and string_bytes(results) > STRING_BYTES:
                    self.failures[node] = f"the strings that it makes have more than {STRING_BYTES >> 20} MiB"
                    return
                computed.update(zip(wanted, results, strict=True))
                return
            except Unsupported as error:
                self._lacking.add(signature)
                errors.append(error.brief)
            except EngineError as error:
                errors.append(error.brief)
                break
        self.failures[node] = "; ".join(errors)

    def _string_bytes(self, node: ir.Node, computed: dict[ir.Value, Any]) -> int:
        """The bytes of the strings that a node reads, all of which are at hand."""
        reads = reads_of(node)
        return sum(string_bytes(computed[each] if each in computed else tensor_of(each, self._facts)) for each in reads)

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
        start = time.monotonic()
        try:
            values = {value for node in nodes for value in (*reads_of(node), *node.outputs)}
            memory = MEMORY + MEMORY_FACTOR * sum(size_of(value, self._facts) or 0 for value in values)
            engine: Engine = kind(written.proto, worker=self._worker, memory=memory, seconds=seconds)
            results = engine.run(written.feeds, seconds)
            if any(isinstance(item, dict) for each in results for item in (each if isinstance(each, list) else [each])):
                raise EngineError("it makes maps, which can't be handed to another node")
            return results
        except TimedOut as error:
            self._patience -= time.monotonic() - start
            raise TimedOut(f"it takes more than {seconds:.3g} seconds") from error
        except EngineError as error:
            if any(sign in str(error) for sign in _SIGNS_OF_LACKING):
                raise Unsupported(str(error)) from error
            raise
        finally:
            written.release()


class Unsupported(EngineError):
    """The engine lacks an operator or a type."""
