"""Layers: windows that slide, products, normalization, and operators that move whole blocks."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from tests.facts.programs.builder import Builder


class Layers(Builder):
    """Steps that make a tensor by a heavier operator."""

    def add_layer(self) -> None:
        """One of them."""
        self.rng.choice(
            (
                self._pool_line,
                self._pool_line,
                self._conv_line,
                self._conv_line,
                self._conv_transpose_line,
                self._gemm,
                self._einsum,
                self._normalization,
                self._softmax,
                self._depth_to_space,
                self._gather_nd,
                self._scatter_nd,
                self._where,
                self._repeat,
                self._crop_or_pad,
                self._upsample_to,
                self._lstm,
                self._unique,
                self._cast_like,
            )
        )()

    def _line(self) -> str:
        """A tensor of shape [1, 1, length]."""
        return self.op("Reshape", self.tensor()[0], self.const([1, 1, -1]))

    def _window(self, kernel: int) -> dict[str, object]:
        attributes: dict[str, object] = {
            "kernel_shape": [kernel],
            "strides": [self.rng.randint(1, 3)],
            "dilations": [self.rng.randint(1, 2)],
        }
        padding = self.rng.choice(("none", "pads", "SAME_UPPER", "SAME_LOWER", "VALID"))
        if padding == "pads":
            attributes["pads"] = [self.rng.randint(0, kernel - 1) for _ in range(2)]
        elif padding != "none":
            attributes["auto_pad"] = padding
        return attributes

    def _pool_line(self) -> None:
        attributes = self._window(self.rng.randint(1, 4))
        if "auto_pad" not in attributes:
            attributes["ceil_mode"] = self.rng.randint(0, 1)
        op_type = self.rng.choice(("MaxPool", "AveragePool", "LpPool"))
        self.tensors.append((self.op(op_type, self._line(), **attributes), 3))

    def _conv_line(self) -> None:
        kernel = self.rng.randint(1, 3)
        weight = self.const(np.ones((2, 1, kernel)), np.float32)
        self.tensors.append((self.op("Conv", self._line(), weight, **self._window(kernel)), 3))

    def _conv_transpose_line(self) -> None:
        """The line has one element more: onnxruntime doesn't survive an empty one."""
        kernel = self.rng.randint(1, 3)
        line = self.op("Concat", self._line(), self.const([[[1]]], np.float32), axis=2)
        attributes = self._window(kernel)
        attributes["output_padding"] = [self.rng.randint(0, 1)]
        weight = self.const(np.ones((1, 2, kernel)), np.float32)
        self.tensors.append((self.op("ConvTranspose", line, weight, **attributes), 3))

    def _gemm(self) -> None:
        flat = self.op("Flatten", self.tensor(1)[0], axis=1)
        flags = self.rng.choice(({"transA": 1}, {"transB": 1}))
        self.tensors.append((self.op("Gemm", flat, flat, **flags), 2))

    def _einsum(self) -> None:
        """Of a matrix with at least one element: onnxruntime doesn't survive an empty one."""
        flat = self.op("Reshape", self.tensor()[0], self.const(self.rng.choice(([1, -1], [-1, 1]))))
        flat = self.op("Pad", flat, self.const([0, 0, 1, 1]))
        equation, rank = self.rng.choice((("ij,kj->ik", 2), ("ij,ik->jk", 2), ("ij,ij->i", 1), ("ij,ij->ji", 2)))
        self.tensors.append((self.op("Einsum", flat, flat, equation=equation), rank))

    def _normalization(self) -> None:
        name, rank = self.tensor(1)
        self.tensors.append((self.op("LayerNormalization", name, self.const([1], np.float32), axis=-1), rank))

    def _softmax(self) -> None:
        name, rank = self.tensor(1)
        op_type = self.rng.choice(("Softmax", "Hardmax", "LogSoftmax"))
        self.tensors.append((self.op(op_type, name, axis=self.axis(rank)), rank))

    def _depth_to_space(self) -> None:
        square = self.op("Reshape", self.tensor()[0], self.const([1, 1, 1, -1]))
        wide = self.op("Tile", square, self.const([1, 4, 2, 1]))
        if self.rng.random() < 0.5:
            self.tensors.append((self.op("DepthToSpace", wide, blocksize=2), 4))
        else:
            wide = self.op("Tile", wide, self.const([1, 1, 1, 2]))
            self.tensors.append((self.op("SpaceToDepth", wide, blocksize=2), 4))

    def _gather_nd(self) -> None:
        name, rank = self.tensor(1)
        if rank <= 4:
            picks = self.rng.choice(([[0]], [0], [[0], [-1]]))
            self.tensors.append((self.op("GatherND", name, self.const(picks)), rank - 1 + np.ndim(picks) - 1))

    def _scatter_nd(self) -> None:
        name, rank = self.tensor(1)
        row = self.op("Gather", name, self.const([0]))
        self.tensors.append((self.op("ScatterND", name, self.const([[0]]), row), rank))

    def _where(self) -> None:
        name, rank = self.tensor(1)
        other, other_rank = self.tensor(1)
        mask = self.op("Greater", name, self.const(0, np.float32))
        self.tensors.append((self.op("Where", mask, *self.shuffled(name, other)), max(rank, other_rank)))

    def _repeat(self) -> None:
        """Each row twice, by indices that are computed."""
        name, rank = self.tensor(1)
        rows = self.op("Gather", self.op("Shape", name), self.const(0))
        order = self.op("Range", self.const(0), rows, self.const(1))
        twice = self.op(
            "Reshape",
            self.op("Expand", self.op("Unsqueeze", order, self.const([1])), self.const([1, 2])),
            self.const([-1]),
        )
        self.tensors.append((self.op("Gather", name, twice, axis=0), rank))

    def _crop_or_pad(self) -> None:
        name, rank = self.tensor(1)
        size = self.as_vector(self.clipped(self.number()))
        self.tensors.append((self.op("CenterCropPad", name, size, axes=[self.axis(rank)]), rank))

    def _upsample_to(self) -> None:
        name, rank = self.tensor(1)
        sizes = [self.as_vector(self.clipped(self.number(), 1, 4)) for _ in range(rank)]
        target = self.op("Concat", *sizes, axis=0)
        self.tensors.append((self.op("Resize", name, "", "", target, mode="nearest"), rank))

    def _lstm(self) -> None:
        """Over a sequence of at least one step."""
        steps = self.op("Reshape", self.tensor()[0], self.const([-1, 1, 1]))
        steps = self.op("Concat", steps, self.const([[[1]]], np.float32), axis=0)
        op_type, gates = self.rng.choice((("LSTM", 4), ("GRU", 3), ("RNN", 1)))
        weights = [self.const(np.ones((1, gates * 2, size)), np.float32) for size in (1, 2)]
        every, last = self.node(op_type, [steps, *weights], 2, hidden_size=2)
        self.tensors += [(every, 4), (last, 3)]

    def _unique(self) -> None:
        flat = self.op("Reshape", self.tensor()[0], self.const([-1]))
        flat = self.op("Concat", flat, self.const([1], np.float32), axis=0)
        self.tensors.append((self.op("Unique", flat, sorted=1), 1))

    def _cast_like(self) -> None:
        name, rank = self.tensor()
        whole = self.op("Cast", name, to=TensorProto.INT32)
        self.tensors.append((self.op("CastLike", whole, self.const(0, np.float32)), rank))
