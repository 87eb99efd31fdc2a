"""Structural validity. onnxruntime says what must not be refused, the ONNX specification what must be."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Sequence

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper
from onnxruntime.capi import onnxruntime_pybind11_state as onnxruntime_state

from foldproof import model_file
from foldproof.errors import ModelError
from foldproof.validation import check_structure
from tests.helpers import needs_recent_onnxruntime

node = helper.make_node
BOTH = np.array([1, 2], np.float32)


def value(name: str, dims: Sequence[int] = (2,), kind: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, dims)


def tensor(name: str, elements: Sequence[float] = (3, 4)) -> onnx.TensorProto:
    return helper.make_tensor(name, TensorProto.FLOAT, [len(elements)], elements)


def model(
    nodes: Sequence[onnx.NodeProto],
    *,
    inputs: Sequence[onnx.ValueInfoProto] | None = None,
    outputs: Sequence[onnx.ValueInfoProto] | None = None,
    initializers: Sequence[onnx.TensorProto] = (),
    functions: Sequence[onnx.FunctionProto] = (),
    opsets: Sequence[tuple[str, int]] = (("", 17), ("my", 1)),
    ir_version: int = 10,
) -> onnx.ModelProto:
    """A model from `x` to `y`, unless said otherwise."""
    graph = helper.make_graph(
        nodes,
        "main",
        [value("x")] if inputs is None else inputs,
        [value("y")] if outputs is None else outputs,
        initializers,
    )
    proto = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid(*opset) for opset in opsets],
        functions=functions,
        ir_version=ir_version,
    )
    if not opsets:
        del proto.opset_import[:]  # make_model puts in its own
    return proto


def branch(
    nodes: Sequence[onnx.NodeProto], output: str, initializers: Sequence[onnx.TensorProto] = ()
) -> onnx.GraphProto:
    return helper.make_graph(nodes, "branch", [], [value(output)], initializers)


def with_if(
    then: onnx.GraphProto,
    before: Sequence[onnx.NodeProto] = (),
    after: Sequence[onnx.NodeProto] = (),
) -> onnx.ModelProto:
    otherwise = branch([node("Neg", ["x"], ["e"])], "e")
    choice = node("If", ["c"], ["y"], name="choice", then_branch=then, else_branch=otherwise)
    condition = helper.make_tensor("c", TensorProto.BOOL, [], [True])
    return model([*before, choice, *after], initializers=[condition])


def function(
    nodes: Sequence[onnx.NodeProto],
    name: str = "f",
    inputs: Sequence[str] = ("p",),
    outputs: Sequence[str] = ("q",),
    opsets: Sequence[tuple[str, int]] = (("", 17), ("my", 1)),
) -> onnx.FunctionProto:
    imports = [helper.make_opsetid(*opset) for opset in opsets]
    return helper.make_function("my", name, list(inputs), list(outputs), list(nodes), imports)


def calling(*functions: onnx.FunctionProto) -> onnx.ModelProto:
    return model([node("f", ["x"], ["y"], domain="my")], functions=functions)


ABS = node("Abs", ["x"], ["y"])
BODY = node("Abs", ["p"], ["q"])

LOADED = {
    "plain": lambda: model([ABS]),
    "main graph out of order": lambda: model([node("Neg", ["a"], ["y"]), node("Abs", ["x"], ["a"])]),
    "initializer twice": lambda: model(
        [node("Add", ["x", "w"], ["y"])], initializers=[tensor("w"), tensor("w", (5, 6))]
    ),
    "initializer without a name": lambda: model([ABS], initializers=[tensor("")]),
    "input without a name": lambda: model([ABS], inputs=[value("x"), value("")]),
    "initializer that is an input": lambda: model(
        [node("Add", ["x", "w"], ["y"])], inputs=[value("x"), value("w")], initializers=[tensor("w")]
    ),
    "output twice": lambda: model([ABS], outputs=[value("y"), value("y")]),
    "output that is an input": lambda: model([ABS], outputs=[value("y"), value("x")]),
    "output that is an initializer": lambda: model([ABS], outputs=[value("y"), value("w")], initializers=[tensor("w")]),
    "no nodes": lambda: model([], outputs=[value("x")]),
    "omitted input and output": lambda: model(
        [node("Clip", ["x", "", "m"], ["y"]), node("Dropout", ["x"], ["d", ""])],
        initializers=[helper.make_tensor("m", TensorProto.FLOAT, [], [9])],
    ),
    "known domain not imported": lambda: model([node("Gelu", ["x"], ["y"], domain="com.microsoft")]),
    "default domain not imported": lambda: model([ABS], opsets=[("ai.onnx.ml", 3)]),
    "default domain spelled out": lambda: model(
        [node("Abs", ["x"], ["y"], domain="ai.onnx")], opsets=[("ai.onnx", 17)]
    ),
    "domain imported twice": lambda: model([ABS], opsets=[("", 12), ("", 13)]),
    "old IR version": lambda: model([ABS], ir_version=3),
    "subgraph": lambda: with_if(branch([node("Abs", ["x"], ["t"])], "t")),
    "subgraph reads a later node": lambda: with_if(
        branch([node("Abs", ["late"], ["t"])], "t"), after=[node("Neg", ["x"], ["late"])]
    ),
    "subgraph hides an outer name by an initializer": lambda: with_if(
        branch([node("Neg", ["w"], ["t"])], "t", [tensor("w")]), before=[node("Neg", ["x"], ["w"])]
    ),
    "subgraph gives an initializer": lambda: with_if(branch([], "w", [tensor("w")])),
    "both branches use one name": lambda: with_if(branch([node("Abs", ["x"], ["e"])], "e")),
    "branch output named as the node's": lambda: with_if(branch([node("Abs", ["x"], ["y"])], "y")),
    "function": lambda: calling(function([BODY])),
    "function of another opset": lambda: calling(function([BODY], opsets=[("", 13)])),
    "function calls function": lambda: calling(
        function([node("g", ["p"], ["q"], domain="my")]), function([BODY], name="g")
    ),
    "function that nothing calls reads what is undefined": lambda: model(
        [ABS], functions=[function([node("Add", ["p", "nope"], ["q"])])]
    ),
}

REFUSED: dict[str, tuple[Callable[[], onnx.ModelProto], str]] = {
    "cycle": (
        lambda: model([node("Add", ["x", "b"], ["y"], name="sum"), node("Abs", ["y"], ["b"])]),
        r"'sum' \(Add\).*cycle",
    ),
    "cycle that nothing needs": (
        lambda: model([ABS, node("Abs", ["p"], ["q"], name="p_to_q"), node("Abs", ["q"], ["p"])]),
        r"'p_to_q' \(Abs\).*cycle",
    ),
    "input undefined": (
        lambda: model([node("Add", ["x", "nope"], ["y"], name="sum")]),
        r"'sum' \(Add\).*'nope'",
    ),
    "output undefined": (lambda: model([ABS], outputs=[value("y"), value("z")]), r"'main'.*'z'"),
    "output without a name": (lambda: model([ABS], outputs=[value("y"), value("")]), "output ''"),
    "two producers": (lambda: model([ABS, node("Neg", ["x"], ["y"], name="neg")]), "'neg'.*'y'"),
    "two outputs of one name": (lambda: model([node("Split", ["x"], ["y", "y"])]), "'y'"),
    "producer of an input": (
        lambda: model([ABS, node("Neg", ["y"], ["x"], name="neg")]),
        "'neg'.*'x'.*input",
    ),
    "producer of an initializer": (
        lambda: model([ABS, node("Neg", ["x"], ["w"], name="neg")], initializers=[tensor("w")]),
        "'neg'.*'w'.*initializer",
    ),
    "input twice": (lambda: model([ABS], inputs=[value("x"), value("x")]), "'x'.*twice"),
    "no operator": (lambda: model([node("", ["x"], ["y"], name="blank")]), "'blank'.*operator"),
    "unknown domain not imported": (
        lambda: model([node("Foo", ["x"], ["y"], domain="foo")]),
        r"'y' \(foo::Foo\).*'foo'",
    ),
    "no opset": (lambda: model([ABS], opsets=[]), "opset"),
    "subgraph reads what is undefined": (
        lambda: with_if(branch([node("Abs", ["nope"], ["t"], name="inner")], "t")),
        "'inner'.*'nope'",
    ),
    "subgraph output undefined": (lambda: with_if(branch([node("Abs", ["x"], ["t"])], "z")), "'branch'.*'z'"),
    "subgraph gives an outer value": (lambda: with_if(branch([], "x")), "'branch'.*'x'"),
    "subgraph out of order": (
        lambda: with_if(branch([node("Neg", ["b"], ["t"], name="early"), node("Abs", ["x"], ["b"])], "t")),
        "'early'.*'b'",
    ),
    "subgraph with a cycle": (
        lambda: with_if(branch([node("Add", ["x", "b"], ["t"]), node("Abs", ["t"], ["b"])], "t")),
        "cycle",
    ),
    "subgraph reads its own node's output": (
        lambda: with_if(branch([node("Abs", ["y"], ["t"])], "t")),
        r"'choice' \(If\).*cycle",
    ),
    "subgraph closes a cycle": (
        lambda: with_if(branch([node("Abs", ["late"], ["t"])], "t"), after=[node("Neg", ["y"], ["late"])]),
        "cycle",
    ),
    "two producers in a subgraph": (
        lambda: with_if(branch([node("Neg", ["x"], ["t"]), node("Abs", ["x"], ["t"], name="second")], "t")),
        "'second'.*'t'",
    ),
    "function reads what is undefined": (
        lambda: calling(function([node("Add", ["p", "nope"], ["q"])])),
        "'q'.*'nope'",
    ),
    "function output undefined": (lambda: calling(function([node("Abs", ["p"], ["z"])])), "'f'.*'q'"),
    "two producers in a function": (lambda: calling(function([BODY, node("Neg", ["p"], ["q"])])), "'q'"),
    "function out of order": (
        lambda: calling(function([node("Neg", ["b"], ["q"]), node("Abs", ["p"], ["b"])])),
        "'b'",
    ),
    "function input twice": (lambda: calling(function([BODY], inputs=["p", "p"])), "'p'.*twice"),
    "function without an import": (lambda: calling(function([BODY], opsets=[("my", 1)])), "''"),
    "function twice": (lambda: calling(function([BODY]), function([BODY])), "my::f.*twice"),
    "function calls itself": (
        lambda: calling(function([node("f", ["p"], ["q"], domain="my")])),
        "my::f calls itself",
    ),
    "functions call each other": (
        lambda: calling(
            function([node("g", ["p"], ["q"], domain="my")]),
            function([node("f", ["p"], ["q"], domain="my")], name="g"),
        ),
        "calls itself",
    ),
    "function calls itself, and nothing calls it": (
        lambda: model([ABS], functions=[function([node("f", ["p"], ["q"], domain="my")])]),
        "my::f calls itself",
    ),
}


def session(proto: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])


def run(proto: onnx.ModelProto) -> list[np.ndarray]:
    runner = session(proto)
    return runner.run(None, {argument.name: BOTH for argument in runner.get_inputs()})


@pytest.mark.parametrize("name", LOADED)
def test_what_onnxruntime_loads_is_not_refused(name):
    proto = LOADED[name]()
    session(proto)
    check_structure(proto)


@pytest.mark.parametrize("name", LOADED)
def test_what_onnxruntime_loads_comes_out_with_the_same_results(name, caplog):
    proto = LOADED[name]()
    source = model_file.from_proto(proto)
    result = model_file.to_proto(source.model, source)
    np.testing.assert_equal(run(result), run(proto))
    # onnx_ir warns of names that it can't resolve. It looks into functions that nothing calls, we don't.
    assert "that nothing calls" in name or not caplog.records


@needs_recent_onnxruntime
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_onnxruntime_does_not_load(name):
    proto = REFUSED[name][0]()
    with pytest.raises((onnxruntime_state.Fail, onnxruntime_state.InvalidArgument, onnxruntime_state.InvalidGraph)):
        session(proto)


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_invalid_is_refused_with_the_place(name):
    build, message = REFUSED[name]
    proto = build()
    with pytest.raises(ModelError, match=message) as caught:
        check_structure(proto)
    assert caught.value.hint
    assert caught.value.exit_status == 3


def with_attributes(required: list[str], *defaults: float) -> onnx.ModelProto:
    """A function that lists these attributes, and has these defaults for the attribute `alpha`."""
    leaky = node("LeakyRelu", ["p"], ["q"])
    leaky.attribute.add(name="alpha", ref_attr_name="alpha", type=onnx.AttributeProto.FLOAT)
    called = function([leaky])
    called.attribute.extend(required)
    called.attribute_proto.extend(helper.make_attribute("alpha", default) for default in defaults)
    return model([node("f", ["x"], ["y"], domain="my")], functions=[called])


@pytest.mark.parametrize(
    ("proto", "message"),
    [
        (with_attributes([], 0.25, 0.75), "node 'f' .my::f.: it has an attribute twice"),
        (with_attributes(["alpha"], 0.25), "'alpha' is listed with a default and without one"),
    ],
)
def test_two_defaults_of_an_attribute_are_refused(proto, message):
    """It can be loaded, but which of them holds is anybody's guess: onnxruntime takes the first, onnx_ir the last."""
    session(proto)
    with pytest.raises(ModelError, match=message):
        check_structure(proto)


