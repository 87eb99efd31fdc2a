from __future__ import annotations

import numpy as np
import onnx
import onnx_ir as ir
import pytest

import foldproof
from foldproof.facts import Facts
from foldproof.rewriting import Rewriter
from foldproof.rewriting.packs import installed
from tests.helpers import operators, parse, rewrite
from tests.rules.checking import assert_same

HEADER = '<domain: "local", opset_import: ["": 18, "local": 1]>'


def model_of(body: str, *functions: str, opset: int = 18) -> onnx.ModelProto:
    text = "\n".join(f"{each if each.startswith('<') else HEADER + each}" for each in functions)
    return parse(
        f"g (float[N, 3] x) => (float[N, 3] y) {{ {body} }}", opset=opset, imports='"local": 1', functions=text
    )


def check(original: onnx.ModelProto, model: onnx.ModelProto) -> None:
    x = np.array([[1, 2, 3], [-0.0, np.nan, np.inf]], np.float32)
    assert_same(original, model, {"x": x})


def test_every_call_is_inlined_where_it_is_asked_for_and_the_functions_go() -> None:
    proto = model_of(
        "a = local.f <alpha = 3.0> (x) b = local.f(a) y = local.h(b)",
        "f <alpha: float = 2.0> (a) => (b) { k = Constant <value_float: float = @alpha> () c = local.h(a) b = Mul(c, k) }",
        "h (a) => (b) { c = Exp(a) b = Neg(c) }",
        "unused (a) => (b) { b = Neg(a) }",
    )
    model = foldproof.optimize(proto, inline_functions=True)
    assert [function.name for function in model.functions] == ["unused"]
    assert not any(node.domain == "local" for node in model.graph.node)
    check(proto, model)


def test_calls_stay_where_inlining_is_not_asked_for() -> None:
    proto = model_of("y = local.h(x)", "h (a) => (b) { c = Exp(a) b = Neg(c) }")
    model = foldproof.optimize(proto)
    assert operators(model)["local::h"] == 1
    assert [function.name for function in model.functions] == ["h"]


def test_names_of_two_calls_do_not_clash() -> None:
    proto = model_of(
        "a = local.h(x) c = local.h(a) y = Add(a, c)",
        """h (a) => (b) {
            z = ReduceMax <keepdims = 0> (a) k = CastLike(z, a) t = Cast <to = 9> (k)
            c = If (t) <then_branch = p () => (r) { w = Exp(a) r = Neg(w) }, else_branch = q () => (s) { w = Abs(a) s = Neg(w) }>
            b = Neg(c) }""",
    )
    model, _ = rewrite(proto, "inline_functions")
    names = [name for graph in graphs_of(model.graph) for node in graph.node for name in node.output]
    assert len(names) == len(set(names))
    assert operators(model)["If"] == 3  # two calls, and the function itself
    check(proto, model)


def graphs_of(graph: onnx.GraphProto) -> list[onnx.GraphProto]:
    bodies = [attribute.g for node in graph.node for attribute in node.attribute if attribute.HasField("g")]
    return [graph, *(inner for body in bodies for inner in graphs_of(body))]


def test_an_input_that_the_call_leaves_out_is_left_out_and_an_output_too() -> None:
    proto = model_of("y, z = local.f(x)", "f (a, low) => (b, c) { b = Clip(a, low) c = Neg(b) }")
    proto.graph.node[0].output[1] = ""
    model, _ = rewrite(proto, "inline_functions", "dead_node")
    assert [name for name in model.graph.node[0].input if name] == ["x"]
    assert [node.op_type for node in model.graph.node] == ["Clip"]
    check(proto, model)


def test_an_attribute_that_the_call_leaves_out_and_that_has_no_default_is_left_out() -> None:
    proto = model_of("y = local.f(x)", "f <slope> (a) => (b) { b = LeakyRelu <alpha: float = @slope> (a) }")
    model, _ = rewrite(proto, "inline_functions")
    assert len(model.graph.node[0].attribute) == 0
    check(proto, model)


