"""Normalizations, recurrent layers, attention, spectra, losses, strings and ai.onnx.ml."""

from __future__ import annotations

import pytest

from tests.facts.inferring import assert_sound_at, infer
from tests.helpers import needs_recent_onnxruntime

SIZES = [{"n": 1, "m": 1}, {"n": 3, "m": 4}]


@pytest.mark.parametrize(
    ("opset", "graph", "expected"),
    [
        (
            21,
            "(float[n, 3, m] x, float[3] s) => (float[] y) { y = InstanceNormalization(x, s, s) }",
            {"y": "float[n, 3, m]"},
        ),
        (
            21,
            "(float[n, 6, m] x, float[6] s) => (float[] y) { y = GroupNormalization <num_groups = 2> (x, s, s) }",
            {"y": "float[n, 6, m]"},
        ),
        (23, "(float[n, m, 4] x, float[4] s) => (float[] y) { y = RMSNormalization(x, s) }", {"y": "float[n, m, 4]"}),
        (13, "(float[n, 3, m, m] x) => (float[] y) { y = LRN <size = 3> (x) }", {"y": "float[n, 3, m, m]"}),
        (
            17,
            "(float[n, m, 4] x, float[4] s) => (float[] y) { y, a, b = LayerNormalization(x, s, s) }",
            {"y": "float[n, m, 4]", "a": "float[n, m, 1]", "b": "float[n, m, 1]"},
        ),
        (
            17,
            "(float16[n, m, 4] x, float16[m, 4] s) => (float16[] y) { y, a = LayerNormalization <axis = 1> (x, s) }",
            {"y": "float16[n, m, 4]", "a": "float[n, 1, 1]"},
        ),
        (
            15,
            "(float[n, 3, m] x, float[3] s) => (float[] y)"
            " { y, a, b = BatchNormalization <training_mode = 1> (x, s, s, s, s) }",
            {"y": "float[n, 3, m]", "a": "float[3]", "b": "float[3]"},
        ),
        (
            9,
            "(float[n, 3, m] x, float[c] s) => (float[] y) { y, a, b, d, e = BatchNormalization(x, s, s, s, s) }",
            {"y": "float[n, 3, m]", "a": "float[c]", "b": "float[c]", "d": "float[c]", "e": "float[c]"},
        ),
    ],
)
def test_normalizations(opset, graph, expected):
    assert infer(f"g {graph}", opset=opset) == expected
    if opset not in (9, 23):
        assert_sound_at(f"g {graph}", *SIZES, opset=opset)


@pytest.mark.parametrize(
    ("operator", "gates", "outputs"), [("RNN", 1, "y, h"), ("GRU", 3, "y, h"), ("LSTM", 4, "y, h, c")]
)
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_recurrent_layers(operator, gates, outputs, direction):
    count = 2 if direction == "bidirectional" else 1
    body = f"""g (float[s, n, 3] x, float[{count}, {5 * gates}, 3] w, float[{count}, {5 * gates}, 5] r) => (float[] y)
        {{ {outputs} = {operator} <hidden_size = 5, direction = "{direction}"> (x, w, r) }}"""
    facts = infer(body)
    assert facts.pop("y") == f"float[s, {count}, n, 5]"
    assert set(facts.values()) == {f"float[{count}, n, 5]"}
    assert_sound_at(body, {"s": 1, "n": 1}, {"s": 4, "n": 2})  # without steps or batch onnxruntime may abort


def test_recurrent_layers_with_the_batch_first():
    body = """g (float[n, s, 3] x, float[1, 20, 3] w, float[1, 20, 5] r) => (float[] y) { y, h, c = LSTM
        <layout = 1> (x, w, r) }"""
    facts = infer(body)
    assert facts == {"y": "float[n, s, 1, 5]", "h": "float[n, 1, 5]", "c": "float[n, 1, 5]"}