@pytest.mark.parametrize(
    ("default", "message"),
    [
        (onnx.AttributeProto(name="n", type=onnx.AttributeProto.INT), "'n' lacks its type, or a value of it"),
        (onnx.AttributeProto.FromString(b"\x0a\x01\xff"), "no UTF-8"),
        (
            onnx.AttributeProto(
                name="g",
                type=onnx.AttributeProto.GRAPH,
                g=onnx.GraphProto(name="b", node=[node("", ["x"], ["z"])]),
            ),
            "no operator",
        ),
    ],
)
def test_the_defaults_of_a_function_are_checked(default, message):
    proto = with_attributes([])
    proto.functions[0].attribute_proto.append(default)
    with pytest.raises(ModelError, match=message):
        check_structure(proto)


@pytest.mark.parametrize("proto", [with_attributes([], 0.25), with_attributes(["alpha", "beta", "alpha"])])
def test_an_attribute_that_a_function_lists_twice_comes_out_as_it_was(proto):
    check_structure(proto)
    source = model_file.from_proto(proto)
    assert model_file.to_proto(source.model, source) == proto


def test_a_model_without_graph_is_refused():
    with pytest.raises(ModelError, match="no graph"):
        check_structure(onnx.ModelProto(ir_version=8))


def test_a_model_without_ir_version_is_refused():
    proto = model([ABS])
    proto.ClearField("ir_version")
    with pytest.raises(ModelError, match="IR version"):
        check_structure(proto)


