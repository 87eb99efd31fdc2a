"""Integer vectors of known length: shapes, and what is made of them."""

from __future__ import annotations

from onnx import TensorProto, helper

from tests.facts.programs.builder import Builder


class Vectors(Builder):
    """Steps that make a vector."""

    def add_vector(self) -> None:
        self.rng.choice(
            (
                self._shape,
                self._shape,
                self._concat,
                self._concat,
                self._slice,
                self._gather,
                self._elementwise,
                self._fill,
                self._scatter,
                self._split,
                self._tile,
                self._pad,
                self._mask,
                self._cumsum,
                self._range,
            )
        )()

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
        self.vectors.append((self.op(op_type, *self.shuffled(name, self.number())), length))

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
        self.vectors.append((self.op("Where", mask, *self.shuffled(name, self.number())), length))

    def _cumsum(self) -> None:
        name, length = self.vector()
        flags = {"exclusive": self.rng.randint(0, 1), "reverse": self.rng.randint(0, 1)}
        self.vectors.append((self.op("CumSum", name, self.const(0), **flags), length))

    def _range(self) -> None:
        start, delta = self.rng.randint(-2, 3), self.rng.choice((1, 1, 2, -1))
        made = self.op("Range", self.const(start), self.clipped(self.scalar(), -4, 6), self.const(delta))
        self.tensors.append((self.op("Cast", made, to=TensorProto.FLOAT), 1))