def test_the_hidden_size_by_the_weights_alone():
    body = "g (float[s, n, 3] x, float[1, 15, 3] w, float[a, b, c] r) => (float[] y) { , h = GRU(x, w, r) }"
    assert infer(body)["h"] == "float[1, n, c]"


@needs_recent_onnxruntime
@pytest.mark.parametrize(
    ("inputs", "call", "expected"),
    [
        (
            "float[n, 4, s, 8] q, float[n, 2, t, 8] k, float[n, 2, t, 6] v",
            "(q, k, v)",
            ["[n, 4, s, 6]", "[n, 2, t, 8]", "[n, 2, t, 6]", "[n, 4, s, t]"],
        ),
        (
            "float[n, s, 32] q, float[n, t, 16] k, float[n, t, 12] v",
            "<q_num_heads = 4, kv_num_heads = 2> (q, k, v)",
            ["[n, s, 24]", "[n, 2, t, 8]", "[n, 2, t, 6]", "[n, 4, s, t]"],
        ),
        (
            "float[n, 4, s, 8] q, float[n, 2, s, 8] k, float[n, 2, s, 6] v, float[n, 2, p, 8] a, float[n, 2, p, 6] b",
            "(q, k, v, , a, b)",
            ["[n, 4, s, 6]", "[n, 2, p + s, 8]", "[n, 2, p + s, 6]", "[n, 4, s, p + s]"],
        ),
    ],
)
def test_attention(inputs, call, expected):
    body = f"g ({inputs}) => (float[] y) {{ y, pk, pv, m = Attention {call} }}"
    assert list(infer(body, opset=23).values()) == [f"float{shape}" for shape in expected]
    assert_sound_at(body, {"n": 1, "s": 1, "t": 2, "p": 0}, {"n": 2, "s": 3, "t": 5, "p": 4}, opset=23)


def test_attention_of_an_unknown_rank():
    """The schema's own inference takes the product for a scalar there."""
    body = """g (float[a] x, int64[k] t) => (float[] y) { q = Reshape(x, t)  y, pk, pv, m = Attention(q, q, q) }"""
    facts = infer(body, opset=23)
    assert facts["y"] == "float[...]"
    assert facts["m"] == "float[m:0, m:1, m:2, m:3]"


def test_linear_attention_and_rotary_embedding():
    body = """g (float[n, t, 16] q, float[n, t, 8] k, float[n, t, 6] v, float[n, 2, 4, 3] p, float[n, t, 2] d)
        => (float[] y)
        { y, s = LinearAttention <q_num_heads = 4, kv_num_heads = 2> (q, k, v, , d, d)
          z, u = LinearAttention <q_num_heads = 4, kv_num_heads = 2> (q, k, v, p, d, d) }"""
    facts = infer(body, opset=27)
    assert facts["y"] == "float[n, t, 12]"
    assert facts["s"].endswith("[n, 2, 4, 3]")
    assert facts["u"] == "float[n, 2, 4, 3]"
    body = "g (float[n, 4, s, 8] x, float[s, 4] c, int64[n, s] p) => (float[] y) { y = RotaryEmbedding(x, c, c, p) }"
    assert infer(body, opset=23)["y"] == "float[n, 4, s, 8]"


@pytest.mark.parametrize(
    ("opset", "call", "expected"),
    [
        (17, "(x)", "[n, m, 6, 2]"),
        (17, "<onesided = 1> (x)", "[n, m//2 + 1, 6, 2]"),
        (17, "<axis = 2> (x, length)", "[n, m, 9, 2]"),
        (20, "(x)", "[n, m, 6, 2]"),
        (20, "<onesided = 1> (x, , axis)", "[n, m//2 + 1, 6, 2]"),
        (20, "<onesided = 1> (x, length, axis)", "[n, 5, 6, 2]"),
        (20, "(x, , run)", "[y:0, y:1, y:2, y:3]"),
    ],
)
def test_dft(opset, call, expected):
    body = f"""g (float[n, m, 6, 1] x, int64 run) => (float[] y) <int64 length = {{9}}, int64 axis = {{1}}> {{
        y = DFT {call} }}"""
    assert infer(body, opset=opset)["y"] == f"float{expected}"
    if "run" not in call:
        assert_sound_at(body, *SIZES, opset=opset)


