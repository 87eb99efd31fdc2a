"""Model-local functions: each call has facts of its own."""

from __future__ import annotations

from tests.facts.checking import assert_sound, facts_of, random_feeds
from tests.facts.inferring import infer
from tests.helpers import parse

IMPORTS = '"local": 1'


def function(text: str) -> str:
    return f'<domain: "local", opset_import: ["": 21, "local": 1]>\n{text}'


def check(body: str, functions: str, *bindings: dict[str, int], expected: dict[str, str]) -> None:
    found = infer(body, imports=IMPORTS, functions=functions)
    assert {name: found[name] for name in expected} == expected
    proto = parse(body, opset=21, imports=IMPORTS, functions=functions)
    for binding in bindings:
        assert_sound(proto, random_feeds(proto, binding))


def test_two_calls_have_different_facts():
    check(
        "g (float[N,3] x, float[2,2] z) => (int64 s, int64 t) { s = local.count (x) t = local.count (z) }",
        function("count (a) => (c) { c = Size (a) }"),
        {"N": 0},
        {"N": 4},
        expected={"s": "int64[] = [3*N]", "t": "int64[] = [4]"},
    )


def test_a_call_gives_its_attributes():
    check(
        "g (float[N,3] x) => (float[a,b] y, float[c,d] z) {"
        " y = local.flat <where = 0> (x) z = local.flat <where = 2> (x) }",
        function("flat <where> (a) => (b) { b = Flatten <axis: int = @where> (a) }"),
        {"N": 1},
        {"N": 4},
        expected={"y": "float[1, 3*N]", "z": "float[3*N, 1]"},
    )


def test_a_constant_may_be_an_attribute_of_the_call():
    check(
        "g (float[N,3] x) => (float[a,b] y, float[c] z) {"
        " y = local.give <k = [1, 3]> (x) z = local.give <k = [-1]> (x) }",
        function("give <k> (a) => (b) { c = Constant <value_ints: ints = @k> () b = Reshape <allowzero = 1> (a, c) }"),
        {"N": 1},
        expected={"y": "float[1, 3]", "z": "float[3*N]"},
    )


def test_attributes_reach_the_inference_of_an_operators_schema():
    # OneHotEncoder has no transfer function: its schema says that there is a dim for the categories.
    body = "g (int64[N] x) => (float[a,b] y) { y = local.encode <cats = [1, 2, 5]> (x) }"
    functions = """<domain: "local", opset_import: ["ai.onnx.ml": 3]>
        encode <cats> (a) => (b) { b = ai.onnx.ml.OneHotEncoder <cats_int64s: ints = @cats> (a) }"""
    found = infer(body, imports=f'{IMPORTS}, "ai.onnx.ml": 3', functions=functions)
    assert found["y"] == "float[N, 3]"


def test_an_attribute_that_is_left_out_has_its_default():
    check(
        "g (float[N,3] x) => (float[a,b] y, float[c,d] z) { y = local.flat (x) z = local.flat <where = 2> (x) }",
        function("flat <where: int = 0> (a) => (b) { b = Flatten <axis: int = @where> (a) }"),
        {"N": 1},
        {"N": 4},
        expected={"y": "float[1, 3*N]", "z": "float[3*N, 1]"},
    )


def test_an_attribute_without_default_that_is_left_out_is_left_out_within():
    check(
        "g (float[N,3] x) => (float[a,b] y) { y = local.flat (x) }",
        function("flat <where> (a) => (b) { b = Flatten <axis: int = @where> (a) }"),
        {"N": 1},
        {"N": 4},
        expected={"y": "float[N, 3]"},  # Flatten's own default is 1
    )


def test_attributes_go_through_nested_calls():
    check(
        "g (float[N,3] x) => (float[a,b] y) { y = local.outer <w = 0> (x) }",
        function("outer <w> (a) => (b) { c = Neg (a) b = local.flat <where: int = @w> (c) }")
        + function("flat <where> (a) => (b) { b = Flatten <axis: int = @where> (a) }"),
        {"N": 1},
        {"N": 4},
        expected={"y": "float[1, 3*N]"},
    )


def test_elements_go_through_calls():
    check(
        "g (float[N,3] x) => (int64[2] y) { s = Shape (x) y = local.twice (s) }",
        function("twice (a) => (b) { b = Add (a, a) }"),
        {"N": 1},
        {"N": 4},
        expected={"y": "int64[2] = [2*N, 6]"},
    )


def test_a_body_in_a_function_sees_its_inputs_and_attributes():
    check(
        "g (bool c, float[N,3] x) => (float[a,b] y) { y = local.choose <where = 0> (c, x) }",
        function("""choose <where> (c, a) => (b) {
            b = If (c) <
                then_branch = t () => (then_b) { then_b = Flatten <axis: int = @where> (a) },
                else_branch = e () => (else_b) { d = Neg (a) else_b = Flatten <axis: int = @where> (d) }
            >
        }"""),
        expected={"y": "float[1, 3*N]"},
    )


def test_two_calls_of_a_data_dependent_function_have_symbols_of_their_own():
    body = "g (float[N,3] x) => (int64[p,q] y, int64[r,s] z) { y = local.find (x) w = Neg (x) z = local.find (w) }"
    functions = function("find (a) => (b) { b = NonZero (a) }")
    proto = parse(body, opset=21, imports=IMPORTS, functions=functions)
    graph, facts = facts_of(proto)
    y, z = (facts.of(output).shape for output in graph.outputs)
    assert y[0] == z[0] == 2
    assert y[1] != z[1]
    assert_sound(proto, random_feeds(proto, {"N": 3}))


def test_a_function_named_as_an_operator_is_not_that_operator():
    check(
        "g (float[N,3] x) => (int64[a] y, int64 s) { y = local.Size (x) s = Size (x) }",
        function("Size (a) => (b) { b = Shape (a) }"),
        {"N": 1},
        {"N": 4},
        expected={"y": "int64[2] = [N, 3]", "s": "int64[] = [3*N]"},
    )


def test_a_function_uses_the_versions_that_it_imports():
    # Squeeze-11 takes its axes as an attribute. The model imports a later version, the function this one.
    body = "g (float[N,1,3] x) => (float[a,b] y) { y = local.drop (x) }"
    functions = '<domain: "local", opset_import: ["": 11]>\ndrop (a) => (b) { b = Squeeze <axes = [1]> (a) }'
    found = infer(body, imports=IMPORTS, functions=functions)
    assert found["y"] == "float[N, 3]"


def test_a_function_that_calls_itself_proves_nothing():
    body = "g (float[N,3] x) => (float[a,b] y) { y = local.loop (x) }"
    functions = function("loop (a) => (b) { b = local.loop (a) }")
    assert infer(body, imports=IMPORTS, functions=functions)["y"] == "?[...]"
