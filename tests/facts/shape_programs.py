"""Random models that compute with shapes, as exporters write them and in ways that no exporter would.

A program starts from float tensors with symbolic dims and grows by one operator, or one small idiom, at a time. It
keeps three pools of values to draw on: integer scalars, integer vectors of known length, and tensors of known rank.
Numbers that become sizes are clipped, so that nothing gets large, and divisors are never 0, which a runtime needn't
survive.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper

OPSET = 21
SYMBOLS = ("N", "M")
SIZES = (0, 1, 2, 3, 5, 8)
"""What the symbols are bound to."""


class ShapeProgram:
    """A random model.

    Args:
        rng: The source of all choices.
        length: How many steps it has.
    """

    def __init__(self, rng: random.Random, length: int) -> None:
        self.rng = rng
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.scalars: list[str] = []
        self.vectors: list[tuple[str, int]] = []
        self.tensors: list[tuple[str, int]] = []
        self.inputs = [self._input(f"x{k}") for k in range(2)]
        steps = (self._scalar, self._scalar, self._vector, self._tensor)
        self._dim()
        for _ in range(length):
            rng.choice(steps)()

    def model(self, count: int | None = None) -> onnx.ModelProto:
        """The model, or its first nodes alone."""
        graph = helper.make_graph(self.nodes[:count], "shapes", self.inputs, [], self.constants)
        last = graph.node[-1].output[0]
        graph.output.append(onnx.ValueInfoProto(name=last))
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)

    # The three pools ----------------------------------------------------------------------------------------

    def _scalar(self) -> None:
        self.rng.choice(
            (self._dim, self._dim, self._size, self._arithmetic, self._arithmetic, self._arithmetic, self._division,
             self._division, self._unary, self._through_float, self._through_int32, self._selection, self._branches,
             self._reduction, self._pick)
        )()

    def _vector(self) -> None:
        self.rng.choice(
            (self._shape, self._shape, self._concat, self._concat, self._slice, self._gather, self._elementwise,
             self._fill, self._scatter, self._split, self._tile, self._pad, self._mask, self._cumsum, self._range)
        )()

    def _tensor(self) -> None:
        self.rng.choice(
            (self._constant_of_shape, self._expand, self._flatten, self._reshape, self._reshape_by_dims,
             self._slice_tensor, self._slice_tensor, self._tile_tensor, self._pad_tensor, self._concat_tensors,
             self._gather_rows, self._transpose, self._unsqueeze, self._reduce_tensor, self._broadcast,
             self._matmul, self._split_tensor, self._pool, self._resize, self._data_dependent, self._generate,
             self._loop, self._scan, self._sequence, self._trilu, self._top_k)
        )()

    # Building blocks ----------------------------------------------------------------------------------------

    def _input(self, name: str) -> onnx.ValueInfoProto:
        rank = self.rng.randint(2, 4)
        dims = [self.rng.choice((*SYMBOLS, *SYMBOLS, 1, 2, 3)) for _ in range(rank)]
        self.tensors.append((name, rank))
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, dims)

    def node(self, op_type: str, inputs: Iterable[str], outputs: int = 1, **attributes: object) -> list[str]:
        """Adds a node and gives the names of its outputs."""
        names = [f"v{len(self.nodes)}_{k}" if k else f"v{len(self.nodes)}" for k in range(outputs)]
        self.nodes.append(helper.make_node(op_type, list(inputs), names, **attributes))
        return names

    def op(self, op_type: str, *inputs: str, **attributes: object) -> str:
        return self.node(op_type, inputs, **attributes)[0]

    def const(self, value: object, dtype: type = np.int64) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(onnx.numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def clipped(self, scalar: str, low: int = 0, high: int = 4) -> str:
        """A scalar that can be a size."""
        if self.rng.random() < 0.2:
            return self.op("Clip", scalar, self.const(low), self.const(high))
        return self.op("Max", self.op("Min", scalar, self.const(high)), self.const(low))

    def as_vector(self, scalar: str) -> str:
        if self.rng.random() < 0.5:
            return self.op("Unsqueeze", scalar, self.const([0]))
        return self.op("Reshape", scalar, self.const([self.rng.choice((1, -1))]))

    def scalar(self) -> str:
        return self.rng.choice(self.scalars)

    def number(self) -> str:
        """A scalar of the program, or a small constant."""
        return self.scalar() if self.rng.random() < 0.6 else self.const(self.rng.randint(-3, 6))

    def vector(self) -> tuple[str, int]:
        if not self.vectors:
            self._shape()
        return self.rng.choice(self.vectors)

    def tensor(self, least_rank: int = 0) -> tuple[str, int]:
        return self.rng.choice([pair for pair in self.tensors if pair[1] >= least_rank])

    def axis(self, rank: int) -> int:
        axis = self.rng.randrange(rank)
        return axis - rank if self.rng.random() < 0.3 else axis

    # Scalars ------------------------------------------------------------------------------------------------

    def _dim(self) -> None:
        name, rank = self.tensor(1)
        self.scalars.append(self.op("Gather", self.op("Shape", name), self.const(self.axis(rank))))

    def _size(self) -> None:
        self.scalars.append(self.op("Size", self.tensor()[0]))

    def _arithmetic(self) -> None:
        op_type = self.rng.choice(("Add", "Sub", "Mul", "Min", "Max"))
        self.scalars.append(self.op(op_type, *self._shuffled(self.scalar(), self.number())))

    def _shuffled(self, *values: str) -> list[str]:
        return self.rng.sample(values, len(values))

    def _division(self) -> None:
        divisor = self.const(self.rng.choice((-3, -1, 1, 2, 2, 3, 4, 32)))
        if self.rng.random() < 0.3:
            divisor = self.op("Max", self.scalar(), self.const(1))
        self.scalars.append(self.op(self.rng.choice(("Div", "Div", "Mod")), self.scalar(), divisor))

    def _unary(self) -> None:
        self.scalars.append(self.op(self.rng.choice(("Neg", "Abs", "Sign", "Identity")), self.scalar()))

    def _through_float(self) -> None:
        to, dtype = self.rng.choice(((TensorProto.FLOAT, np.float32), (TensorProto.DOUBLE, np.float64)))
        x = self.op("Cast", self.scalar(), to=to)
        op_type = self.rng.choice(("Div", "Mul", "Add", "Sub", "Sqrt", "Pow"))
        number = {"Div": (2, 3, 4, -2), "Pow": (0.5, 1, 2)}.get(op_type, (0.5, 0.25, 2, -1.5, 3))
        if op_type == "Sqrt":
            x = self.op("Sqrt", self.op("Abs", x))
        else:
            x = self.op(op_type, x, self.const(self.rng.choice(number), dtype))
        x = self.op(self.rng.choice(("Floor", "Ceil", "Round", "Identity")), x)
        if op_type == "Pow":  # a root of a negative number has no integer
            x = self.op("Abs", x) if number == 2 else self.op("Where", self.op("IsNaN", x), self.const(0, dtype), x)
        self.scalars.append(self.op("Cast", x, to=TensorProto.INT64))

    def _through_int32(self) -> None:
        x = self.op("Cast", self.scalar(), to=TensorProto.INT32)
        x = self.op(self.rng.choice(("Add", "Mul", "Sub")), x, self.const(self.rng.choice((1, 2, 7)), np.int32))
        self.scalars.append(self.op("Cast", x, to=TensorProto.INT64))

    def condition(self) -> str:
        op_type = self.rng.choice(("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"))
        found = self.op(op_type, self.scalar(), self.number())
        if self.rng.random() < 0.2:
            found = self.op("Not", found)
        if self.rng.random() < 0.2:
            other = self.op("Greater", self.scalar(), self.number())
            found = self.op(self.rng.choice(("And", "Or", "Xor")), found, other)
        return found

    def _selection(self) -> None:
        self.scalars.append(self.op("Where", self.condition(), *self._shuffled(self.scalar(), self.number())))

    def _branches(self) -> None:
        branches = []
        for branch in ("then", "else"):
            inside = f"b{len(self.nodes)}_{branch}"
            node = helper.make_node(self.rng.choice(("Identity", "Neg", "Abs")), [self.scalar()], [inside])
            output = helper.make_tensor_value_info(inside, TensorProto.INT64, [])
            branches.append(helper.make_graph([node], branch, [], [output]))
        condition = self.condition()
        self.scalars.append(self.op("If", condition, then_branch=branches[0], else_branch=branches[1]))

    def _reduction(self) -> None:
        op_type = self.rng.choice(("ReduceProd", "ReduceSum", "ReduceMax", "ReduceMin"))
        name, length = self.vector()
        if length or op_type in ("ReduceProd", "ReduceSum"):
            self.scalars.append(self.op(op_type, name, keepdims=0))

    def _pick(self) -> None:
        name, length = self.vector()
        if not length:
            return
        if self.rng.random() < 0.5:
            self.scalars.append(self.op("Gather", name, self.const(self.axis(length))))
        else:
            at = self.rng.randrange(length)
            part = self.op("Slice", name, self.const([at]), self.const([at + 1]))
            self.scalars.append(self.op("Squeeze", part, self.const([0])))

    # Vectors ------------------------------------------------------------------------------------------------

    def _shape(self) -> None:
        name, rank = self.tensor()
        if self.rng.random() < 0.3:
            start = self.rng.randint(0, rank)
            self.vectors.append((self.op("Shape", name, start=start), rank - start))
        else:
            self.vectors.append((self.op("Shape", name), rank))

    def _concat(self) -> None:
        parts, length = [], 0
        for _ in range(self.rng.randint(1, 3)):
            if self.vectors and self.rng.random() < 0.4:
                name, more = self.vector()
            else:
                name, more = self.as_vector(self.number()), 1
            parts.append(name)
            length += more
        if length <= 8:
            self.vectors.append((self.op("Concat", *parts, axis=0), length))

    def _slice(self) -> None:
        name, length = self.vector()
        start, end = self.rng.randint(-length - 1, length + 1), self.rng.choice((-1, 1, 2, 2**63 - 1, -(2**31)))
        step = self.rng.choice((1, 1, 1, -1, 2, -2))
        sliced = self.op("Slice", name, *(self.const([x]) for x in (start, end, 0, step)))
        self.vectors.append((sliced, len(range(length)[start:end:step])))

    def _gather(self) -> None:
        name, length = self.vector()
        if length:
            picks = [self.axis(length) for _ in range(self.rng.randint(0, 3))]
            self.vectors.append((self.op("Gather", name, self.const(picks)), len(picks)))

    def _elementwise(self) -> None:
        name, length = self.vector()
        op_type = self.rng.choice(("Add", "Sub", "Mul", "Min", "Max"))
        self.vectors.append((self.op(op_type, *self._shuffled(name, self.number())), length))

    def _fill(self) -> None:
        length = self.rng.randint(0, 3)
        if self.rng.random() < 0.5:
            value = helper.make_tensor("", TensorProto.INT64, [1], [self.rng.randint(-1, 3)])
            self.vectors.append((self.op("ConstantOfShape", self.const([length]), value=value), length))
        else:
            self.vectors.append((self.op("Expand", self.number(), self.const([length])), length))

    def _scatter(self) -> None:
        name, length = self.vector()
        if not length:
            return
        update = self.as_vector(self.number())
        if self.rng.random() < 0.5:
            scattered = self.op("ScatterElements", name, self.const([self.axis(length)]), update, axis=0)
        else:
            scattered = self.op("ScatterND", name, self.const([[self.rng.randrange(length)]]), update)
        self.vectors.append((scattered, length))

    def _split(self) -> None:
        name, length = self.vector()
        first = self.rng.randint(0, length)
        parts = self.node("Split", [name, self.const([first, length - first])], 2, axis=0)
        self.vectors += [(parts[0], first), (parts[1], length - first)]

    def _tile(self) -> None:
        name, length = self.vector()
        if length <= 3:
            self.vectors.append((self.op("Tile", name, self.const([2])), 2 * length))

    def _pad(self) -> None:
        name, length = self.vector()
        before, after = self.rng.randint(0, 1), self.rng.randint(0, 2)
        self.vectors.append((self.op("Pad", name, self.const([before, after]), self.number()), length + before + after))

    def _mask(self) -> None:
        name, length = self.vector()
        mask = self.op(self.rng.choice(("Equal", "Less", "Greater")), name, self.number())
        self.vectors.append((self.op("Where", mask, *self._shuffled(name, self.number())), length))

    def _cumsum(self) -> None:
        name, length = self.vector()
        flags = {"exclusive": self.rng.randint(0, 1), "reverse": self.rng.randint(0, 1)}
        self.vectors.append((self.op("CumSum", name, self.const(0), **flags), length))

    def _range(self) -> None:
        start, delta = self.rng.randint(-2, 3), self.rng.choice((1, 1, 2, -1))
        made = self.op("Range", self.const(start), self.clipped(self.scalar(), -4, 6), self.const(delta))
        self.tensors.append((self.op("Cast", made, to=TensorProto.FLOAT), 1))

    # Tensors ------------------------------------------------------------------------------------------------

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
        self.tensors.append((self.op(op_type, *self._shuffled(name, part)), rank))

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

    def _loop(self) -> None:
        """Carries a tensor and a number, gathers another."""
        name, rank = self.tensor(1)
        prefix = f"l{len(self.nodes)}"
        grows = self.rng.random() < 0.3
        step = ["Concat", "Identity"][not grows]
        body_nodes = [
            helper.make_node("Identity", [f"{prefix}_go_in"], [f"{prefix}_go"]),
            helper.make_node(step, [f"{prefix}_x"] + [name] * grows, [f"{prefix}_next"], **({"axis": 0} if grows else {})),
            helper.make_node("Add", [f"{prefix}_n", self.scalar()], [f"{prefix}_sum"]),
            helper.make_node("Abs", [self.rng.choice((name, f"{prefix}_x"))] if not grows else [name], [f"{prefix}_each"]),
        ]
        unknown = [None] * rank
        body = helper.make_graph(
            body_nodes, prefix,
            [helper.make_tensor_value_info(f"{prefix}_i", TensorProto.INT64, []),
             helper.make_tensor_value_info(f"{prefix}_go_in", TensorProto.BOOL, []),
             helper.make_tensor_value_info(f"{prefix}_x", TensorProto.FLOAT, unknown),
             helper.make_tensor_value_info(f"{prefix}_n", TensorProto.INT64, [])],
            [helper.make_tensor_value_info(f"{prefix}_go", TensorProto.BOOL, []),
             helper.make_tensor_value_info(f"{prefix}_next", TensorProto.FLOAT, unknown),
             helper.make_tensor_value_info(f"{prefix}_sum", TensorProto.INT64, []),
             helper.make_tensor_value_info(f"{prefix}_each", TensorProto.FLOAT, unknown)],
        )
        trips = self.clipped(self.number(), 0, 3)
        go = self.const(True, np.bool_) if self.rng.random() < 0.7 else ""
        carried, number, each = self.node("Loop", [trips, go, name, self.number()], 3, body=body)
        self.tensors.append((carried, rank))
        self.scalars.append(number)
        if rank < 4:
            self.tensors.append((each, rank + 1))

    def _scan(self) -> None:
        """Sums up over an axis, and gathers each slice. No slice is empty: onnxruntime wouldn't survive that."""
        rank = 2
        flat = self.op("Reshape", self.tensor(1)[0], self.const([-1]))
        axis = self.rng.randrange(rank)
        name = self.op("Unsqueeze", flat, self.const([1 - axis]))
        state = self.op("ReduceSum", name, self.const([axis]), keepdims=0)
        prefix = f"s{len(self.nodes)}"
        unknown = [None] * (rank - 1)
        infos = {
            end: helper.make_tensor_value_info(f"{prefix}_{end}", TensorProto.FLOAT, unknown)
            for end in ("state", "slice", "sum", "out")
        }
        body = helper.make_graph(
            [helper.make_node("Add", [f"{prefix}_state", f"{prefix}_slice"], [f"{prefix}_sum"]),
             helper.make_node("Neg", [f"{prefix}_slice"], [f"{prefix}_out"])],
            prefix, [infos["state"], infos["slice"]], [infos["sum"], infos["out"]],
        )
        total, each = self.node(
            "Scan", [state, name], 2, body=body, num_scan_inputs=1, scan_input_axes=[axis],
            scan_output_axes=[self.rng.randrange(rank)], scan_input_directions=[self.rng.randint(0, 1)],
        )
        self.tensors += [(total, rank - 1), (each, rank)]

    def _sequence(self) -> None:
        name, rank = self.tensor(1)
        axis = self.axis(rank)
        parts = self.op("SplitToSequence", name, self.const(self.rng.randint(1, 2)), axis=axis)
        if self.rng.random() < 0.5:
            self.tensors.append((self.op("ConcatFromSequence", parts, axis=axis), rank))
        else:
            self.tensors.append((self.op("SequenceAt", parts, self.const(0)), rank))

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