def test_dft_back_to_real_numbers():
    body = """g (float[n, m, 2] x) => (float[] y) { y = DFT <axis = 1, inverse = 1, onesided = 1> (x)  z = DFT
        <inverse = 1> (x) }"""
    assert infer(body, opset=17) == {"y": "float[n, 2*m - 2, 1]", "z": "float[n, m, 2]"}


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("(x, step, window)", "[n, (m - 4)//2 + 1, 3, 2]"),
        ("<onesided = 0> (x, step, , length)", "[n, (m - 5)//2 + 1, 5, 2]"),
        ("(x, run, window)", "[n, y:1, 3, 2]"),
    ],
)
def test_stft(call, expected):
    body = f"""g (float[n, m, 1] x, float[4] window, int64 run) => (float[] y) <int64 step = {{2}}, int64
        length = {{5}}>
        {{ y = STFT {call} }}"""
    found = infer(body)["y"]
    assert found == f"float{expected}".replace("(m - 4)//2 + 1", "m//2 - 1").replace("(m - 5)//2 + 1", "(m + 1)//2 - 2")
    if "run" not in call:
        assert_sound_at(body, {"n": 1, "m": 5}, {"n": 2, "m": 8}, {"n": 3, "m": 11})


@pytest.mark.parametrize(("reduction", "expected"), [("none", "[n, m]"), ("mean", "[]"), ("sum", "[]")])
def test_losses(reduction, expected):
    body = f"""g (float[n, 5, m] x, int64[n, m] t) => (float[] y)
        {{ y = NegativeLogLikelihoodLoss <reduction = "{reduction}"> (x, t)
           z, p = SoftmaxCrossEntropyLoss <reduction = "{reduction}"> (x, t) }}"""
    assert infer(body) == {"y": f"float{expected}", "z": f"float{expected}", "p": "float[n, 5, m]"}


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ("(string[n] x) => (string[] y) { y, c = StringSplit(x) }", {"y": "string[n, y:1]", "c": "int64[n]"}),
        ("(string[n, 1] x, string[3] z) => (string[] y) { y = StringConcat(x, z) }", {"y": "string[n, 3]"}),
        ('(string[n, 2] x) => (bool[] y) { y = RegexFullMatch <pattern = "a"> (x) }', {"y": "bool[n, 2]"}),
        (
            '(string[n] x) => (string[] y) { y = StringNormalizer <case_change_action = "LOWER"> (x) }',
            {"y": "string[n]"},
        ),
        ('(string[1, n] x) => (string[] y) { y = StringNormalizer <stopwords = ["a"]> (x) }', {"y": "string[1, y:1]"}),
        (
            '(int64[n, 5] x) => (float[] y) { y = TfIdfVectorizer <mode = "TF", ngram_indexes = [0, 3, 1],'
            " ngram_counts = [0], pool_int64s = [1, 2, 3], max_skip_count = 0, min_gram_length = 1,"
            " max_gram_length = 1> (x) }",
            {"y": "float[n, 4]"},
        ),
    ],
)
def test_strings(graph, expected):
    assert infer(f"g {graph}") == expected


def test_elementwise_operators_of_ai_onnx_ml_keep_the_shape():
    body = "g (float[n, 4] x) => (float[] y) { y = ai.onnx.ml.Scaler(x)  z = ai.onnx.ml.Normalizer(y) }"
    assert infer(body, imports='"ai.onnx.ml": 3') == {"y": "float[n, 4]", "z": "float[n, 4]"}