def test_before_ir_version_3_an_opset_is_implied():
    """The specification has opset_import from IR version 3 on; onnxruntime wants it in any."""
    check_structure(model([ABS], opsets=[], ir_version=2))


def test_a_future_ir_version_is_not_refused():
    check_structure(model([ABS], ir_version=99))


def test_it_says_whether_the_nodes_are_in_order():
    assert check_structure(LOADED["subgraph"]()) is True
    assert check_structure(LOADED["main graph out of order"]()) is False
    assert check_structure(LOADED["subgraph reads a later node"]()) is False


def test_nodes_out_of_order_are_sorted():
    source = model_file.from_proto(LOADED["main graph out of order"]())
    assert [n.op_type for n in source.model.graph] == ["Abs", "Neg"]


def test_the_model_is_not_changed():
    proto = LOADED["function calls function"]()
    before = proto.SerializeToString(deterministic=True)
    check_structure(proto)
    assert proto.SerializeToString(deterministic=True) == before


def chain(length: int) -> onnx.ModelProto:
    names = ["x", *(f"v{index}" for index in range(1, length)), "y"]
    return model([node("Abs", [a], [b]) for a, b in itertools.pairwise(names)])


def test_time_is_linear_in_the_nodes():
    def seconds(proto: onnx.ModelProto) -> float:
        times = []
        for _ in range(5):
            start = time.perf_counter()
            check_structure(proto)
            times.append(time.perf_counter() - start)
        return min(times)

    assert seconds(chain(20_000)) < 30 * seconds(chain(2_000))


def test_a_long_chain_of_calls_is_checked():
    deep = [function([node(f"f{i + 1}", ["p"], ["q"], domain="my")], name=f"f{i}") for i in range(3000)]
    deep.append(function([BODY], name="f3000"))
    check_structure(model([node("f0", ["x"], ["y"], domain="my")], functions=deep))
