"""A random graph that grows by one operator at a time, and knows the shape of each of its values.

A shape is not an expression of symbols: it is computed, at a few bindings of the symbolic dims at once. So an operator
needs one numpy function that says what becomes of its inputs. It is run at each binding, on the elements where these
are known (shape arithmetic, constants), on zeros where they are not. What numpy refuses is no graph.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from tests.fuzzing.values import Array, Shape, Value

Binding = dict[str, int]

MAX_ELEMENTS = 3000
MAX_RANK = 5
MAX_KNOWN = 64
"""No value is larger than these; the elements of larger ones are not followed."""


class InadmissibleError(Exception):
    """An operator that can't be put here. The step that wanted it ends there, and leaves what it has put in."""


Function = Callable[..., Any]


class Graph:
    """A graph, or the body of a node.

    Args:
        rng: The source of all choices.
        opset: The version of `ai.onnx`.
        bindings: Where shapes are computed.
        outer: The graph around it, whose values a body may read.
        caller: The graph that calls it, if it is a function. It has no initializers.

    Attributes:
        functions: The functions of the model, in its main graph.
        inputs: Its inputs.
        defaults: Initializers that are inputs too.
        values: What its nodes may read of its own, the newest last.
    """

    def __init__(
        self,
        rng: random.Random,
        opset: int,
        bindings: Sequence[Binding],
        outer: Graph | None = None,
        caller: Graph | None = None,
    ) -> None:
        self.rng = rng
        self.opset = opset
        self.bindings = bindings
        self.outer = outer
        self.caller = caller
        self.functions: list[onnx.FunctionProto] = []
        self.inputs: list[Value] = []
        self.input_infos: list[onnx.ValueInfoProto] = []
        self.defaults: list[Value] = []
        self.values: list[Value] = []
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self._constants: dict[tuple[object, ...], Value] = {}
        around = outer or caller
        self._counter: Iterator[int] = itertools.count() if around is None else around._counter

    @property
    def depth(self) -> int:
        around = self.outer or self.caller
        return 0 if around is None else around.depth + 1

    @property
    def main(self) -> Graph:
        """The main graph of the model."""
        around = self.outer or self.caller
        return self if around is None else around.main

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def fresh(self, prefix: str) -> str:
        return f"{prefix}{next(self._counter)}"

    # Values ----------------------------------------------------------------------------------------------------------

    def input(self, dims: Sequence[str | int], dtype: Any = np.float32) -> Value:
        """Adds a graph input; a dim is a symbol or an integer."""
        shapes = tuple(tuple(b[d] if isinstance(d, str) else d for d in dims) for b in self.bindings)
        value = Value(self.fresh("x"), np.dtype(dtype), shapes)
        self.inputs.append(value)
        element = helper.np_dtype_to_tensor_dtype(value.dtype)
        self.input_infos.append(helper.make_tensor_value_info(value.name, element, list(dims)))
        self.values.append(value)
        return value

    def body_input(self, dtype: Any, shapes: tuple[Shape, ...], known: tuple[Array, ...] | None = None) -> Value:
        """Adds an input of a body. Its declaration says nothing of its dims."""
        value = Value(self.fresh("x"), np.dtype(dtype), shapes, known)
        self.inputs.append(value)
        # Of a number, such as that of the iteration, onnxruntime must know that it is one.
        self.input_infos.append(declared(value, None if value.rank and self.chance(0.5) else [None] * value.rank))
        self.values.append(value)
        return value

    def visible(self) -> Iterator[Value]:
        """All values that a node may read, the newest last, those of graphs around it first."""
        if self.outer is not None:
            yield from self.outer.visible()
        yield from self.values

    def pick(self, accept: Callable[[Value], bool] = lambda value: True, newest: float = 0.6) -> Value:
        """A value, of a body's own most of all: often the newest, since chains are what the rules look for.

        Raises:
            InadmissibleError: There is none that is accepted.
        """
        found = [value for value in self.visible() if accept(value)]
        if not found:
            raise InadmissibleError
        return found[-1] if self.chance(newest) else self.rng.choice(found)

    def constant(self, array: Any, dtype: Any = np.int64) -> Value:
        """A constant: an initializer or a node, one that is there already or a second one of the same value."""
        array = np.asarray(array, dtype)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key in self._constants and self.chance(0.5):
            return self._constants[key]
        known = (array,) * len(self.bindings) if array.dtype.kind in "iub" and array.size <= MAX_KNOWN else None
        value = Value(self.fresh("c"), array.dtype, (array.shape,) * len(self.bindings), known)
        if self.chance(0.6):
            home = self
            while home.outer is not None and self.chance(0.5):
                home = home.outer
            tensor = numpy_helper.from_array(array, value.name)
            if home.caller is None:
                home.initializers.append(tensor)
            else:
                home.nodes.append(helper.make_node("Constant", [], [value.name], value=tensor))
        else:
            attribute: dict[str, Any] = {"value": numpy_helper.from_array(array)}
            if self.opset >= 12 and array.dtype == np.int64 and array.ndim < 2 and self.chance(0.5):
                # A list without elements has no type, so that it can't be an attribute of the helper.
                if array.ndim == 0:
                    attribute = {"value_int": int(array)}
                elif array.size:
                    attribute = {"value_ints": array.tolist()}
            self.nodes.append(helper.make_node("Constant", [], [value.name], **attribute))
        self._constants[key] = value
        return value

    def default(self, array: Array) -> Value:
        """An initializer of the main graph that the caller may override: its elements are not known."""
        assert self.outer is None
        value = Value(self.fresh("d"), array.dtype, (array.shape,) * len(self.bindings))
        self.initializers.append(numpy_helper.from_array(array, value.name))
        self.input_infos.append(declared(value, array.shape))
        self.defaults.append(value)
        self.values.append(value)
        return value

    # Nodes -----------------------------------------------------------------------------------------------------------

    def op(
        self,
        op_type: str,
        *inputs: Value | None,
        f: Function | None = None,
        dtype: Any = None,
        known: bool = True,
        **attributes: Any,
    ) -> Value:
        """Adds a node of one output. See `ops`."""
        return self.ops(op_type, *inputs, f=f, dtypes=[dtype], known=known, **attributes)[0]

    def ops(
        self,
        op_type: str,
        *inputs: Value | None,
        f: Function | None = None,
        dtypes: Sequence[Any] = (None,),
        known: bool = True,
        is_random: bool = False,
        hidden: Sequence[int] = (),
        **attributes: Any,
    ) -> list[Value]:
        """Adds a node.

        Args:
            op_type: Its operator.
            inputs: Its inputs; None for one that is left out.
            f: What it does, on numpy arrays; gives a tuple where the node has several outputs. None: it computes each
                element of its broadcast inputs.
            dtypes: The types of its outputs; None for the type of the first input.
            known: Whether `f` computes the elements too, not the shape alone.
            is_random: Whether it draws.
            hidden: The outputs that are left out.
            attributes: Its attributes.

        Raises:
            InadmissibleError: The inputs don't suit it, or the outputs would be too large.
        """
        given = [value for value in inputs if value is not None]
        arrays: list[tuple[Array, ...]] = []
        for index in range(len(self.bindings)):
            operands = [None if value is None else value.at(index) for value in inputs]
            try:
                with np.errstate(all="ignore"):
                    result = np.broadcast(*map(np.asarray, operands)) if f is None else f(*operands)
            except (ValueError, IndexError, ZeroDivisionError, OverflowError) as error:
                raise InadmissibleError(str(error)) from error
            arrays.append(result if isinstance(result, tuple) else (result,))
        known = known and f is not None and all(value.known is not None for value in given)
        random_too = is_random or any(value.is_random for value in given)
        made = []
        for k, dtype in enumerate(dtypes):
            shapes = tuple(tuple(each[k].shape) for each in arrays)
            if len({len(shape) for shape in shapes}) > 1 or len(shapes[0]) > MAX_RANK:
                raise InadmissibleError("its rank")
            sizes = [int(np.prod(shape)) for shape in shapes]
            if max(sizes) > MAX_ELEMENTS:
                raise InadmissibleError("its size")
            type_ = given[0].dtype if dtype is None else np.dtype(dtype)
            elements = None
            if known and type_.kind in "iub" and max(sizes) <= MAX_KNOWN:
                elements = tuple(np.asarray(each[k]).astype(type_) for each in arrays)
            made.append(Value(self.fresh("v"), type_, shapes, elements, random_too))
        self.node(op_type, inputs, made, hidden, **attributes)
        return made

    def node(
        self,
        op_type: str,
        inputs: Sequence[Value | None],
        outputs: Sequence[Value],
        hidden: Sequence[int] = (),
        **attributes: Any,
    ) -> None:
        """Adds a node whose outputs are known already."""
        names = ["" if value is None else value.name for value in inputs]
        while names and not names[-1]:
            names.pop()
        shown = [value for k, value in enumerate(outputs) if k not in hidden]
        results = ["" if k in hidden else value.name for k, value in enumerate(outputs)]
        kept = {name: value for name, value in attributes.items() if value is not None}
        label = self.fresh("n") if self.chance(0.8) else ""
        self.nodes.append(helper.make_node(op_type, names, results, name=label, **kept))
        self.values.extend(shown)

    def body(self) -> Graph:
        """An empty graph within this one."""
        return Graph(self.rng, self.opset, self.bindings, self)

    def function(self) -> Graph:
        """The empty graph of a function that this one calls."""
        return Graph(self.rng, self.opset, self.bindings, caller=self)

    def to_proto(self, outputs: Sequence[onnx.ValueInfoProto]) -> onnx.GraphProto:
        """The graph as ONNX stores it."""
        return helper.make_graph(
            self.nodes, self.fresh("g"), self.input_infos, list(outputs), initializer=self.initializers
        )


def declared(value: Value, dims: Sequence[Any] | None) -> onnx.ValueInfoProto:
    """The declaration of a value with the given dims."""
    return helper.make_tensor_value_info(value.name, helper.np_dtype_to_tensor_dtype(value.dtype), dims)
