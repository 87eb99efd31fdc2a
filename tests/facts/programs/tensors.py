"""Float tensors of known rank, of the sizes that were computed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
from onnx import TensorProto

from tests.facts.programs.builder import Builder


class Tensors(Builder):
    """Steps that make a tensor."""

    def add_tensor(self) -> None:
        self.rng.choice(
            (
                self._constant_of_shape,
                self._expand,
                self._flatten,
                self._reshape,
                self._reshape_by_dims,
                self._slice_tensor,
                self._slice_tensor,
                self._tile_tensor,
                self._pad_tensor,
                self._concat_tensors,
                self._gather_rows,
                self._transpose,
                self._unsqueeze,
                self._reduce_tensor,
                self._broadcast,
                self._matmul,
                self._split_tensor,
                self._pool,
                self._resize,
                self._data_dependent,
                self._generate,
                self._trilu,
                self._top_k,
            )
        )()

    def sizes(self, count: int) -> str:
        return self.op("Concat", *(self.as_vector(self.clipped(self.number())) for _ in range(count)), axis=0)

    def _constant_of_shape(self) -> None:
        rank = self.rng.randint(1, 3)
        self.tensors.append((self.op("ConstantOfShape", self.sizes(rank)), rank))

    def _expand(self) -> None:
        name, rank = self.tensor()
        if self.rng.random() < 0.5:  # by what it has, with another dim in front
            target = self.op("Concat", self.as_vector(self.clipped(self.scalar())), self.op("Shape", name), axis=0)
            if rank < 4:
                self.tensors.append((self.op("Expand", name, target), rank + 1))
            return
        axis = self.rng.randrange(max(rank, 1))
        one = self.op("Slice", name, *(self.const([x]) for x in (0, 1, axis))) if rank else name
        _, other_rank = self.tensor()
        if other_rank == rank:
            self.tensors.append((self.op("Expand", one, self.op("Shape", name)), rank))

    def _flatten(self) -> None:
        name, rank = self.tensor(1)
        self.tensors.append((self.op("Flatten", name, axis=self.rng.randint(0, rank)), 2))

    def _reshape(self) -> None:
        name, rank = self.tensor(1)
        if self.rng.random() < 0.4:
            self.tensors.append((self.op("Reshape", name, self.const([-1])), 1))
        elif rank >= 2:
            target = [0] * (rank - 2) + [-1]
            self.tensors.append((self.op("Reshape", name, self.const(target)), rank - 1))
        else:
            self.tensors.append((self.op("Reshape", name, self.const([0, 1, -1][: self.rng.randint(1, 3)])), 0))
            self.tensors[-1] = (self.tensors[-1][0], len(self._last_constant()))

    def _last_constant(self) -> Sequence[int]:
        return onnx.numpy_helper.to_array(self.constants[-1]).tolist()

    def _reshape_by_dims(self) -> None:
        name, _ = self.tensor(2)
        shape = self.op("Shape", name)
        first = self.op("Slice", shape, self.const([0]), self.const([1]))
        if self.rng.random() < 0.5:
            rest = self.op("ReduceProd", self.op("Slice", shape, self.const([1]), self.const([2**63 - 1])), keepdims=1)
        else:
            rest = self.const([-1])
        parts = [first, rest] if self.rng.random() < 0.7 else [first, self.const([1]), rest]
        self.tensors.append((self.op("Reshape", name, self.op("Concat", *parts, axis=0)), len(parts)))

    def _slice_tensor(self) -> None:
        name, rank = self.tensor(1)
        axis, step = self.axis(rank), self.rng.choice((1, 1, 1, 2, -1, -2))
        start, end = (self.as_vector(self.number()) for _ in range(2))
        if self.rng.random() < 0.4:
            end = self.const([self.rng.choice((2**63 - 1, -(2**63), 2**31 - 1, -1))])
        self.tensors.append((self.op("Slice", name, start, end, self.const([axis]), self.const([step])), rank))

    def _tile_tensor(self) -> None:
        name, rank = self.tensor(1)
        repeats = [self.rng.choice((1, 1, 2)) for _ in range(rank)]
        if rank == 1:
            self.tensors.append((self.op("Tile", name, self.as_vector(self.clipped(self.scalar(), 0, 3))), 1))
        else:
            self.tensors.append((self.op("Tile", name, self.const(repeats)), rank))

    def _pad_tensor(self) -> None:
        name, rank = self.tensor(1)
        pads = [self.rng.choice((0, 0, 1, 2, -1)) for _ in range(2)]
        amount = self.const(pads)
        if self.rng.random() < 0.4:
            amount = self.sizes(2)
        self.tensors.append((self.op("Pad", name, amount, "", self.const([self.axis(rank)])), rank))

    def _concat_tensors(self) -> None:
        name, rank = self.tensor(1)
        self.tensors.append((self.op("Concat", *[name] * self.rng.randint(1, 3), axis=self.axis(rank)), rank))

    def _gather_rows(self) -> None:
        name, rank = self.tensor(1)
        picks = self.rng.choice((0, [0], [[0], [0]], [], [-1]))
        out_rank = rank - 1 + np.ndim(picks)
        if out_rank <= 4:
            self.tensors.append((self.op("Gather", name, self.const(picks), axis=self.axis(rank)), out_rank))

    def _transpose(self) -> None:
        name, rank = self.tensor(2)
        self.tensors.append((self.op("Transpose", name, perm=self.rng.sample(range(rank), rank)), rank))

    def _unsqueeze(self) -> None:
        name, rank = self.tensor()
        if rank < 4:
            wide = self.op("Unsqueeze", name, self.const([self.axis(rank + 1)]))
            self.tensors.append((wide, rank + 1))
            if self.rng.random() < 0.3 and rank == 0:
                self.tensors.append((self.op("Squeeze", wide), 0))

    def _reduce_tensor(self) -> None:
        name, rank = self.tensor(1)
        keep = self.rng.randint(0, 1)
        op_type = self.rng.choice(("ReduceSum", "ReduceMean", "ReduceL2", "ReduceSum"))
        reduced = self.op(op_type, name, self.const([self.axis(rank)]), keepdims=keep)
        self.tensors.append((reduced, rank if keep else rank - 1))

    def _broadcast(self) -> None:
        name, rank = self.tensor(1)
        part = self.op("Slice", name, *(self.const([x]) for x in (0, 1, self.axis(rank))))
        if self.rng.random() < 0.3:
            part = self.op("ReduceSum", name, self.const([self.axis(rank)]), keepdims=1)
        op_type = self.rng.choice(("Add", "Mul", "Max", "Sub"))
        if self.rng.random() < 0.3:
            other, other_rank = self.tensor()  # any two: the runtime may refuse
            name, rank, part = name, max(rank, other_rank), other
        self.tensors.append((self.op(op_type, *self.shuffled(name, part)), rank))

    def _matmul(self) -> None:
        name, rank = self.tensor(2)
        perm = [*range(rank - 2), rank - 1, rank - 2]
        self.tensors.append((self.op("MatMul", name, self.op("Transpose", name, perm=perm)), rank))

    def _split_tensor(self) -> None:
        name, rank = self.tensor(1)
        parts = self.node("Split", [name], 2, axis=self.axis(rank), num_outputs=2)
        self.tensors += [(part, rank) for part in parts]

    def _pool(self) -> None:
        name, _ = self.tensor(4) if any(rank == 4 for _, rank in self.tensors) else ("", 0)
        if not name:
            return
        attributes: dict[str, object] = {"kernel_shape": [2, 3], "strides": [self.rng.randint(1, 2)] * 2}
        padding = self.rng.choice(("none", "pads", "SAME_UPPER", "SAME_LOWER", "VALID"))
        if padding == "pads":
            attributes["pads"] = [1, 1, 0, 1]
        elif padding != "none":
            attributes["auto_pad"] = padding
        elif self.rng.random() < 0.5:
            attributes["ceil_mode"] = 1
        self.tensors.append((self.op(self.rng.choice(("MaxPool", "AveragePool")), name, **attributes), 4))

    def _resize(self) -> None:
        name, rank = self.tensor(1)
        scale = self.rng.choice((0.5, 1.0, 1.5, 2.0, 0.3))
        scales = self.const([scale] * rank, np.float32)
        self.tensors.append((self.op("Resize", name, "", scales, mode="nearest"), rank))

    def _data_dependent(self) -> None:
        name, _ = self.tensor(1)
        if self.rng.random() < 0.5:
            self.tensors.append((self.op("Cast", self.op("NonZero", name), to=TensorProto.FLOAT), 2))
        else:
            flat = self.op("Reshape", name, self.const([-1]))
            self.tensors.append((self.op("Compress", flat, self.op("Greater", flat, self.const(0, np.float32))), 1))

    def _generate(self) -> None:
        size = self.as_vector(self.clipped(self.scalar()))
        if self.rng.random() < 0.5:
            hot = self.op("OneHot", self.const([0, 1]), size, self.const([0, 1], np.float32))
            self.tensors.append((hot, 2))
        else:
            square = self.op("ConstantOfShape", self.op("Concat", size, size, axis=0))
            self.tensors.append((self.op("EyeLike", square), 2))

    def _trilu(self) -> None:
        name, rank = self.tensor(2)
        self.tensors.append((self.op("Trilu", name, self.const(self.rng.randint(-1, 1))), rank))

    def _top_k(self) -> None:
        name, rank = self.tensor(1)
        axis = self.axis(rank)
        dim = self.op("Gather", self.op("Shape", name), self.const(axis))
        count = self.as_vector(self.op("Min", dim, self.clipped(self.number())))
        values = self.node("TopK", [name, count], 2, axis=axis)[0]
        self.tensors.append((values, rank))
