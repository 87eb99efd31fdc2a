from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import onnx_ir as ir
import pytest

from foldproof.large_tensors import digest_of, let_go


@pytest.mark.parametrize("dtype", [ir.DataType.FLOAT, ir.DataType.INT4, ir.DataType.BFLOAT16])
def test_the_digest_is_that_of_the_stored_bytes_wherever_they_lie(dtype: ir.DataType, tmp_path: Path) -> None:
    inside = ir.Tensor(np.arange(-3, 4).astype(dtype.numpy()), dtype=dtype, name="t")
    (tmp_path / "data").write_bytes(b"before" + inside.tobytes() + b"behind")
    outside = ir.ExternalTensor("data", 6, None, dtype, shape=ir.Shape([7]), name="t", base_dir=tmp_path)
    assert digest_of(inside) == digest_of(outside) == hashlib.blake2b(inside.tobytes()).digest()
    assert outside.raw is None  # it was not mapped


def test_data_that_may_not_be_read_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(bytes(8))
    (tmp_path / "model").mkdir()
    tensor = ir.ExternalTensor(
        "../secret", 0, 8, ir.DataType.FLOAT, shape=ir.Shape([2]), name="t", base_dir=tmp_path / "model"
    )
    with pytest.raises(ValueError, match="outside"):
        digest_of(tensor)


def test_a_view_that_outlives_its_map_stays_good(tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(np.arange(4, dtype=np.float32).tobytes())
    tensor = ir.ExternalTensor("data", 0, 16, ir.DataType.FLOAT, shape=ir.Shape([4]), name="t", base_dir=tmp_path)
    with let_go(tensor):
        kept = tensor.numpy()
    assert tensor.raw is None  # it counts as unmapped
    np.testing.assert_array_equal(kept, [0, 1, 2, 3])
    with let_go(tensor):  # and is mapped anew
        np.testing.assert_array_equal(tensor.numpy(), kept)
    np.testing.assert_array_equal(kept, [0, 1, 2, 3])
