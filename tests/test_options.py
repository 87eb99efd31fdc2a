from __future__ import annotations

from pathlib import Path

import pytest

from foldproof import Options, UsageError
from foldproof.dims import bind_dims
from foldproof.earlier_output import is_ours, remember


@pytest.mark.parametrize(
    "wrong",
    [
        {"set_dim": {"n": -1}},
        {"set_dim": {"n": 1.5}},
        {"set_dim": {"n": True}},
        {"rules": "static_size"},
        {"skip_rules": "static_size"},
        {"keep_node": "node"},
        {"level": 4},
        {"max_growth": -1},
        {"max_growth": float("nan")},
        {"max_growth": float("inf")},
        {"bind": ["n"]},
        {"bind": {"n": 3}},
        {"bind": {"n": "3"}},
        {"bind": {"n": []}},
        {"bind": {"n": [-1]}},
        {"bind": {name: [1, 2] for name in "abcdefg"}},
        {"verify_seconds": 0},
        {"verify_seconds": float("nan")},
        {"verify_seconds": float("inf")},
        {"verify_seconds": 1e10},
    ],
)
def test_options_that_make_no_sense_are_refused(wrong: dict) -> None:
    with pytest.raises(UsageError):
        Options(**wrong)


def test_binding_a_symbol_reaches_all_that_declare_it() -> None:
    import onnx_ir as ir

    from tests.helpers import parse

    model = ir.from_proto(parse("g (float[N,M] x, float[N] y) => (float[N,K] z, float[M] u) { z = Neg(x) u = Abs(y) }"))
    assert bind_dims(model, {"N": 4}) == {"x", "y", "z"}
    assert [list(map(str, value.shape)) for value in (*model.graph.inputs, *model.graph.outputs)] == [
        ["4", "M"],
        ["4"],
        ["4", "K"],
        ["M"],
    ]


def test_an_output_is_ours_until_somebody_changes_it(tmp_path: Path) -> None:
    path = tmp_path / "out.onnx"
    assert not is_ours(path)
    path.write_bytes(b"1")
    assert not is_ours(path)
    remember(path)
    assert is_ours(path)
    path.write_bytes(b"22")
    assert not is_ours(path)


def test_without_a_place_to_remember_nothing_is_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "a file, not a folder"
    blocked.write_bytes(b"")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    path = tmp_path / "out.onnx"
    path.write_bytes(b"1")
    remember(path)
    assert not is_ours(path)
