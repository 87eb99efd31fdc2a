"""Measures what rules declare to lower: `foldproof.rewriting.Cost`, read off a model."""

from __future__ import annotations

from collections.abc import Iterable

import onnx_ir as ir

from foldproof.graphs import bodies_of
from foldproof.rewriting import Cost

CHEAPER = {
    "Xor": 1, "Where": 2, "CastLike": 1, "Split": 1, "Transpose": 1, "MatMul": 1,
    "ReduceMax": 1, "ReduceMin": 1, "ReduceSum": 1, "ReduceMean": 1, "ReduceProd": 1, "ReduceLogSumExp": 1,
}  # fmt: skip
"""Operators for some of which there is a cheaper one, of weight 0: Not, Cast, Slice, Reshape, Gemm, Squeeze."""


WRITTEN_OUT = 1000
"""A body is never copied more often."""


def costs(model: ir.Model) -> dict[Cost, int]:
    """The costs of a model."""
    return _Measure(model).costs


class _Measure:
    def __init__(self, model: ir.Model) -> None:
        self._model = model
        self._trees: dict[ir.Node, int] = {}
        self._depths: dict[ir.Graph, int] = {}
        self._live: dict[ir.Node, int] = {}
        roots = [model.graph, *(function.graph for function in model.functions.values())]
        expression = 0
        for root in roots:
            self._measure_depth(root, 0)
            self._mark(root)
        for node in self._live:
            self._trees[node] = -1  # to be computed
        for root in roots:
            expression += sum(self._tree(output) for output in root.outputs)
        counted = [node for node in self._live if _counts(node)]
        stored = sum(2 if _counts(node) else 1 for root in roots for node in root.all_nodes())
        initializers = sum(len(graph.initializers) for root in roots for graph in (root, *root.subgraphs()))
        self.costs = {
            Cost.CALLS: sum(self._calls(node) for node in counted),
            Cost.CONTROL: sum(map(_control, counted)),
            Cost.NODES: 2 * len(counted) + sum(map(_is_only_a_name, self._live)),
            Cost.NESTING: sum(self._live[node] for node in counted),
            Cost.EXPRESSION: expression,
            Cost.FORM: sum(CHEAPER.get(node.op_type, 0) for node in counted) + sum(map(_late_halves, counted)),
            Cost.OPERANDS: sum(
                sum(map(_weight, node.inputs)) + 2 * sum(bool(output.name) for output in node.outputs)
                for node in counted
            ),
            Cost.STORED: stored + initializers,
        }

    def _calls(self, node: ir.Node) -> bool:
        return node.op_identifier() in self._model.functions

    def _measure_depth(self, graph: ir.Graph, depth: int) -> None:
        self._depths[graph] = depth
        for node in graph:
            for body in bodies_of(node):
                self._measure_depth(body, depth + 1)

    def _mark(self, graph: ir.Graph) -> None:
        """Notes the nodes that a graph's outputs need, and those of unknown operators, with the depth of their body."""
        waiting = [value.producer() for value in graph.outputs]
        waiting += [node for node in graph if node.domain and not self._calls(node)]
        while waiting:
            node = waiting.pop()
            if node is None or node in self._live:
                continue
            assert isinstance(node.graph, ir.Graph)
            self._live[node] = self._depths[node.graph]
            waiting += [value.producer() for value in node.inputs if value is not None]
            for body in bodies_of(node):
                self._mark(body)

    def _tree(self, value: ir.Value | None) -> int:
        """The number of operators of a value, written out as an expression in which nothing is shared."""
        maker = None if value is None else value.producer()
        if maker is None:
            return 0
        if self._trees.get(maker, -1) < 0:
            bodies: Iterable[ir.Graph] = bodies_of(maker)
            inner = sum(self._tree(output) for body in bodies for output in body.outputs)
            self._trees[maker] = int(_counts(maker)) + inner + sum(map(self._tree, maker.inputs))
        return self._trees[maker]


def _control(node: ir.Node) -> int:
    """1 for a node that holds bodies, and many times as much for each node around such a one."""
    bodies = list(bodies_of(node))
    return 1 + WRITTEN_OUT * sum(_control(each) for body in bodies for each in body) if bodies else 0


def _counts(node: ir.Node) -> bool:
    """Whether a node computes something."""
    return (bool(node.domain) or node.op_type != "Constant") and not _is_only_a_name(node)


def _is_only_a_name(node: ir.Node) -> bool:
    """Whether a node gives a value that is made elsewhere the name of an output of its graph."""
    source = node.inputs[0] if node.inputs else None
    if node.domain or node.op_type != "Identity" or source is None or not node.outputs[0].is_graph_output():
        return False
    maker = source.producer()
    return maker is None or maker.graph is not node.graph or source.is_graph_output()


def _weight(value: ir.Value | None) -> int:
    if value is None:
        return 0
    maker = value.producer()
    return 1 if value.is_initializer() or (maker is not None and maker.op_type == "Constant") else 2


def _late_halves(node: ir.Node) -> int:
    """Whether a node's Erf stands in a product in a way that onnxruntime does not take for a Gelu."""
    if node.op_type != "Erf":
        return 0
    argument = node.inputs[0].producer() if node.inputs[0] is not None else None
    sums = [use.node for use in node.outputs[0].uses() if use.node.op_type == "Add"]
    halved = any(
        use.node.op_type == "Mul"
        and any(value is not None and value.const_value is not None for value in use.node.inputs)
        for total in sums
        for use in total.outputs[0].uses()
    )
    return int(argument is not None and argument.op_type == "Mul") + int(halved)
