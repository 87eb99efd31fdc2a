"""Files that are made to do harm: each would take terabytes, or for ever, or read what is not the model's."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import onnx
from onnx import TensorProto, helper

LARGE = 1 << 40
"""More elements or iterations than anything has."""

FILES: dict[str, Callable[[Path], None]] = {}
"""What each kind is called, and what writes it: a model of that path, and what it needs beside it.

Where what it is called ends in `.json` or like another form, so does the path. The output comes into the folder above.
"""

_MODELS: dict[str, Callable[[], onnx.ModelProto]] = {}


def _text(graph: str, functions: str = "") -> Callable[[], onnx.ModelProto]:
    imports = '"": 21, "my": 1' if functions else '"": 21'
    return lambda: onnx.parser.parse_model(f"<ir_version: 10, opset_import: [{imports}]>\n{graph}\n{functions}")


def _file(write: Callable[[Path], None]) -> None:
    FILES[write.__name__.strip("_").replace("_", " ")] = write


def _model(make: Callable[[], onnx.ModelProto]) -> None:
    _MODELS[make.__name__.strip("_").replace("_", " ")] = make


# Results of terabytes -------------------------------------------------------------------------------------------------

_SIDES = "int64[2] s = {1048576, 1048576}"

_MODELS["ConstantOfShape, 4 TiB"] = _text(
    f"g () => (float[N, M] y) <{_SIDES}> {{ c = ConstantOfShape (s) y = Neg (c) }}"
)
_MODELS["ConstantOfShape, 32 GiB"] = _text(
    "g (float x) => (float y) <int64[1] s = {8589934592}>"
    " { c = ConstantOfShape (s) d = Add (c, x) y = ReduceSum <keepdims = 0> (d) }"
)
_MODELS["Range, 8 TiB"] = _text(
    f"g () => (int64 y) <int64 a = {{0}}, int64 b = {{{LARGE}}}, int64 c = {{1}}>"
    " { r = Range (a, b, c) y = ReduceSum <keepdims = 0> (r) }"
)
_MODELS["Range by 0"] = _text(
    "g () => (int64 y) <int64 a = {0}, int64 b = {10}, int64 c = {0}>"
    " { r = Range (a, b, c) y = ReduceSum <keepdims = 0> (r) }"
)
_MODELS["Tile, 4 TiB"] = _text(f"g (float[1, 1] x) => (float[N, M] y) <{_SIDES}> {{ y = Tile (x, s) }}")
_MODELS["Expand, 4 TiB"] = _text(f"g (float[1, 1] x) => (float[N, M] y) <{_SIDES}> {{ y = Expand (x, s) }}")
_MODELS["Tile by a size of the input"] = _text(
    f"g (float[1] x) => (float[N] y) <int64[1] k = {{{LARGE}}}> {{ s = Shape (x) t = Mul (s, k) y = Tile (x, t) }}"
)
_MODELS["Pad, 8 TiB"] = _text(
    f"g (float[1] x) => (float[N] y) <int64[2] s = {{{LARGE}, {LARGE}}}> {{ y = Pad (x, s) }}"
)
_MODELS["OneHot, 8 TiB"] = _text(
    f"g (int64[2] x) => (float[N, M] y) <int64 d = {{{LARGE}}}, float[2] v = {{0, 1}}> {{ y = OneHot (x, d, v) }}"
)
_MODELS["Resize, 4 TiB"] = _text(
    "g (float[1, 1, 1, 1] x) => (float[A, B, C, D] y) <float[4] s = {1, 1, 1048576, 1048576}>"
    ' { y = Resize <mode = "nearest"> (x, , s) }'
)
_MODELS["RandomNormal, 4 TiB"] = _text(
    "g () => (float y) { r = RandomNormal <shape = [1048576, 1048576]> () y = ReduceSum <keepdims = 0> (r) }"
)
_MODELS["60 Concat of twice the same"] = _text(
    "g (float[1] x0) => (float[N] y) { "
    + " ".join(f"x{k + 1} = Concat <axis = 0> (x{k}, x{k})" for k in range(60))
    + " y = Identity (x60) }"
)
_MODELS["ConstantOfShape, 4 GiB"] = _text(
    "g (float[N] x) => (float y) <int64[1] s = {1073741824}>"
    " { a = ConstantOfShape (s) b = Sqrt (a) y = ReduceSum <keepdims = 0> (b) }"
)


@_model
def _sparse_tensor_of_2_60() -> onnx.ModelProto:
    model = _text("g (float[N] x) => (float[N] y) { y = Neg (x) z = Neg (s) }")()
    values, indices = helper.make_tensor("s", 1, [2], [1, 2]), helper.make_tensor("", 7, [2], [0, 1])
    model.graph.sparse_initializer.append(
        onnx.SparseTensorProto(values=values, indices=indices, dims=[1 << 30, 1 << 30])
    )
    model.graph.output.append(helper.make_tensor_value_info("z", 1, [1 << 30, 1 << 30]))
    return model


# Runs that never end --------------------------------------------------------------------------------------------------

_ADD = "o = Identity (k) t = Add (s, s)"
_CONCAT = "o = Identity (k) t = Concat <axis = 0> (s, s)"
_INSERT = "o = Identity (k) v = Constant <value_floats = [1.0]> () t = SequenceInsert (s, v)"


def _loop(trips: str, step: str = _ADD, kind: str = "float[P]", start: str = "x") -> str:
    return f"y = Loop ({trips}, c, {start}) < body = b (int64 i, bool k, {kind} s) => (bool o, {kind} t) {{ {step} }} >"


for _name, _trips, _step in (
    ("for ever", "", _ADD),
    (f"{LARGE} times", "n", _ADD),
    ("that doubles 60 times", "m", _CONCAT),
):
    _stored = f"<int64 n = {{{LARGE}}}, int64 m = {{60}}, bool c = {{1}}"
    _MODELS[f"Loop {_name}"] = _text(f"g (float[1] x) => (float[N] y) {_stored}> {{ {_loop(_trips, _step)} }}")
    _MODELS[f"Loop {_name}, of a constant"] = _text(
        f"g () => (float[N] y) {_stored}, float[1] x = {{1}}> {{ {_loop(_trips, _step)} }}"
    )
_MODELS["Loop for ever, by the input"] = _text(f"g (float[1] x, bool c) => (float[N] y) {{ {_loop('')} }}")
_MODELS["Loop over a sequence, 10^9 times"] = _text(
    "g () => (seq(float[P]) y) <int64 n = {1000000000}, bool c = {1}> { e = SequenceEmpty () "
    + _loop("n", _INSERT, "seq(float[P])", "e")
    + " }"
)
_MODELS["Loop over a sequence, 10^7 times"] = _text(
    "g () => (seq(float[P]) y) <int64 n = {10000000}, bool c = {1}> { e = SequenceEmpty () "
    + _loop("n", _INSERT, "seq(float[P])", "e")
    + " }"
)


def _nested_loops(depth: int, trips: int) -> onnx.ModelProto:
    """Loop in Loop: trips^depth runs of the innermost body."""
    nodes = [helper.make_node("Add", [f"s{depth}", f"s{depth}"], [f"t{depth}"])]
    for level in range(depth, 0, -1):
        carried = [
            helper.make_tensor_value_info(f"i{level}", TensorProto.INT64, []),
            helper.make_tensor_value_info(f"k{level}", TensorProto.BOOL, []),
            helper.make_tensor_value_info(f"s{level}", TensorProto.FLOAT, ["N"]),
        ]
        made = [
            helper.make_tensor_value_info(f"o{level}", TensorProto.BOOL, []),
            helper.make_tensor_value_info(f"t{level}", TensorProto.FLOAT, ["N"]),
        ]
        nodes.append(helper.make_node("Identity", [f"k{level}"], [f"o{level}"]))
        body = helper.make_graph(nodes, f"b{level}", carried, made)
        read, written = (f"s{level - 1}", f"t{level - 1}") if level > 1 else ("x", "y")
        nodes = [helper.make_node("Loop", ["n", "c", read], [written], body=body)]
    stored = [helper.make_tensor("n", 7, [], [trips]), helper.make_tensor("c", 9, [], [True])]
    value = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N"]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", value[:1], value[1:], stored)
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])


_ALWAYS = "z = Constant <value_int = 0> () o = GreaterOrEqual (i, z) t = Identity (s)"
_MODELS["Loop for ever, by a comparison"] = _text(
    f"g (float[1] x) => (float[N] y) <bool c = {{1}}> {{ {_loop('', _ALWAYS)} }}"
)
_MODELS["Loop for ever, of no use"] = _text(
    f"g (float[1] x) => (float[1] w) <bool c = {{1}}> {{ {_loop('', _ALWAYS)} w = Neg (x) }}"
)
_MODELS["Loop by the size of the input"] = _text(
    f"g (float[A, B] x) => (float[M, N] y) <int64 k = {{{LARGE}}}, bool c = {{1}}>"
    f" {{ s = Size (x) n = Mul (s, k) {_loop('n', 'o = Identity (k) t = Abs (s)', 'float[P, Q]')} }}"
)
_MODELS["Loop by a random number"] = _text(
    f"g (float[1] x) => (float[N] y) <bool c = {{1}}> {{ r = RandomUniform <shape = [1], low = 1e9, high = 2e9> ()"
    f" n = Cast <to = 7> (r) {_loop('n')} }}"
)
_MODELS["Loop over a sequence, for ever by a comparison"] = _text(
    "g () => (seq(float[P]) y) <bool c = {1}> { e = SequenceEmpty () "
    + _loop(
        "", "z = Constant <value_int = 0> () o = GreaterOrEqual (i, z) "
        "w = ConstantOfShape <value = float[1] {1}> (d) t = SequenceInsert (s, w)", "seq(float[P])", "e"
    ).replace("y = Loop", "d = Constant <value_ints = [100000]> () y = Loop")
    + " }"
)  # fmt: skip
_MODELS["Loop that stacks a tensor each time"] = _text(
    "g (float[4096] x, int64 m) => (float[N, M] y) <int64 n = {1073741824}, bool c = {1}>"
    " { k = Mul (m, n) y = Loop (k, c) < body = b (int64 i, bool q) => (bool o, float[M] t)"
    " { o = Identity (q) t = Neg (x) } > }"
)
_MODELS["Loop for ever, in a function"] = _text(
    "g (float[1] x) => (float[N] y) { y = my.f (x) }",
    '<domain: "my", opset_import: ["": 21]> f (x) => (y) { c = Constant <value = bool {1}> () ' + _loop("") + " }",
)
_MODELS["Scan over 2^28 elements"] = _text(
    "g (float[1] x) => (float[N] y) <int8[1] e = {1}, int64[1] n = {268435456}> { w = Expand (e, n)"
    " y = Scan <num_scan_inputs = 1, body = b (float[1] s, int8 v) => (float[1] t) { t = Neg (s) }> (x, w) }"
)
_MODELS["SequenceMap over 2^26 elements"] = _text(
    "g () => (seq(float[1]) y) <float[1] e = {1}, int64[1] n = {67108864}> { w = Expand (e, n)"
    " q = SplitToSequence <axis = 0> (w) y = SequenceMap <body = b (float[1] v) => (float[1] t) { t = Neg (v) }> (q) }"
)
_MODELS["ConstantOfShape by the input"] = _text(
    "g (int64[1] n) => (float y) <int64[1] k = {8589934592}, int64[1] z = {1}>"
    " { a = Abs (n) b = Max (a, z) m = Mul (b, k) c = ConstantOfShape (m) y = ReduceSum <keepdims = 0> (c) }"
)
_MODELS["30 products of large matrices"] = _text(
    "g (float[1, 1] x) => (float y) <int64[2] s = {16000, 16000}> { m0 = Expand (x, s) "
    + " ".join(f"m{k + 1} = MatMul (m{k}, m{k})" for k in range(30))
    + " y = ReduceSum <keepdims = 0> (m30) }"
)


_MODELS["Loop in Loop, 20 deep, 1000 times each"] = lambda: _nested_loops(20, 1000)
_MODELS["Loop in Loop, 28 deep, twice each"] = lambda: _nested_loops(28, 2)


def _nested_ifs(depth: int) -> onnx.ModelProto:
    """If in If: the branches of each hold two more, as far as the file goes."""

    def branch(level: int, name: str) -> onnx.GraphProto:
        node = helper.make_node("Neg" if level % 2 else "Abs", ["x"], [name])
        if level:
            bodies = {f"{side}_branch": branch(level - 1, f"{name}{side[0]}") for side in ("then", "else")}
            node = helper.make_node("If", ["c"], [name], **bodies)
        return helper.make_graph([node], name, [], [onnx.ValueInfoProto(name=name)])

    model = _text("g (float[N] x, bool c) => (float[N] y) { y = Identity (x) }")()
    model.graph.node[0].CopyFrom(branch(depth, "y").node[0])
    return model


_MODELS["2^12 branches of If in If"] = lambda: _nested_ifs(12)


def _calls(depth: int, each: int) -> onnx.ModelProto:
    """Functions each of which calls the next one some times."""
    functions = []
    for number in range(depth):
        callee = f"my.f{number + 1}" if number < depth - 1 else "Neg"
        body = " ".join(f"a{k} = {callee} ({f'a{k - 1}' if k else 'x'})" for k in range(each))
        functions.append(f'<domain: "my", opset_import: ["": 21, "my": 1]> f{number} (x) => (a{each - 1}) {{ {body} }}')
    return _text("g (float[N] x) => (float[N] y) { y = my.f0 (x) }", "\n".join(functions))()


_MODELS["2^30 calls of functions"] = lambda: _calls(30, 2)
_MODELS["2^16 calls of functions"] = lambda: _calls(16, 2)
_MODELS["calls 2,000 deep"] = lambda: _calls(2000, 1)
_MODELS["a function that calls itself"] = _text(
    "g (float[N] x) => (float[N] y) { y = my.f (x) }",
    '<domain: "my", opset_import: ["": 21, "my": 1]> f (p) => (q) { q = my.f (p) }',
)
_MODELS["a cycle of nodes"] = _text("g (float[N] x) => (float[N] y) { a = Add (x, b) b = Neg (a) y = Neg (b) }")
_MODELS["Einsum on which onnx's inference hangs"] = _text(
    'g (float[2] x) => (float[N] y) { y = Einsum <equation = "i&j->i"> (x, x) }'
)

_MODELS["Einsum on which onnxruntime's loading hangs"] = _text(
    'g (float[A, B] x) => (float[N] y) { y = Einsum <equation = "i&j->i"> (x, x) }'
)

# Little that comes out, and much that it takes ------------------------------------------------------------------------


def _doubled(count: int) -> str:
    return " ".join(f"s{k + 1} = StringConcat (s{k}, s{k})" for k in range(count))


_STORED_STRING = '<string s0 = {"abcdefgh"}>'
_MODELS["40 StringConcat of twice the same"] = _text(
    f"g (string s0) => (string y) {{ {_doubled(40)} y = Identity (s40) }}"
)
_MODELS["40 StringConcat of twice a constant"] = _text(
    f"g () => (string y) {_STORED_STRING} {{ {_doubled(40)} y = Identity (s40) }}"
)
_MODELS["StringSplit of a string of 8 GiB"] = _text(
    f"g () => (string[A] y, int64 n) {_STORED_STRING} {{ {_doubled(30)} y, n = StringSplit (s30) }}"
)
_MODELS["27 StringConcat of eight strings"] = _text(
    'g () => (string[8] y) <string[8] s0 = {"a", "b", "c", "d", "e", "f", "g", "h"}>'
    f" {{ {_doubled(27)} y = Identity (s27) }}"
)
_MODELS["Loop that doubles a string 40 times"] = _text(
    'g () => (string y) <string x = {"abcdefgh"}, int64 n = {40}, bool c = {1}> { '
    + _loop("n", "o = Identity (k) t = StringConcat (s, s)", "string")
    + " }"
)
_MODELS["Einsum of all four dims"] = _text(
    'g (float[200, 200] x) => (float y) { y = Einsum <equation = "ab,cd,ac,bd->"> (x, x, x, x) }'
)
_MODELS["ConvTranspose by a kernel of 64 x 64"] = _text(
    "g (float[1, 1, 600, 600] x) => (float[1, 1, A, B] y)"
    " { s = Constant <value_ints = [1, 1, 64, 64]> () w = ConstantOfShape (s) y = ConvTranspose (x, w) }"
)
_MODELS["ConvInteger by a kernel of 64 x 64"] = _text(
    "g (uint8[1, 1, 1024, 1024] x, uint8[1, 1, 64, 64] w) => (int32[1, 1, A, B] y) { y = ConvInteger (x, w) }"
)
_MODELS["Attention over 40,000 positions"] = lambda: onnx.parser.parse_model(
    '<ir_version: 11, opset_import: ["": 23]> g (float[1, 1, 40000, 8] q) => (float[1, 1, 40000, 8] y)'
    " { y = Attention (q, q, q) }"
)
_MODELS["LSTM of 200,000 steps"] = _text(
    "g (float[200000, 1, 1] x, float[1, 2048, 1] w, float[1, 2048, 512] r) => (float[1, 1, 512] h)"
    " { y, h = LSTM <hidden_size = 512> (x, w, r) }"
)


# Much of something ----------------------------------------------------------------------------------------------------

_MODELS["expressions over dims that multiply"] = _text(
    "g (float[A, B] x) => (int64[1] k40)"
    " { s = Shape (x) d0, d1 = Split <axis = 0, num_outputs = 2> (s) k0 = Add (d0, d1) "
    + " ".join(f"q{k} = Add (k{k}, d{k % 2}) k{k + 1} = Mul (q{k}, k{k})" for k in range(40))
    + " }"
)


@_model
def _a_million_inputs() -> onnx.ModelProto:
    model = _text("g (float[2] x) => (float[2] y) { y = Neg (x) }")()
    model.graph.input.extend(helper.make_tensor_value_info(f"i{k}", 1, [2]) for k in range(1_000_000))
    return model


@_model
def _9_999_inputs() -> onnx.ModelProto:
    model = _text("g (float[2] x) => (float[2] y) { y = Neg (x) }")()
    model.graph.input.extend(helper.make_tensor_value_info(f"i{k}", 1, [2]) for k in range(9_998))
    return model


def _chain(count: int, operator: str) -> list[onnx.NodeProto]:
    return [helper.make_node(operator, [f"n{k - 1}" if k else "x"], [f"n{k}"]) for k in range(count)]


@_model
def _a_body_of_100_000_nodes() -> onnx.ModelProto:
    model = _text("g (float[N] x, bool c) => (float[N] y) { y = Identity (x) }")()
    then = helper.make_graph(_chain(100_000, "Neg"), "t", [], [onnx.ValueInfoProto(name="n99999")])
    other = helper.make_graph([helper.make_node("Abs", ["x"], ["e"])], "e", [], [onnx.ValueInfoProto(name="e")])
    model.graph.node[0].CopyFrom(helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other))
    return model


@_model
def _100_000_nodes() -> onnx.ModelProto:
    model = _text("g (float[N] x) => (float[N] y) { y = Identity (x) }")()
    del model.graph.node[:]
    model.graph.node.extend(_chain(100_000, "Sin"))
    model.graph.node[-1].output[0] = "y"
    return model


@_model
def _a_Split_of_200_000_outputs() -> onnx.ModelProto:
    model = _text("g (float[N] x) => (float[M] y) { y = Identity (x) }")()
    split = helper.make_node("Split", ["x"], [f"o{k}" for k in range(200_000)], num_outputs=200_000)
    model.graph.node[0].CopyFrom(split)
    model.graph.node.add(op_type="Neg", input=["o5"], output=["y"])
    return model


@_model
def _three_million_strings() -> onnx.ModelProto:
    model = _text("g () => (string[3000000] y, int64 n) { n = Size (w) y = StringConcat (w, w) }")()
    model.graph.initializer.add(name="w", data_type=8, dims=[3_000_000]).string_data.extend([b"ab"] * 3_000_000)
    return model


@_model
def _a_name_of_10_MB() -> onnx.ModelProto:
    model = _text("g (float[2] x) => (float[2] y) { t = Neg (x) s = Size (t) y = Neg (t) }")()
    name = "\N{LATIN SMALL LETTER E WITH ACUTE}" * 5_000_000
    model.graph.node[0].output[0] = model.graph.node[1].input[0] = model.graph.node[2].input[0] = name
    return model


# Broken ---------------------------------------------------------------------------------------------------------------


@_model
def _names_that_command_the_terminal() -> onnx.ModelProto:
    model = _text("g (float[N] x) => (int64 y) { y = Size (q) }")()
    model.graph.node[0].name = "\x1b]0;pwned\x07\x1b[31mred\n\u202eevil[bold]"
    return model


@_model
def _dims_of_2_60() -> onnx.ModelProto:
    model = _text("g (float[N] x) => (float[N] y) { y = Add (x, w) }")()
    model.graph.initializer.add(name="w", data_type=1, dims=[1 << 30, 1 << 30], raw_data=bytes(8))
    return model


@_model
def _version_2_62_of_an_opset() -> onnx.ModelProto:
    model = _text("g (float[N] x) => (float[N] y) { y = Neg (x) }")()
    model.opset_import[0].version = 1 << 62
    return model


def _field(number: int, content: bytes) -> bytes:
    """A length-delimited field of protobuf's wire form."""
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


