"""The models that are mutated."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from foldproof.rewriting.examples import example_of
from foldproof.rewriting.packs import installed

SAMPLES = Path(__file__).parent.parent.parent / "models"

DATA = np.arange(64, dtype=np.float32).tobytes()
"""The content of `weights.bin`, which lies beside each mutated file."""

_TEXTS = (
    # What neither the samples nor the examples of rules have.
    """<ir_version: 10, opset_import: ["": 21, "my": 1]>
    g (float[N, 4] x) => (float[N, 4] y, int64 n) <float[4] w = {1, 2, 3, 4}> {
        a = my.Scale <by = 2.0> (x, w) b = my.Twice (a) n = Size (b) y = Identity (b) }
    <domain: "my", opset_import: ["": 21]> Scale <by> (p, q) => (r) {
        c = Constant <value_float: float = @by> () d = Mul (p, q) r = Mul (d, c) }
    <domain: "my", opset_import: ["": 21, "my": 1]> Twice (p) => (r) { s = my.Inner (p) r = Add (s, s) }
    <domain: "my", opset_import: ["": 21]> Inner (p) => (r) { r = Relu (p) }""",
    """<ir_version: 10, opset_import: ["": 21]>
    g (float[N] x, bool c) => (float[M] y, float[3] z) <int64 trips = {3}, float[1] start = {0}> {
        y = If (c) <
            then_branch = t () => (float[N] p) { p = Neg (x) },
            else_branch = e () => (float[K] q) { k = Constant <value_ints = [2]> ()
                o = Constant <value_ints = [0]> () q = Slice (x, o, k) }>
        yes = Constant <value = bool {1}> ()
        last, z = Loop (trips, yes, start) <
            body = b (int64 i, bool go, float[1] s) => (bool on, float[1] next, float e) {
                on = Identity (go) f = Cast <to = 1> (i) next = Add (s, f) e = ReduceSum <keepdims = 0> (next) }> }""",
    """<ir_version: 8, opset_import: ["": 17]>
    g (float[2, N] x) => (float[N, 2] y) <int64 i = {0}> {
        s = SplitToSequence <axis = 0, keepdims = 1> (x) n = SequenceLength (s)
        a = SequenceAt (s, i) t = SequenceInsert (s, a) z = SequenceErase (t, i)
        c = ConcatFromSequence <axis = 0> (z) y = Transpose <perm = [1, 0]> (c) }""",
    """<ir_version: 9, opset_import: ["": 19]>
    g (float[1, 3, 8, 8] x) => (float[1, 2, 4, 4] y) <float[2, 3, 1, 1] w = {1, 2, 3, 4, 5, 6}, float s = {0.1},
        uint8 z = {128}> {
        q = QuantizeLinear (x, s, z) d = DequantizeLinear (q, s, z)
        wq = QuantizeLinear (w, s, z) wd = DequantizeLinear (wq, s, z)
        c = Conv <strides = [2, 2]> (d, wd) y = Relu (c) }""",
    """<ir_version: 10, opset_import: ["": 20]>
    g (string[N] x, float[N] f) => (string[M] y, int64[K] i) <string[2] w = {"a", "b"}> {
        y = StringConcat (x, x) l = Cast <to = 7> (f) u, i0, i, k = Unique (l) d = StringNormalizer (w) }""",
    """<ir_version: 10, opset_import: ["": 22]>
    g (float[B, 16] x) => (float[B, 5] y) <int64[2] h = {-1, 4}> {
        s = Shape (x) i = Constant <value_int = 0> () b = Gather (s, i) a = Constant <value_ints = [0]> ()
        u = Unsqueeze (b, a) k = Constant <value_ints = [5]> () t = Concat <axis = 0> (u, k) f = ConstantOfShape (t)
        one = Constant <value_int = 1> () r = Range (i, b, one) v = Cast <to = 1> (r)
        a2 = Constant <value_ints = [1]> () w = Unsqueeze (v, a2) e = Expand (w, t)
        reps = Constant <value_ints = [1, 1]> () p = Tile (e, reps) y = Add (f, p) }""",
)


@functools.lru_cache(maxsize=1)
def small_seeds() -> tuple[onnx.ModelProto, ...]:
    """The samples, an example of each rule, and some models made for this."""
    samples = [onnx.load(path) for path in sorted(SAMPLES.glob("*.onnx"))]
    examples = [model for rule in installed() if (model := example_of(rule)) is not None]
    return (*samples, *examples, *(onnx.parser.parse_model(text) for text in _TEXTS), _external(), _odd())


def node_tests() -> list[onnx.ModelProto]:
    """The published node tests: nearly all operators. It takes some seconds to make them."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [case.model for case in collect_testcases(None) if case.model is not None]


