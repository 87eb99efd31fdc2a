"""Folds what is the same in every run: finds it, selects what is worth it, computes it, and hands out the constants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import onnx_ir as ir

from foldproof.engines import Worker
from foldproof.facts import Facts
from foldproof.folding.budget import Budget
from foldproof.folding.candidates import Candidates, find, read_outputs
from foldproof.folding.evaluation import Evaluator
from foldproof.folding.folding_rule import constant_folding
from foldproof.folding.limits import BATCH_BYTES
from foldproof.folding.results import Results
from foldproof.folding.selection import NODE_BYTES, Selector
from foldproof.folding.sources import exact_size_of, is_source, size_of, tensor_of
from foldproof.rewriting.rule import Constant, Reason, Remove, Rule


class Folder:
    """Computes what is constant in a model that is being rewritten.

    Args:
        model: The model.
        facts: Its facts.
        budget: The bytes by which the file may grow.
        keep_node: Names of nodes that stay.
        fold_quantized_weights: Whether quantized weights are folded like all else.
        worker: The process that onnxruntime runs in; one of its own unless given.

    Attributes:
        rule: What stands in the ledger.
        failures: The nodes whose evaluation failed, with the reason. They stay.
        sessions: How many models were loaded to compute all that was folded.
    """

    def __init__(
        self,
        model: ir.Model,
        facts: Facts,
        budget: Budget | None = None,
        *,
        keep_node: Iterable[str] = (),
        fold_quantized_weights: bool = False,
        worker: Worker | None = None,
    ) -> None:
        self._facts = facts
        self._budget = budget or Budget.of(model, None, 2)
        self._keep = frozenset(keep_node)
        self._fold_quantized_weights = fold_quantized_weights
        self._evaluator = Evaluator(model, facts, worker)
        self._results = Results()
        self.rule: Rule = constant_folding

    @property
    def failures(self) -> dict[ir.Node, str]:
        """The nodes whose evaluation failed, with the reason."""
        return self._evaluator.failures

    @property
    def sessions(self) -> int:
        """How many models were loaded to compute all that was folded."""
        return self._evaluator.sessions

    def fold(self, nodes: Iterable[ir.Node]) -> Iterator[tuple[ir.Node, Constant | Remove | Reason]]:
        """Computes what became constant.

        Args:
            nodes: Where to look: the nodes that are new, or of which an input is.

        Yields:
            A node with what its outputs become, or why it stays. The model is to be changed accordingly in between.
        """
        failed = len(self.failures)
        candidates = find(nodes, self._facts, self._keep, set(self.failures))
        if not candidates.nodes:
            return
        selection = Selector(
            candidates, self._facts, self._budget, fold_quantized_weights=self._fold_quantized_weights
        ).select()
        yield from selection.stays.items()
        unknown = []
        for node in selection.folds:
            if all(is_source(output, self._facts) for output in read_outputs(node)):
                yield node, self._outcome(node, {})
            else:
                unknown.append(node)
        for batch in self._batches(unknown, candidates):
            folds = [node for node in batch if node in selection.folds]
            found = self._evaluator.evaluate(batch, [output for node in folds for output in read_outputs(node)])
            for node in batch:
                if node in selection.folds or node in self.failures:
                    outcome = self._outcome(node, found)
                    if isinstance(outcome, Reason):
                        self._budget.spend(-selection.folds.get(node, 0))
                    yield node, outcome
            del found  # before the next batch takes its memory
        for node in reversed(candidates.nodes):
            if node.graph is not None and not read_outputs(node):
                yield node, Remove()
        if len(self.failures) > failed:  # what a failed node reads may be folded by itself
            yield from self.fold(node for node in candidates.nodes if node.graph is not None)

    def _outcome(self, node: ir.Node, found: dict[ir.Value, Any]) -> Constant | Reason:
        if node in self.failures:
            return Reason("its evaluation failed: {}", self.failures[node])
        read = read_outputs(node)
        tensors: list[ir.TensorProtocol | None] = []
        for output in node.outputs:
            if output not in read:
                tensors.append(None)
            elif is_source(output, self._facts):
                tensors.append(tensor_of(output, self._facts))
            elif output not in found:
                return Reason("the evaluation of what it reads failed")
            else:
                tensor = self._results.tensor(found[output], self._facts.of(output))
                if isinstance(tensor, Reason):
                    return tensor
                if exact_size_of(output, self._facts) is None and tensor.nbytes > NODE_BYTES:
                    if not self._budget.fits(tensor.nbytes):
                        return Reason("the file would grow by {} bytes, which is beyond the budget", tensor.nbytes)
                    self._budget.spend(tensor.nbytes)
                tensors.append(tensor)
        return Constant(*tensors)

    def _batches(self, folds: Sequence[ir.Node], candidates: Candidates) -> Iterator[list[ir.Node]]:
        """The nodes to compute, each after those that it reads: as many at once as fit into the memory of a batch.

        The main graph and each function are batches of their own: their operators may have other versions. A node that
        two batches need is computed twice.
        """
        by_root: dict[ir.Graph, list[ir.Node]] = {}
        for node in folds:
            assert node.graph is not None
            by_root.setdefault(self._facts.root(node.graph), []).append(node)
        for nodes in by_root.values():
            batch: dict[ir.Node, None] = {}
            size = 0
            for node in nodes:
                cone = self._cone(node, candidates, batch)
                needs = sum(self._bytes_of(each, candidates) for each in cone)
                if batch and size + needs > BATCH_BYTES:
                    yield list(batch)
                    batch, size = {}, 0
                    cone = self._cone(node, candidates, batch)
                batch.update(dict.fromkeys(cone))
                size += needs
            if batch:
                yield list(batch)

    def _cone(self, node: ir.Node, candidates: Candidates, done: dict[ir.Node, None]) -> list[ir.Node]:
        """A node and all that it is computed of and that is not there already, each after those that it reads."""
        order: dict[ir.Node, None] = {}
        stack = [node]
        while stack:
            current = stack[-1]
            missing = [
                maker
                for value in candidates.nodes[current]
                if (maker := value.producer()) is not None
                and maker in candidates.nodes
                and maker not in done
                and maker not in order
                and not is_source(value, self._facts)
            ]
            if current in order or current in done:
                stack.pop()
            elif missing:
                stack.extend(missing)
            else:
                order[current] = None
                stack.pop()
        return list(order)

    def _bytes_of(self, node: ir.Node, candidates: Candidates) -> int:
        values = [*node.outputs, *(value for value in candidates.nodes[node] if value.producer() is None)]
        return sum(size_of(value, self._facts) or 0 for value in values)
