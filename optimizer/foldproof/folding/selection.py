"""Which candidates are worth folding: those whose results the file can hold within the budget.

A candidate's results must be stored where something else than a candidate reads them. Where that would make the file
grow too much, the node stays, and what it reads is looked at in its place: so of `Expand(Sqrt(k), [1000, 1000])` the
root is folded and the Expand stays.
"""

from __future__ import annotations

import dataclasses
import heapq
from collections.abc import Container, Mapping

import onnx_ir as ir

from foldproof.facts import Facts, Kind
from foldproof.folding.budget import Budget, Share
from foldproof.folding.candidates import Candidates, read_outputs
from foldproof.folding.quantization import Quantized
from foldproof.folding.sources import exact_size_of, is_source, size_of
from foldproof.rewriting.rule import Reason

NODE_BYTES = 64
"""About what a node takes in a file. A result of no more bytes never makes it grow."""


@dataclasses.dataclass
class Selection:
    """What is folded of the candidates.

    Attributes:
        folds: The nodes whose results are stored, in the order of the candidates, each with the bytes by which the file
            grows through it (negative where it shrinks).
        stays: The candidates that stay although something reads them, with the reason.
    """

    folds: dict[ir.Node, int]
    stays: dict[ir.Node, Reason]


class Selector:
    """Selects among candidates.

    Args:
        candidates: The candidates.
        facts: The facts of the model.
        budget: What may be added. It is charged for what is selected.
        fold_quantized_weights: Whether quantized weights are folded, whatever they add.
    """

    def __init__(self, candidates: Candidates, facts: Facts, budget: Budget, *, fold_quantized_weights: bool) -> None:
        self._candidates = candidates
        self._facts = facts
        self._budget = budget
        self._quantized = Quantized(candidates)
        self._fold_quantized_weights = fold_quantized_weights
        self._stays: dict[ir.Node, Reason] = {}
        self._position = {node: number for number, node in enumerate(candidates.nodes)}
        self._cheapest: dict[ir.Value, int] = {}
        self._readers: dict[ir.Value, frozenset[ir.Node]] = {}

    def select(self) -> Selection:
        """Selects all that fits into the budget together."""
        self._find_cheapest()
        limits = {share: self._budget.left_of(share) for share in Share}
        folds, crowded = self._choose(limits)
        while crowded:
            limits.update(dict.fromkeys(crowded, 0))
            folds, crowded = self._choose(limits)
        self._budget.spend(self._make_it_fit(folds))
        return Selection(dict(sorted(folds.items(), key=lambda pair: self._position[pair[0]])), self._stays)

    def _choose(self, limits: Mapping[Share, int]) -> tuple[dict[ir.Node, int], set[Share]]:
        """The nodes to fold with what each adds, and the shares in which there is no room for all that would fit alone.

        Args:
            limits: What may be added by each share of the budget.
        """
        self._stays = {}
        folds: dict[ir.Node, int] = {}
        crowded: set[Share] = set()
        too_big: set[ir.Node] = set()
        heap = [self._entry(node) for node in self._candidates.nodes if self._is_needed(node)]
        heapq.heapify(heap)
        pushed = {node for _, _, node in heap}
        added = dict.fromkeys(limits, 0)
        while heap:
            growth, _, node = heapq.heappop(heap)
            share = self._budget.share(growth)
            reason = self._refusal(node)
            if reason is None and growth > 0 and added[share] + growth > limits[share]:
                reason = _too_big(growth)
                if limits[share] and self._budget.admits(growth):
                    crowded.add(share)
                too_big.add(node)
            if reason is None and growth > 0 and self._leads_on(node, too_big):
                reason = Reason("what reads it is too big now, and would not be any more if it was stored")
                too_big.add(node)
            if reason is None:
                folds[node] = growth
                added[share] += max(growth, 0)
                continue
            self._stays[node] = reason
            for maker in self._candidates.makers(node):
                if maker not in pushed:
                    pushed.add(maker)
                    heapq.heappush(heap, self._entry(maker))
        return folds, crowded

    def _entry(self, node: ir.Node) -> tuple[int, int, ir.Node]:
        return self._growth(node), self._position[node], node

    def _is_needed(self, node: ir.Node) -> bool:
        """Whether anything but a candidate that goes reads an output of a node."""
        return any(self._is_read_outside(output) for output in node.outputs)

    def _is_read_outside(self, value: ir.Value) -> bool:
        readers = self._readers.get(value)
        if readers is None:
            readers = self._readers[value] = frozenset(self._candidates.readers(value))
        if value.is_graph_output() or not self._candidates.nodes.keys() >= readers:
            return True
        return not self._stays.keys().isdisjoint(readers)

    def _is_outside(self, node: ir.Node) -> bool:
        return node not in self._candidates.nodes or node in self._stays

    def _refusal(self, node: ir.Node) -> Reason | None:
        """Why a node can't be folded, whatever its size."""
        for output in read_outputs(node):
            kind = self._facts.of(output).kind
            if kind is not Kind.TENSOR:
                return Reason("its result is a constant {}, which no initializer holds", kind.value)
        if not self._fold_quantized_weights and self._quantized.holds(node):
            readers = (reader for output in node.outputs for reader in self._candidates.readers(output))
            if any(self._is_outside(reader) for reader in readers):
                return Reason("it is, or is made of, a quantized weight, which stays as it is")
        return None

    def _leads_on(self, node: ir.Node, too_big: Container[ir.Node]) -> bool:
        """Whether a second run, with a budget of its own, would fold what reads a node and stays for its size.

        So a chain of nodes each of which doubles a tensor is not folded a bit further by each run.
        """
        readers = {reader for output in node.outputs for reader in self._candidates.readers(output)}
        return any(reader in too_big and self._budget.admits(self._growth_behind_stored(reader)) for reader in readers)

    def _growth_behind_stored(self, node: ir.Node) -> int:
        """The bytes by which the file would grow if a node's results were stored, and what it reads was before.

        What is itself too big to be stored counts as what it is made of.
        """
        price = 0
        for value in self._candidates.nodes[node]:
            maker = value.producer()
            if self._is_read_by_others(value):
                continue
            if maker in self._candidates.nodes and not self._budget.admits(self._growth(maker)):
                price += self._cheapest[value]
            else:
                price += size_of(value, self._facts) or 0
        return self._size_of_results(node) - price

    def _is_read_by_others(self, value: ir.Value) -> bool:
        """Whether something reads a value that is no candidate, so that it has to be there."""
        readers = self._candidates.readers(value)
        return value.is_graph_output() or any(reader not in self._candidates.nodes for reader in readers)

    def _is_free(self, node: ir.Node) -> bool:
        """Whether what a node adds is not counted: no more than the node itself takes, or the person asked for it."""
        if self._is_of_known_size(node) and self._size_of_results(node) <= NODE_BYTES:
            return True
        return self._fold_quantized_weights and self._quantized.holds(node)

    # Bytes -----------------------------------------------------------------------------------------------------------

    def _find_cheapest(self) -> None:
        """For each candidate's results, the least bytes that the file must hold so that they can be made."""
        for node in self._candidates.nodes:
            price = self._price_of_inputs(node)
            for output in node.outputs:
                size = exact_size_of(output, self._facts)
                self._cheapest[output] = price if size is None else min(price, size)

    def _price_of_inputs(self, node: ir.Node) -> int:
        total = 0
        for value in self._candidates.nodes[node]:
            if value in self._cheapest:
                total += self._cheapest[value]
            elif not self._is_read_outside(value):
                total += _stored_size(value, self._facts)
        return total

    def _growth(self, node: ir.Node) -> int:
        """The bytes by which the file grows if a node's results are stored. An unknown size counts nothing yet."""
        growth = self._size_of_results(node) - self._price_of_inputs(node)
        return min(growth, 0) if self._is_free(node) else growth

    def _size_of_results(self, node: ir.Node) -> int:
        return sum(size_of(output, self._facts) or 0 for output in read_outputs(node))

    def _is_of_known_size(self, node: ir.Node) -> bool:
        return all(exact_size_of(output, self._facts) is not None for output in read_outputs(node))

    def _make_it_fit(self, folds: dict[ir.Node, int]) -> int:
        """Gives up folds, the largest first, until what they add and free together is within the budget.

        What two folds share was counted as freed by each.
        """
        while True:
            net = self._net(folds)
            largest = max(folds, key=lambda node: (folds[node], self._position[node]), default=None)
            if largest is None or self._budget.fits(net):
                return net
            self._stays[largest] = _too_big(folds.pop(largest))

    def _net(self, folds: dict[ir.Node, int]) -> int:
        """The bytes that folds add minus those that nothing reads any more."""
        added = 0
        gone: set[ir.Node] = set()
        freed: dict[ir.Value, None] = {}
        for node in reversed(self._candidates.nodes):
            if node in folds:
                if not self._is_of_known_size(node):
                    continue  # it is counted when it is computed, and until then nothing counts as freed by it
                added += 0 if self._is_free(node) else self._size_of_results(node)
            elif node in self._stays or any(
                output.is_graph_output() or any(reader not in gone for reader in self._candidates.readers(output))
                for output in node.outputs
            ):
                continue
            gone.add(node)
            sources = (value for value in self._candidates.nodes[node] if is_source(value, self._facts))
            freed.update(dict.fromkeys(sources))
        return added - sum(
            _stored_size(value, self._facts)
            for value in freed
            if not value.is_graph_output() and all(reader in gone for reader in self._candidates.readers(value))
        )


def _stored_size(value: ir.Value, facts: Facts) -> int:
    """The bytes that a source takes in the file."""
    tensor = facts.of(value).constant
    return 0 if tensor is None else tensor.nbytes


def _too_big(growth: int) -> Reason:
    return Reason("the file would grow by {} bytes, which is beyond what is left of the budget", growth)
