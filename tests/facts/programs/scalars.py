"""Integer scalars, as exporters compute sizes with them."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from tests.facts.programs.builder import Builder


class Scalars(Builder):
    """Steps that make a scalar."""

    def add_scalar(self) -> None:
        self.rng.choice(
            (
                self._dim,
                self._dim,
                self._size,
                self._arithmetic,
                self._arithmetic,
                self._arithmetic,
                self._division,
                self._division,
                self._unary,
                self._through_float,
                self._through_int32,
                self._selection,
                self._reduction,
                self._pick,
            )
        )()

    def _dim(self) -> None:
        name, rank = self.tensor(1)
        self.scalars.append(self.op("Gather", self.op("Shape", name), self.const(self.axis(rank))))

    def _size(self) -> None:
        self.scalars.append(self.op("Size", self.tensor()[0]))

    def _arithmetic(self) -> None:
        op_type = self.rng.choice(("Add", "Sub", "Mul", "Min", "Max"))
        self.scalars.append(self.op(op_type, *self.shuffled(self.scalar(), self.number())))

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
        self.scalars.append(self.op("Where", self.condition(), *self.shuffled(self.scalar(), self.number())))

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
