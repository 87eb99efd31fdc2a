from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from onnx import numpy_helper

from foldproof.errors import UsageError
from foldproof.verification import verify

MODEL = "g (float[N, 2] x, int64[N] k) => (float[N, 2] y, int64[N] z) { y = Abs (x) z = Identity (k) }"


@pytest.fixture
def model(parse):
    return parse(MODEL)


def arrays(n):
    return {"x": np.ones((n, 2), np.float32), "k": np.arange(n)}


def test_each_npz_is_a_feed(model, tmp_path):
    np.savez(tmp_path / "one.npz", **arrays(4))
    np.savez(tmp_path / "two.npz", **arrays(9))
    runs = verify(model, model, feeds=tmp_path).runs
    assert [run.binding for run in runs if run.feeds.endswith(".npz")] == [{"N": 4}, {"N": 9}]
    assert {run.feeds for run in runs} > {"generated"}


def test_the_npy_files_of_a_folder_are_one_feed(model, tmp_path):
    for folder, n in ((tmp_path, 4), (tmp_path / "more", 5)):
        folder.mkdir(exist_ok=True)
        for name, value in arrays(n).items():
            np.save(folder / f"{name}.npy", value)
    bindings = [run.binding for run in verify(model, model, feeds=tmp_path).runs]
    assert bindings[:2] == [{"N": 4}, {"N": 5}]


def test_narrow_floats_come_in_by_their_bits(parse, tmp_path):
    model = parse("g (bfloat16[N] x) => (bfloat16[N] y) { y = Identity (x) }")
    np.save(tmp_path / "x.npy", np.ones(6, ml_dtypes.bfloat16))
    result = verify(model, model, feeds=tmp_path)
    assert (result.status, result.runs[0].binding) == ("same", {"N": 6})


def test_strings_come_in_as_text(parse, tmp_path):
    model = parse("g (string[N] x) => (string[N] y) { y = Identity (x) }")
    np.save(tmp_path / "x.npy", np.array(["a", "bc"]))
    assert verify(model, model, feeds=tmp_path).runs[0].binding == {"N": 2}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"x": np.ones((3, 2), np.float32)}, "'k' is missing"),
        ({**arrays(3), "q": np.ones(1)}, "no input is called 'q'"),
        ({**arrays(3), "k": np.arange(3, dtype=np.int32)}, "'k' is int32, not int64"),
        ({**arrays(3), "x": np.ones((3, 4), np.float32)}, r"'x' has shape \[3, 4\]"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_would(model, tmp_path, values, words):
    np.savez(tmp_path / "bad.npz", **values)
    with pytest.raises(UsageError, match=words) as raised:
        verify(model, model, feeds=tmp_path)
    assert "The model takes" in str(raised.value)


def test_a_folder_that_is_missing_or_empty_is_refused(model, tmp_path):
    with pytest.raises(UsageError, match="no folder"):
        verify(model, model, feeds=tmp_path / "missing")
    with pytest.raises(UsageError, match="holds no"):
        verify(model, model, feeds=tmp_path)


def test_a_file_that_is_no_array_is_refused(model, tmp_path):
    (tmp_path / "x.npy").write_text("hello")
    with pytest.raises(UsageError, match="can't be read"):
        verify(model, model, feeds=tmp_path)


def test_a_feed_at_which_the_original_fails_is_reported_and_not_held_against_the_other(parse, tmp_path):
    model = parse("g (float[N] x, float[M] y) => (float[K] z) { z = Add (x, y) }")
    np.savez(tmp_path / "bad.npz", x=np.ones(2, np.float32), y=np.ones(3, np.float32))
    result = verify(model, model, feeds=tmp_path)
    assert result.status == "same"
    assert result.not_admitted[0].binding == {"N": 2, "M": 3}
    assert "bad.npz" in result.not_admitted[0].feeds


def write_protos(folder, *protos):
    folder.mkdir()
    for number, proto in enumerate(protos):
        (folder / f"input_{number}.pb").write_bytes(proto.SerializeToString())


def test_the_test_data_of_onnx_is_a_feed_for_each_folder(model, tmp_path):
    for number, n in enumerate((4, 7)):
        tensors = [numpy_helper.from_array(each, f"any{n}") for each in arrays(n).values()]
        write_protos(tmp_path / f"test_data_set_{number}", *tensors)
    bindings = [run.binding for run in verify(model, model, feeds=tmp_path).runs]
    assert bindings[:2] == [{"N": 4}, {"N": 7}]
    assert verify(model, model, feeds=tmp_path / "test_data_set_1").runs[0].binding == {"N": 7}


def test_sequences_strings_and_empty_optionals_come_as_protobuf(parse, tmp_path):
    graph = (
        "g (seq(float[N]) x, string[K] s, optional(float[M]) o) => (seq(float[N]) y, string[K] t, bool has) {{ {} }}"
    )
    nodes = "y = Identity (x) t = Identity (s) has = OptionalHasElement (o)"
    model = parse(graph.format(nodes), opset=18)
    sequence = numpy_helper.from_list([np.ones(3, np.float32)] * 2, "x")
    strings = numpy_helper.from_array(np.array(["a", "bc"], object), "s")
    optional = numpy_helper.from_optional(None, "o", None)
    write_protos(tmp_path / "test_data_set_0", sequence, strings, optional)
    result = verify(model, model, feeds=tmp_path)
    assert result.status == "same"
    assert result.runs[0].binding == {"K": 2}
    assert result.runs[0].feeds.endswith("test_data_set_0")


def test_protobuf_for_an_input_that_is_not_there_is_refused(parse, tmp_path):
    model = parse("g (float[N] x) => (float[N] y) { y = Abs (x) }")
    write_protos(tmp_path / "set", *[numpy_helper.from_array(np.ones(2, np.float32))] * 2)
    with pytest.raises(UsageError, match="no input of that number"):
        verify(model, model, feeds=tmp_path)


def test_a_file_that_is_no_protobuf_is_refused(parse, tmp_path):
    model = parse("g (float[N] x) => (float[N] y) { y = Abs (x) }")
    (tmp_path / "input_0.pb").write_bytes(b"nonsense")
    with pytest.raises(UsageError, match=r"input_0\.pb can't be read"):
        verify(model, model, feeds=tmp_path)
