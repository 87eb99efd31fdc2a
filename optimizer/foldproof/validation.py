"""Is a `ModelProto` one graph that makes sense: every name defined once, every read defined, no cycle?

This runs before anything is built from the proto, in one pass over the nodes. It refuses what no runtime can
run, and nothing that onnxruntime loads: types and operators are not looked at, and what attributes mean neither.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

import onnx

from foldproof.errors import ModelError

_GRAPH = onnx.AttributeProto.GRAPH
_NESTED = frozenset({_GRAPH, onnx.AttributeProto.GRAPHS})

_SINGULAR = {
    onnx.AttributeProto.FLOAT: "f",
    onnx.AttributeProto.INT: "i",
    onnx.AttributeProto.STRING: "s",
    onnx.AttributeProto.TENSOR: "t",
    onnx.AttributeProto.GRAPH: "g",
    onnx.AttributeProto.SPARSE_TENSOR: "sparse_tensor",
    onnx.AttributeProto.TYPE_PROTO: "tp",
}
"""The field that an attribute of each type must have, where it may not be empty."""

_PLURAL = frozenset(onnx.AttributeProto.AttributeType.values()) - _SINGULAR.keys() - {onnx.AttributeProto.UNDEFINED}

OPSET_IMPLIED_BELOW_IR = 3
"""Models older than this IR version import opset 1 of the default domain without saying so."""

_BUILT_IN_DOMAINS = frozenset(
    {
        "",
        "ai.onnx",
        "ai.onnx.ml",
        "ai.onnx.training",
        "ai.onnx.preview",
        "ai.onnx.preview.training",
        "com.microsoft",
        "com.microsoft.dml",
        "com.microsoft.experimental",
        "com.microsoft.nchwc",
        "com.ms.internal.nhwc",
        "org.pytorch.aten",
    }
)
"""Domains that onnxruntime imports by itself when the model (not a function) forgets to."""

MAX_INPUTS = 10_000
"""More inputs without a default no runtime is fed with: onnxruntime takes time by the square of their number."""

_LAST_VERSION = 2**31 - 1
"""Schemas and runtimes count the versions of a domain in 32 bits."""

_FunctionId = tuple[str, str, str]


def check_structure(proto: onnx.ModelProto) -> bool:
    """Checks that the model is structurally valid, in time linear in its size.

    Args:
        proto: The model. It is not changed, and no weights are read.

    Returns:
        Whether the nodes of every graph are in topological order. The main graph need not be: onnxruntime
        sorts it.

    Raises:
        ModelError: There is no graph, no IR version, no opset import or no import for a used domain; a name
            is defined twice in one scope, or read and never defined; a graph output is not produced; a graph
            has a cycle; the nodes of a subgraph or function are out of order; a node has no operator, an attribute
            twice or one without a value of its type; a function is defined twice, calls itself, or has two defaults
            for an attribute; the version of an opset is below 0 or beyond 32 bits; there are more than `MAX_INPUTS`
            inputs to feed.
    """
    if not proto.HasField("graph"):
        raise ModelError("the model has no graph", hint="Check that this is an ONNX model, and a whole one")
    if not proto.ir_version:
        raise ModelError("the model states no IR version", hint="Set ir_version, or export the model again")
    if not proto.opset_import and proto.ir_version >= OPSET_IMPLIED_BELOW_IR:
        raise ModelError("the model imports no opset", hint="Add an opset import, or export the model again")
    for imports in (proto.opset_import, *(function.opset_import for function in proto.functions)):
        _check_versions(imports)
    inputs = len(proto.graph.input) - len(proto.graph.initializer)  # each of these may be listed as an input
    if inputs > MAX_INPUTS:
        raise ModelError(
            f"the model has at least {inputs} inputs to feed, and more than {MAX_INPUTS} are not admitted",
            hint="Pack them into fewer tensors",
        )
    functions = _functions_by_id(proto.functions)
    main = _Checker(_imported(proto.opset_import) | _BUILT_IN_DOMAINS, functions)
    undefined = main.check_graph(proto.graph, is_main=True)
    for name, reader in undefined.items():
        raise _undefined(name, reader)
    _check_functions(functions, main.called)
    return main.is_sorted


def _check_versions(imports: Iterable[onnx.OperatorSetIdProto]) -> None:
    for entry in imports:
        if not isinstance(entry.domain, str):  # protobuf hands out as bytes what is not UTF-8
            raise ModelError(f"the imported domain {entry.domain!r} is no UTF-8", hint="Export the model again")
        if not 0 <= entry.version <= _LAST_VERSION:
            raise ModelError(
                f"version {entry.version} of the domain {entry.domain!r} is imported, and there can be no such version",
                hint="Export the model again",
            )


def canonical_domain(domain: str) -> str:
    """The one spelling of a domain that has two: `ai.onnx` is the default domain, `""`."""
    return "" if domain == "ai.onnx" else domain


def _imported(opset_import: Iterable[onnx.OperatorSetIdProto]) -> frozenset[str]:
    """The domains that may be used, each in both spellings."""
    domains = {entry.domain for entry in opset_import}
    return frozenset(domains | {"", "ai.onnx"}) if domains & {"", "ai.onnx"} else frozenset(domains)


def _operator(node: onnx.NodeProto) -> str:
    domain = canonical_domain(node.domain)
    return f"{domain}::{node.op_type}" if domain else node.op_type


def _node_error(node: onnx.NodeProto, reason: str, hint: str | None = None) -> ModelError:
    name = node.name or next(filter(None, node.output), "(unnamed)")
    return ModelError(reason, node=str(name), operator=_operator(node) or None, hint=hint or "Export the model again")


def _undefined(name: str, reader: onnx.NodeProto) -> ModelError:
    return _node_error(
        reader,
        f"its input {name!r} is defined nowhere",
        "It must be a graph input, an initializer or the output of another node: export the model again",
    )


class _Checker:
    """Walks one root (the main graph or a function) with its subgraphs.

    Attributes:
        called: The operators met, as function ids (collected only if the model has functions).
        is_sorted: False once a node was met that comes before one that it needs.
    """

    def __init__(self, domains: frozenset[str], functions: Mapping[_FunctionId, object]) -> None:
        self._domains = domains
        self._functions = functions
        self.called: set[_FunctionId] = set()
        self.is_sorted = True

    def check_graph(self, graph: onnx.GraphProto, is_main: bool) -> dict[str, onnx.NodeProto]:
        """Checks a graph; returns what it reads from the scopes around it: name -> a node that reads it."""
        inputs = _unique((value.name for value in graph.input), "graph input", graph.name)
        initializers = {tensor.name for tensor in graph.initializer}
        initializers.update(tensor.values.name for tensor in graph.sparse_initializer)
        free, defined = self.check_nodes(graph.node, inputs | initializers, is_main)
        for output in graph.output:
            if not output.name or output.name not in defined:
                raise ModelError(
                    f"graph {graph.name!r} has an output {output.name!r} that none of its nodes produces",
                    hint="Export the model again, or remove the output",
                )
        return free

    def check_nodes(
        self, nodes: Sequence[onnx.NodeProto], given: set[str], is_main: bool = False
    ) -> tuple[dict[str, onnx.NodeProto], set[str]]:
        """Checks the nodes of one scope.

        Args:
            nodes: The nodes, in the file's order.
            given: The names that are defined without a node: inputs and initializers.
            is_main: Whether these are the main graph's nodes, which may be out of order.

        Returns:
            What is read and not defined here (name -> a node that reads it), and all names that are defined
            here.
        """
        defined = given | {""}
        early: dict[str, onnx.NodeProto] = {}  # read before it is defined, here or outside
        implicit: dict[int, Iterable[str]] = {}  # what the subgraphs of a node read from outside, by the node's index
        early_within: dict[str, onnx.NodeProto] = {}  # the same as `early`, read by a node's subgraph
        domains, functions = self._domains, self._functions
        for index, node in enumerate(nodes):
            inputs = node.input
            if not defined.issuperset(inputs):
                early.update((name, node) for name in inputs if name not in defined)
            for text in (node.name, node.op_type, node.domain, node.overload):
                if not isinstance(text, str):  # protobuf hands out as bytes what is not UTF-8
                    raise _node_error(node, f"it or its operator is called {text!r}: that is no UTF-8")
            if node.attribute and (reads := self.check_attributes(node, node.attribute)):
                implicit[index] = reads
                early_within.update(item for item in reads.items() if item[0] not in defined)
            for name in node.output:
                if name in defined and name:
                    raise self._redefined(node, name, given)
                defined.add(name)
            if not node.op_type:
                raise _node_error(node, "it has no operator type", "Export the model again")
            if node.domain not in domains:
                raise _node_error(
                    node,
                    f"no opset is imported for the domain {node.domain!r}",
                    "Add an opset import for that domain to the model, and to the function if it is in one",
                )
            if functions:
                self.called.add((canonical_domain(node.domain), node.op_type, node.overload))
        _check_text(defined)
        if (early or early_within) and not defined.isdisjoint({*early, *early_within}):
            self.is_sorted = False
            _check_acyclic(nodes, implicit)
            for name, node in early.items():
                if name in defined and not is_main:
                    raise _node_error(
                        node,
                        f"it reads {name!r} before the node that produces it",
                        "Nodes of a subgraph or function must be in topological order",
                    )
        return {k: v for k, v in {**early_within, **early}.items() if k not in defined}, defined

    def check_attributes(
        self, node: onnx.NodeProto, attributes: Sequence[onnx.AttributeProto]
    ) -> dict[str, onnx.NodeProto]:
        """Checks the attributes of a node, and returns what the graphs in them read (name -> a node that reads it)."""
        names = [attribute.name for attribute in attributes]
        for name in names:
            if not isinstance(name, str):
                raise _node_error(node, f"an attribute is called {name!r}: that is no UTF-8")
        if len(set(names)) < len(names):
            raise _node_error(node, "it has an attribute twice", "Export the model again")
        reads: dict[str, onnx.NodeProto] = {}
        for attribute in attributes:
            kind = attribute.type
            if attribute.ref_attr_name:
                if kind in _NESTED:
                    raise _node_error(node, f"its attribute {attribute.name!r} refers to a graph elsewhere")
                continue
            field = _SINGULAR.get(kind)
            if (field is None and kind not in _PLURAL) or (field is not None and not attribute.HasField(field)):
                raise _node_error(node, f"its attribute {attribute.name!r} lacks its type, or a value of it")
            if kind in _NESTED:
                reads.update(self._check_subgraphs(attribute))
        return reads

    def _check_subgraphs(self, attribute: onnx.AttributeProto) -> dict[str, onnx.NodeProto]:
        graphs = [attribute.g] if attribute.type == _GRAPH else attribute.graphs
        reads: dict[str, onnx.NodeProto] = {}
        for graph in graphs:
            reads.update(self.check_graph(graph, is_main=False))
        return reads

    def _redefined(self, node: onnx.NodeProto, name: str, given: set[str]) -> ModelError:
        other = "an input or initializer of its graph" if name in given else "the output of another node"
        return _node_error(
            node,
            f"its output {name!r} is already {other}",
            "In a graph each name is defined once: export the model again",
        )


def _check_text(names: Iterable[str]) -> None:
    for name in names:
        if not isinstance(name, str):  # protobuf hands out as bytes what is not UTF-8
            raise ModelError(f"the name {name!r} is not UTF-8 text", hint="Export the model again")


def _unique(names: Iterable[str], what: str, owner: str) -> set[str]:
    seen: set[str] = set()
    for name in names:
        if name and name in seen:
            raise ModelError(f"{what} {name!r} of {owner!r} is declared twice", hint="Export the model again")
        seen.add(name)
    return seen


def _check_acyclic(nodes: Sequence[onnx.NodeProto], implicit: Mapping[int, Iterable[str]]) -> None:
    """Raises if the nodes depend on each other in a circle (Kahn's algorithm)."""
    producer = {name: index for index, node in enumerate(nodes) for name in node.output if name}
    readers: dict[int, list[int]] = {}
    missing = []
    for index, node in enumerate(nodes):
        needs = {producer[name] for name in (*node.input, *implicit.get(index, ())) if name in producer}
        missing.append(len(needs))
        for need in needs:
            readers.setdefault(need, []).append(index)
    ready = deque(index for index, count in enumerate(missing) if not count)
    while ready:
        for reader in readers.get(ready.popleft(), ()):
            missing[reader] -= 1
            if not missing[reader]:
                ready.append(reader)
    for index, count in enumerate(missing):
        if count:
            raise _node_error(
                nodes[index], "it is part of a cycle, or behind one", "A graph must be acyclic: export again"
            )


def _functions_by_id(functions: Iterable[onnx.FunctionProto]) -> dict[_FunctionId, onnx.FunctionProto]:
    by_id: dict[_FunctionId, onnx.FunctionProto] = {}
    for function in functions:
        key = (canonical_domain(function.domain), function.name, function.overload)
        if key in by_id:
            raise ModelError(f"function {_function_name(key)} is defined twice", hint="Remove one of the definitions")
        by_id[key] = function
    return by_id


def _function_name(key: _FunctionId) -> str:
    domain, name, overload = key
    return f"{domain}::{name}" + (f":{overload}" if overload else "")


def _check_functions(functions: Mapping[_FunctionId, onnx.FunctionProto], called: Iterable[_FunctionId]) -> None:
    """Checks the body of each function, and that none calls itself.

    What a body that nothing calls reads may be defined nowhere: onnxruntime does not look at it either.
    """
    calls: dict[_FunctionId, list[_FunctionId]] = {}
    waiting = [key for key in called if key in functions]
    while waiting:
        key = waiting.pop()
        if key not in calls:
            calls[key] = _check_body(functions[key], functions)
            waiting += calls[key]
    for key, function in functions.items():
        if key not in calls:
            calls[key] = _check_body(function, functions, is_called=False)
    done: set[_FunctionId] = set()
    for key in functions:
        _check_not_recursive(key, calls, done)


def _check_body(
    function: onnx.FunctionProto, functions: Mapping[_FunctionId, object], is_called: bool = True
) -> list[_FunctionId]:
    """Checks a function, and returns the functions that it calls."""
    _check_text([function.name, function.domain, function.overload, *function.attribute])
    checker = _Checker(_imported(function.opset_import), functions)
    header = onnx.NodeProto(name=function.name, domain=function.domain, op_type=function.name)
    checker.check_attributes(header, function.attribute_proto)
    required = set(function.attribute)
    for attribute in function.attribute_proto:
        if attribute.name in required:
            raise _node_error(header, f"its attribute {attribute.name!r} is listed with a default and without one")
    inputs = _unique(function.input, "input", function.name)
    undefined, defined = checker.check_nodes(function.node, inputs)
    if not is_called:
        return [key for key in checker.called if key in functions]
    for name, reader in undefined.items():
        raise _undefined(name, reader)
    for name in function.output:
        if name not in defined:
            raise ModelError(
                f"function {function.name!r} has an output {name!r} that none of its nodes produces",
                hint="Export the model again",
            )
    return [key for key in checker.called if key in functions]


def _check_not_recursive(
    root: _FunctionId, calls: Mapping[_FunctionId, Sequence[_FunctionId]], done: set[_FunctionId]
) -> None:
    """Raises if calls from `root` run in a circle. It keeps a stack of its own: chains may be long."""
    path: dict[_FunctionId, None] = {}
    stack: list[tuple[_FunctionId, bool]] = [(root, False)]
    while stack:
        key, is_left = stack.pop()
        if is_left:
            del path[key]
            done.add(key)
        elif key in path:
            raise ModelError(f"function {_function_name(key)} calls itself", hint="ONNX functions can't be recursive")
        elif key not in done:
            path[key] = None
            stack.append((key, True))
            stack.extend((callee, False) for callee in calls[key])
