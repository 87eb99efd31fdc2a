"""What the fuzzer found, each made small: it ends as optimized, or is refused as invalid."""

from __future__ import annotations

import contextlib
from pathlib import Path

import onnx
import pytest
from onnx import helper

from foldproof import model_file
from foldproof.errors import ModelError
from foldproof.options import Options
from foldproof.pipeline import Optimizer
from foldproof.validation import check_structure
from foldproof.verification.hints import find_hints
from foldproof.verification.signature import inputs_of
from tests.helpers import parse

BATCH_NORM = "float[2] s = {1, 2}, float[2] b = {0, 1}, float[2] m = {0.5, 0.1}, float[2] v = {1, 4}"

MODELS = {
    "a node that lacks an input, before one that a rule looks at": (
        f"g (float[N, 3] x) => (float[N, 2] y) <{BATCH_NORM}> {{ p = MatMul (x) y = BatchNormalization (p, s, b, m, v) }}"
    ),
    "a node that has one too many, before one that a rule looks at": (
        "g (float[N] x) => (float[N, 8] y) <float r = {1.4}, float one = {1}, float half = {0.5}> {"
        " q = Div (x, r) e = Erf (q) s = Add (e, one, one) h = Mul (s, half) y = Mul (x, h) }"
    ),
    "one too many, beside what a rule looks at": (
        "g (float[N, 2, 3] x) => (float[N, 2, 2, 1] y, float[N, 2, 1, 2] z) <float[3, 2] w = {1, 2, 3, 4, 5, 6},"
        " float[3, 2] v = {6, 5, 4, 3, 2, 1}, float[2] b = {1, 2}, int64[4] s = {-1, 2, 2, 1},"
        " int64[4] t = {-1, 2, 1, 2}> { p = MatMul (x, w, v) a = Add (p, b) y = Reshape (a, s)"
        " q = MatMul (x, v) c = Add (q, b) z = Reshape (c, t) }"
    ),
    "a bias of more dims than channels": (
        "g (float[N, 3, 4] x) => (float[N, 2, 4] y) <float[2, 3, 1] w = {1, 2, 3, 4, 5, 6}, float[2, 2] c = {1, 2, 3, 4},"
        f" {BATCH_NORM}> {{ p = Conv (x, w, c) y = BatchNormalization (p, s, b, m, v) }}"
    ),
    "the largest of booleans": (
        "g (bool[N] x) => (bool[N] y) <bool one = {1}> { t = Min (x, one) y = Max (t, one) }"
    ),
    "a branch of more outputs than its If": (
        "g (float[N] x) => (float[N] y) <bool c = {1}> { y = If (c) <then_branch = a () => (float[N] t, float[N] u)"
        " { t = Neg (x) u = Abs (x) }, else_branch = b () => (float[N] e) { e = Abs (x) }> }"
    ),
    "a node that lacks an input, in a branch": (
        "g (float[N] x, bool c) => (float[N] y) { y = If (c) <then_branch = a () => (float[N] t) { t = Identity (x) },"
        " else_branch = b () => (float[N] e) { e = Identity () }> }"
    ),
    "repeats that no int64 holds": (
        "g (float[N] x) => (float[M] y) <int64[1] r = {4611686018427387904}> { z = Tile (x, r) y = Tile (z, r) }"
    ),
    "nothing to negate twice": "g (float[N] x) => (float[N] y) { r = Neg (x) s = Reciprocal (r) y = Neg (s) }",
    "a permutation of fewer axes than there are": (
        "g () => (float[N, M] y) <float[2, 2] x = {1, -1, 1, 0.5}> {"
        " a = Transpose <perm = [0]> (x) b = Relu (a) y = Transpose <perm = [1, 0]> (b) }"
    ),
    "matrices that don't fit": (
        "g (float[A, B] x) => (float y) <float[2, 3] w = {1, 2, 3, 4, 5, 6}> { a = MatMul (x, w) b = MatMul (a, w) y = Neg (b) }"
    ),
    "pads that take away more than there is": (
        "g (float[N, 3] x) => (float[N, 3] y) <int64[4] pads = {4611686018427387904, 2147483648, 28, -9223372036854775808},"
        " int64[1] start = {1}, int64[1] end = {-2}, int64[1] axis = {1}> {"
        " p = Pad (x, pads) s = Slice (p, start, end, axis) y = Neg (s) }"
    ),
    "a target that no int64 holds": (
        "g (float[N, 3, 4] x) => (float[N, 2, 6] y) <int64[2] flat = {1000, 9223372036854775807}, int64[3] two = {-1, 2, 6}>"
        " { z = Reshape (x, flat) y = Reshape (z, two) }"
    ),
    "more elements than a number tells": (
        "g () => (float[A, B, C] y, int64 s) <int64[6] pads = {27, -3, -9223372036854775807, 18, 22, 2147483647},"
        " float[1, 1, 2] w = {1, 2}, float[0, 1, 3] x = {}> { p = Pad (x, pads) y = Conv (p, w) s = Size (y) }"
    ),
    "an element for none": (
        "g (float[N, 3, M] x) => (int64[2] y, int64[A, B] z) <int64[1] one = {1}, int64[1] more = {28}> {"
        " s = Shape (x) y = Slice (s, one, more) z = Reshape (one, y) }"
    ),
    "a dim that no array has": (
        "g () => (float[N, K] y) <int64[1] rest = {4611686018427387904}, float[0, 0, 4] x = {}> {"
        " n = Shape <end = 1> (x) s = Concat <axis = 0> (n, rest) y = Reshape (x, s) }"
    ),
    "a bias of other columns than the weights": (
        "g (float[N, 2] x) => (float[N, 3] y) <float[2, 3] w = {1, 2, 3, 4, 5, 6}, float[2] c = {5, 7}> {"
        " s = Add (x, c) y = Gemm (s, w, c) }"
    ),
    "an operator that came later, of one input": (
        "g (int64[3] x) => (int64[3] y) { y = BitwiseXor <axis = 2> (x) }"
    ),
    "an empty tensor of a long axis, in pieces": (
        "g () => (float[N, 4] y) <float[0, 4294967296] x = {}> {"
        " a = Split <axis = 1, num_outputs = 1> (x) y = Neg (a) }"
    ),
    "an empty tensor of a long axis, cropped": (
        "g () => (float[N, M] y) <float[0, 4294967296] x = {}, int64[4] pads = {0, -1, 0, 0}> { y = Pad (x, pads) }"
    ),
    "an empty tensor of a long axis, sliced": (
        "g () => (float[N, M] y) <float[0, 4294967296] x = {}, int64[1] start = {1}, int64[1] end = {4294967290},"
        " int64[1] axis = {1}, int64[1] step = {3}> { y = Slice (x, start, end, axis, step) }"
    ),
    "an empty matrix of many rows, with ones on its diagonal": (
        "g () => (float[N, M] y) <float[4294967296, 0] x = {}> { y = EyeLike (x) }"
    ),
    "no triangle of many rows": (
        "g () => (float[N, A, B] y) <float[0, 1048576, 1048576] x = {}> { y = Trilu (x) }"
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", MODELS.values(), ids=MODELS)
def test_it_is_optimized(text):
    model = parse(text, opset=18 if "num_outputs" in text or "Trilu" in text else 13)
    report = Optimizer(Options(verify=False)).run(model)
    check_structure(report.model)
    assert not [each for each in report.report.warnings if "fault of Foldproof" in each]


@pytest.mark.parametrize("rows", [2**57, 2**59])
def test_a_folded_tensor_has_dims_that_can_be_read_again(tmp_path, rows):
    inputs = f"<int64[2] s = {{0, {rows}}}, float[0, 3] x = {{}}>"
    model = parse(f"g () => (float[N, M] y) {inputs} {{ z = Reshape (x, s) y = Neg (z) }}")
    onnx.save(model, tmp_path / "model.onnx")
    Optimizer(Options(verify=False)).run_file(tmp_path / "model.onnx", tmp_path / "out.onnx")
    assert onnx.load(tmp_path / "out.onnx").graph.output == model.graph.output
    model_file.read(tmp_path / "out.onnx")


def test_a_sequence_of_maps_is_not_folded():
    """As an input of another node it has no type that a constant may have."""
    model = parse(
        "g () => (seq(map(int64, float)) z, int64 n) <float[1, 2] x = {1, 2}> {"
        " z = ai.onnx.ml.ZipMap <classlabels_int64s = [0, 1]> (x) n = SequenceLength (z) }",
        imports='"ai.onnx.ml": 3',
    )
    report = Optimizer(Options(verify=False)).run(model)
    assert [node.op_type for node in report.model.graph.node] == ["ZipMap", "SequenceLength"]


@pytest.mark.parametrize("texts", [b"\xff\xfe", [b"\xff\xfe"], [b"a", b"\xff"]])
def test_a_constant_string_that_is_no_text(texts):
    model = parse('g () => (string[N] y) { k = Constant <value_string = "a"> () y = Concat <axis = 0> (k, k) }')
    model.graph.node[0].attribute[0].CopyFrom(
        helper.make_attribute("value_string" if isinstance(texts, bytes) else "value_strings", texts)
    )
    report = Optimizer(Options(verify=False)).run(model)
    check_structure(report.model)


def test_an_output_that_is_left_out_is_folded_without_a_name():
    model = parse("g (float[N] x) => (float[N] z) <float[1] y = {2}> { s = Neg (y) z = Abs (x) }")
    model.graph.node[0].output[0] = ""
    report = Optimizer(Options(verify=False, skip_rules=("dead_node",))).run(model)
    check_structure(report.model)
    assert [node.op_type for node in report.model.graph.node] == ["Abs"]


def test_an_axis_that_refers_to_the_call_in_a_function_that_nothing_calls():
    function = '<domain: "my", opset_import: ["": 18]> f <axis> (p, i) => (q) { q = Gather <axis: int = @axis> (p, i) }'
    model = parse("g (float[N] x) => (float[N] y) { y = Neg (x) }", imports='"my": 1', functions=function)
    assert Optimizer(Options(verify=False)).run(model).model == model


@pytest.mark.parametrize(
    "nodes", ["y = Add (x, x) z = Equal (x)", "y = Add (x) z = Sub ()", "y = Log () z = OneHot (x)"]
)
@pytest.mark.filterwarnings("ignore::foldproof.UnverifiedWarning")
def test_inputs_are_made_up_for_nodes_that_lack_some(nodes):
    model = parse(f"g (float[2] x) => (float[2] y, float[2] z) {{ {nodes} }}")
    assert isinstance(find_hints(model, inputs_of(model)), dict)


@pytest.mark.parametrize("name", ["alpha", "beta"])
def test_an_attribute_that_is_no_number(name):
    """NaN passed for the 1/2 of a HardSwish, and the rule went on for ever."""
    text = "{ s = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x) y = Mul (x, s) }"
    model = parse(f"g (float[N, 8] x) => (float[N, 8] y) {text}", opset=14)
    attribute = next(each for each in model.graph.node[0].attribute if each.name == name)
    attribute.f = float("nan")
    assert [node.op_type for node in Optimizer(Options(verify=False)).run(model).model.graph.node] == [
        "HardSigmoid",
        "Mul",
    ]


def test_more_outputs_than_the_attribute_says():
    """onnx's inference ended the process."""
    model = parse("g (float[N, 4] x) => (float[N, 2] y) { a, b = Split <axis = 1, num_outputs = 1> (x) y = Neg (b) }")
    assert Optimizer(Options(verify=False)).run(model).model == model


def test_an_attribute_of_another_type_where_the_opset_is_not_imported():
    graph = "g (float[2] x) => (float[2] y) <int64[1] s = {2}> { c = ConstantOfShape <value = [1]> (s) y = Add (x, c) }"
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["x": 1]> {graph}')
    check_structure(Optimizer(Options(verify=False)).run(model).model)


def test_an_external_tensor_without_elements(tmp_path):
    model = parse("g (float[1] x) => (float[N, M] y, float[1] z) { y = Add (x, w) k = Identity (one) z = Add (k, x) }")
    model.graph.initializer.append(helper.make_tensor("one", 1, [1], [1.0]))
    tensor = model.graph.initializer.add(name="w", data_type=1, dims=[1, 0], data_location=onnx.TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="weights.bin")
    (tmp_path / "weights.bin").write_bytes(b"")
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    report = Optimizer(Options(max_growth=100)).run_file(tmp_path / "model.onnx", tmp_path / "out.onnx")
    assert report.verdict == "verified"


def test_a_sparse_tensor_that_is_given_to_a_function():
    body = "{ k = Constant <sparse_value: sparse_tensor = @s> () }"
    function = f'<domain: "my", opset_import: ["": 18]> f <s> () => (k) {body}'
    model = parse(
        "g (float[3] x) => (float[3] y) { k = my.f () y = Add (x, k) }", imports='"my": 1', functions=function
    )
    values, indices = helper.make_tensor("s", 1, [1], [2.0]), helper.make_tensor("", 7, [1], [1])
    sparse = onnx.SparseTensorProto(values=values, indices=indices, dims=[3])
    model.graph.node[0].attribute.append(helper.make_attribute("s", sparse))
    assert Optimizer(Options(verify=False)).run(model).model == model


@pytest.mark.parametrize("operator", ["Min", "Max", "Mean", "Sum", "Concat"])
def test_operands_that_are_left_out_are_not_handed_on(operator):
    """An operator of any number of inputs, given none twice: its result was replaced by nothing."""
    model = parse("g (float[N] x) => (float[N] y) { z = Neg (x) y = Neg (x) }")
    axis = {"axis": 0} if operator == "Concat" else {}
    model.graph.node[1].CopyFrom(helper.make_node(operator, ["", ""], ["y"], **axis))
    check_structure(Optimizer(Options(verify=False)).run(model).model)


def test_a_reciprocal_of_nothing():
    model = parse("g (float[N] x) => (float[N] y) { r = Neg (x) s = Reciprocal (r) y = Neg (s) }")
    model.graph.node[0].CopyFrom(helper.make_node("Reciprocal", [""], ["r"]))
    check_structure(Optimizer(Options(verify=False)).run(model).model)


@pytest.mark.parametrize("kind", [0, -2, 99])
@pytest.mark.filterwarnings("ignore::foldproof.UnverifiedWarning")
def test_values_of_unknown_types_are_no_stumbling_block(kind):
    """The declarations of inputs and outputs are the model's own; verification writes them out."""
    for values in ("input", "output"):
        model = parse("g (float[2] x) => (float[2] y) { y = Identity (x) }")
        getattr(model.graph, values)[0].type.tensor_type.elem_type = kind
        with contextlib.suppress(ModelError):
            Optimizer(Options()).run(model)


def test_an_annotation_of_a_value_that_is_an_initializer_elsewhere():
    model = parse("g (float[2] x) => (float[2] y) <float[2] k = {1, 2}> { m = Neg (x) y = Add (m, k) }")
    for name in ("m", "m", "k"):
        model.graph.quantization_annotation.add(tensor_name=name)
    check_structure(Optimizer(Options(verify=False)).run(model).model)


def test_files_of_data_that_are_not_there():
    model = parse("g (float[4] x) => (float[4] y) { a = Neg (w) b = Neg (i) c = Gather (x, b) y = Add (a, c) }")
    for name, kind in (("w", 1), ("i", 7)):
        tensor = model.graph.initializer.add(name=name, data_type=kind, dims=[4])
        tensor.data_location = onnx.TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="not there.bin")
    constant = helper.make_node("Constant", [], ["k"], value=model.graph.initializer[0])
    model.graph.node.extend([constant, helper.make_node("Neg", ["k"], ["z"])])
    model.graph.output.add(name="z")
    check_structure(Optimizer(Options(verify=False)).run(model).model)


def test_data_that_is_not_there_is_not_read_to_tell_of_a_rewrite(tmp_path: Path) -> None:
    model = parse("g () => (int32[N] y) <int32[2] x = {1, 2}> { n = BitwiseNot (x) m = BitwiseNot (n) y = Abs (m) }")
    model.graph.initializer[0].ClearField("int32_data")
    model.graph.initializer[0].data_location = onnx.TensorProto.EXTERNAL
    model.graph.initializer[0].external_data.add(key="location", value="lost.bin")
    (tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(ModelError, match="lost.bin of the tensor 'x' can't be read"):
        Optimizer(Options(verify=False)).run_file(tmp_path / "m.onnx", tmp_path / "out.onnx")


def test_an_axis_that_is_an_attribute_of_the_function_around_it() -> None:
    model = parse(
        "g (float[N, 4] x) => (float[N, 2] y, float[2, M] z) { y = fuzz.f <by = 1> (x) t = Transpose (x) z = fuzz.f <by = 0> (t) }",
        imports='"fuzz": 1',
        functions='<domain: "fuzz", opset_import: ["": 18]> f <by> (x) => (y) {'
        " a, b = Split <axis: int = @by, num_outputs = 2> (x) y = Neg (b) }",
    )
    onnx.checker.check_model(model)
    assert Optimizer(Options()).run(model).report.verdict == "verified"