@pytest.mark.parametrize(
    ("operators", "first"), [("c = ReduceMax <axes = [1]> (a) b = Add(a, c)", "f"), ("c = Sin(a) b = Exp(c)", "Sin")]
)
def test_a_function_of_another_opset_is_inlined_where_its_operators_are_the_same(operators: str, first: str) -> None:
    function = f'<domain: "local", opset_import: ["": 17]> f (a) => (b) {{ {operators} }}'
    assert first_operator_after_inlining(model_of("y = local.f(x)", function)) == first


def test_a_function_that_calls_itself_stays() -> None:
    recursive = model_of("y = local.f(x)", "f (a) => (b) { c = Exp(a) b = local.f(c) }")
    assert first_operator_after_inlining(recursive) == "f"


def first_operator_after_inlining(proto: onnx.ModelProto) -> str:
    """What the first node computes then. The model may be one that the checker refuses."""
    model = ir.from_proto(proto)
    Rewriter(model, Facts(model), [rule for rule in installed() if rule.name == "inline_functions"]).run()
    return model.graph[0].op_type


# Functions that fold ----------------------------------------------------------------------------------------------


def test_a_call_that_folds_to_one_node_is_inlined() -> None:
    proto = model_of(
        "y = local.f <axis = 1> (x)",
        """f <axis> (a) => (b) { r = Shape(a) s = Shape <start = 1> (a) k = Constant <value_int: int = @axis> ()
            d = Mul(s, k) e = Cast <to = 1> (d) b = Mul(a, e) }""",
    )
    model, _ = rewrite(proto, "function_that_folds", "known_elements", "dead_node")
    assert [node.op_type for node in model.graph.node if node.op_type != "Constant"] == ["Mul"]
    assert len(model.functions) == 1
    check(proto, model)


@pytest.mark.parametrize(
    "function",
    [
        "f (a) => (b) { b = Exp(a) }",
        "f (a) => (b) { c = Exp(a) s = Shape <start = 1> (a) e = Cast <to = 1> (s) b = Mul(c, e) }",
        "f (a) => (b) { s = Shape(a) e = ConstantOfShape(s) b = Mul(a, e) }",
        "f (a) => (b) { b = RandomNormalLike(a) }",
    ],
)
def test_a_call_of_which_more_is_left_stays(function: str) -> None:
    _, rewriter = rewrite(model_of("y = local.f(x)", function), "function_that_folds")
    assert len(rewriter.ledger) == 0


def test_a_call_whose_if_is_decided_by_its_attribute_is_its_branch() -> None:
    proto = model_of(
        "y = local.f <flag = 0> (x)",
        """f <flag> (a) => (b) { k = Constant <value_int: int = @flag> () c = Cast <to = 9> (k)
            b = If (c) <then_branch = p () => (r) { w = Exp(a) r = Neg(w) }, else_branch = q () => (s) { s = Neg(a) }> }""",
    )
    model, _ = rewrite(proto, "function_that_folds", "known_condition", "known_elements", "dead_node")
    assert [node.op_type for node in model.graph.node if node.op_type != "Constant"] == ["Neg"]
    check(proto, model)


@pytest.mark.parametrize(("domain", "name"), [("", "Softsign"), ("com.microsoft", "Gelu")])
def test_a_function_under_the_name_of_an_operator_stays_as_runtimes_differ_in_which_one_they_run(
    domain: str, name: str
) -> None:
    called = f"{domain}.{name}" if domain else name
    proto = parse(
        f"g (float[N, 3] x) => (float[N, 3] y) <float[3] k = {{1, 2, 3}}> {{ a = {called}(k) b = {called}(x) y = Add(a, b) }}",
        imports='"com.microsoft": 1',
        functions=f'<domain: "{domain}", opset_import: ["": 18]> {name} (a) => (b) {{ b = Neg(a) }}',
    )
    model = foldproof.optimize(proto, inline_functions=True, verify=False)
    assert operators(model) == operators(proto)
    check(proto, model)