@_file
def _bodies_5_000_deep(path: Path) -> None:
    graph = b"\x12\x01b"
    for _ in range(5000):  # protobuf itself writes nothing that deep
        graph = _field(1, _field(4, b"If") + _field(5, _field(1, b"then_branch") + b"\xa0\x01\x05" + _field(6, graph)))
    path.write_bytes(b"\x08\x0a" + _field(7, graph))


@_file
def _an_empty_file(path: Path) -> None:
    path.write_bytes(b"")


@_file
def _half_a_file(path: Path) -> None:
    data = _calls(10, 2).SerializeToString()
    path.write_bytes(data[: len(data) // 2])


@_file
def _an_archive(path: Path) -> None:
    path.write_bytes(b"PK\x03\x04" + bytes(100))


@_file
def _a_pipe(path: Path) -> None:
    os.mkfifo(path)


@_file
def _a_pipe_where_a_dead_run_may_have_left_a_model(path: Path) -> None:
    path.write_bytes(_calls(1, 1).SerializeToString())
    os.mkfifo(path.parent.parent / ".out.onnx.deadbeef.onnx")


@_file
def _a_file_of_3_GiB(path: Path) -> None:
    path.touch()
    os.truncate(path, 3 << 30)


_HEAD = '<ir_version: 10, opset_import: ["": 21]> g'
for _name, _content in {
    "types 20,000 deep .onnxtxt": f"{_HEAD} ({'seq(' * 20_000}float{')' * 20_000} x) => (float y) {{ y = Size (x) }}",
    "graphs 30,000 deep .onnxtxt": f"{_HEAD} (bool c) => (float y) {{ "
    + "y = If (c) <then_branch = g () => (float y) {" * 30_000
    + "}>" * 30_000,
    "brackets 300,000 deep .onnxtxt": f"{_HEAD} (float x) => (float y) <float w = {'{' * 300_000}",
    "a number of five million digits .json": '{"irVersion": "' + "9" * 5_000_000 + '"}',
    "graphs 20,000 deep .textproto": "graph { node { attribute { g { " * 20_000,
}.items():
    FILES[_name] = lambda path, content=_content: path.write_text(content)  # type: ignore[misc]


@_file
def _a_folder(path: Path) -> None:
    path.mkdir()


def _external(path: Path, **entries: str | int) -> None:
    model = _text("g (float[4] x) => (float[4] y) { y = Add (x, w) }")()
    tensor = model.graph.initializer.add(name="w", data_type=1, dims=[4], data_location=TensorProto.EXTERNAL)
    for key, value in {"location": "weights.bin", **entries}.items():
        tensor.external_data.add(key=key, value=str(value))
    path.write_bytes(model.SerializeToString())
    (path.parent / "weights.bin").write_bytes(bytes(64))


_LOCATIONS: dict[str, dict[str, str | int]] = {
    "data above the folder": {"location": "../secret"},
    "data at an absolute path": {"location": "/etc/passwd"},
    "data in a device": {"location": "/dev/zero"},
    "data at an address in memory": {"location": "*/_ORT_MEM_ADDR_/*"},
    "data behind the end of its file": {"offset": 1 << 20},
    "data at 2^63": {"offset": (1 << 63) - 8},
    "data of another length": {"length": 1 << 40},
}
for _name, _entries in _LOCATIONS.items():
    FILES[_name] = lambda path, entries=_entries: _external(path, **entries)  # type: ignore[misc]


@_file
def _data_in_a_link_that_leads_out(path: Path) -> None:
    _external(path, location="link.bin")
    (path.parent / "link.bin").symlink_to("/etc/passwd")


@_file
def _data_in_a_hard_link(path: Path) -> None:
    _external(path, location="hard.bin")
    os.link(path.parent / "weights.bin", path.parent / "hard.bin")


def _writer(make: Callable[[], onnx.ModelProto]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_bytes(make().SerializeToString())

    return write


FILES.update({name: _writer(make) for name, make in _MODELS.items()})