def files(folders: Iterable[Path], largest: int = 300_000) -> list[onnx.ModelProto]:
    """The models in some folders, without those that are large."""
    paths = (path for folder in folders for path in sorted(folder.rglob("*.onnx")))
    return [onnx.load(path, load_external_data=False) for path in paths if path.stat().st_size <= largest]


def _external() -> onnx.ModelProto:
    """A model of which some weights lie in `weights.bin`; two are the same."""
    weights = []
    for name, offset in (("w", 0), ("v", 128), ("tied", 0)):
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=[4, 8], data_location=TensorProto.EXTERNAL)
        for key, value in (("location", "weights.bin"), ("offset", str(offset)), ("length", "128")):
            tensor.external_data.add(key=key, value=value)
        weights.append(tensor)
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["a"]),
        helper.make_node("Transpose", ["v"], ["t"], perm=[1, 0]),
        helper.make_node("MatMul", ["a", "t"], ["b"]),
        helper.make_node("MatMul", ["b", "tied"], ["y"]),
    ]
    return _model(nodes, [helper.make_tensor_value_info("x", 1, ["N", 4])], ["y"], weights)


def _odd() -> onnx.ModelProto:
    """Sparse tensors, annotations, maps, metadata, training: what most models lack."""
    values = helper.make_tensor("sparse", TensorProto.FLOAT, [2], [5, 7])
    sparse = helper.make_sparse_tensor(values, helper.make_tensor("", TensorProto.INT64, [2, 2], [0, 1, 2, 0]), [3, 2])
    nodes = [
        helper.make_node("Constant", [], ["k"], sparse_value=sparse),
        helper.make_node("Add", ["k", "sparse"], ["s"]),
        helper.make_node("MatMul", ["x", "s"], ["m"]),
        helper.make_node("ZipMap", ["m"], ["z"], domain="ai.onnx.ml", classlabels_int64s=[0, 1]),
        helper.make_node("Add", ["m", "half"], ["y"]),
    ]
    weights = [numpy_helper.from_array(np.ones(2, np.float32), "half")]
    model = _model(nodes, [helper.make_tensor_value_info("x", 1, ["N", 3])], ["y", "z"], weights)
    model.opset_import.add(domain="ai.onnx.ml", version=3)
    model.graph.sparse_initializer.append(sparse)
    annotation = model.graph.quantization_annotation.add(tensor_name="m")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="half")
    model.graph.value_info.append(
        helper.make_value_info("m", helper.make_tensor_type_proto(TensorProto.FLOAT, ["N", 2]), "described")
    )
    mapping = helper.make_map_type_proto(TensorProto.INT64, helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    model.graph.output[1].type.CopyFrom(helper.make_sequence_type_proto(mapping))
    model.metadata_props.add(key="author", value="somebody")
    model.training_info.add().algorithm.CopyFrom(
        helper.make_graph([helper.make_node("Abs", ["x"], ["l"])], "t", [], [])
    )
    return model


def _model(
    nodes: list[onnx.NodeProto], inputs: list[onnx.ValueInfoProto], outputs: list[str], weights: list[TensorProto]
) -> onnx.ModelProto:
    results = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs]
    graph = helper.make_graph(nodes, "g", inputs, results, weights)
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 20)])
