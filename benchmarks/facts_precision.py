"""How much is known of the values of models: against onnxruntime's symbolic inference and onnx-shape-inference.

`python -m benchmarks.facts_precision MODEL...` prints a table. Counted are the outputs of the main graph's nodes, save
Constant nodes. A shape counts where each dim is a number or an expression in the symbols of the graph inputs; invented
symbols don't count. Data count where each element of a small tensor is such a number or expression.

Declarations of intermediate values are taken out before: they are claims, and no one is to copy them.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import io
import json
import logging
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias

import onnx
import onnx_ir as ir

from foldproof.facts import Dim, Facts

Entries: TypeAlias = "tuple[int | str | None, ...]"
"""Dims or elements: a number, an expression of the inputs' symbols, or None for one that is not known."""


@dataclasses.dataclass
class Known:
    """What one tool knows of the values of one model, by name.

    Attributes:
        shapes: The dims where the rank is known.
        data: The elements where they are known at all.
        seconds: What it took.
    """

    shapes: dict[str, Entries]
    data: dict[str, Entries]
    seconds: float = 0.0

    def full_shapes(self) -> set[str]:
        """The values with a full symbolic shape."""
        return {name for name, dims in self.shapes.items() if None not in dims}

    def full_data(self) -> set[str]:
        """The values with known elements."""
        return {name for name, elements in self.data.items() if None not in elements}


Tool: TypeAlias = "Callable[[onnx.ModelProto, frozenset[str]], Known]"


def foldproof(model: onnx.ModelProto, symbols: frozenset[str]) -> Known:
    """The facts of Foldproof."""
    ir_model = ir.from_proto(model)
    start = time.perf_counter()
    initializers = {tensor.name for tensor in model.graph.initializer}
    inputs = {value.name for value in model.graph.input}
    facts = Facts(ir_model, initializers & inputs if model.ir_version >= 4 else ())
    known = Known({}, {})
    for node in ir_model.graph:
        for output in node.outputs:
            fact = facts.of(output)
            if fact.shape is not None:
                known.shapes[str(output.name)] = tuple(_entry(dim, symbols) for dim in fact.shape)
            elements = fact.elements
            if elements is not None:
                known.data[str(output.name)] = tuple(_entry(element, symbols) for element in elements)
    known.seconds = time.perf_counter() - start
    return known


def _entry(x: Any, symbols: frozenset[str]) -> int | str | None:
    if isinstance(x, Dim):
        return str(x) if all(symbol.scope == 0 and symbol.name in symbols for symbol in x.symbols) else None
    return x if x is None or isinstance(x, int) else str(x)


def onnxruntime(model: onnx.ModelProto, symbols: frozenset[str]) -> Known:
    """`onnxruntime.tools.symbolic_shape_infer`, where it gets to."""
    from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

    start = time.perf_counter()
    inference = SymbolicShapeInference(2**31 - 1, True, False, 0)
    with contextlib.redirect_stdout(io.StringIO()):
        inference._preprocess(model)
        while inference.run_:
            inference._infer_impl()
    known = Known({}, {}, time.perf_counter() - start)
    for name, value in inference.known_vi_.items():
        if value.type.tensor_type.HasField("shape"):
            dims = value.type.tensor_type.shape.dim
            known.shapes[name] = tuple(
                dim.dim_value if dim.HasField("dim_value") else _expression(dim.dim_param, symbols) for dim in dims
            )
    for name, data in inference.sympy_data_.items():
        elements = data.reshape(-1).tolist() if hasattr(data, "reshape") else data if isinstance(data, list) else [data]
        known.data[name] = tuple(_expression(str(element), symbols) for element in elements)
    return known


def onnx_shape_inference(model: onnx.ModelProto, symbols: frozenset[str]) -> Known:
    """The package `onnx-shape-inference`."""
    from onnx_shape_inference import SYM_DATA_KEY, infer_symbolic_shapes

    ir_model = ir.from_proto(model)
    start = time.perf_counter()
    infer_symbolic_shapes(ir_model, warn_on_missing=False)
    known = Known({}, {}, time.perf_counter() - start)
    for node in ir_model.graph:
        for output in node.outputs:
            if output.shape is not None:
                known.shapes[str(output.name)] = tuple(
                    dim if isinstance(dim, int) else _expression(str(dim.value), symbols) for dim in output.shape
                )
            text = output.metadata_props.get(SYM_DATA_KEY)
            if text is not None:
                known.data[str(output.name)] = tuple(_expression(str(x), symbols) for x in json.loads(text))
    return known


def _expression(text: str, symbols: frozenset[str]) -> int | str | None:
    """An expression that a tool wrote; None where it has symbols that the graph inputs don't have."""
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    functions = {"floor", "ceiling", "Max", "Min", "Mod", "max", "min", "floordiv", "Abs"}
    names = set(re.findall(r"[A-Za-z_][\w.]*", text)) - functions
    return text if text and names <= symbols else None


TOOLS: dict[str, Tool] = {
    "foldproof": foldproof,
    "onnxruntime": onnxruntime,
    "onnx-shape-inference": onnx_shape_inference,
}


def prepared(path: Path) -> tuple[onnx.ModelProto, frozenset[str], list[str]]:
    """A model without claims, the symbols of its inputs, and the values that are counted.

    Dims of inputs that have no name get one, so that all tools speak of the same symbols.
    """
    model = onnx.load(path)
    del model.graph.value_info[:]
    for value in model.graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
        elif value.type.sequence_type.elem_type.HasField("map_type"):
            value.ClearField("type")  # onnx_ir refuses it
    symbols = set()
    for number, value in enumerate(model.graph.input):
        for axis, dim in enumerate(value.type.tensor_type.shape.dim):
            if not dim.HasField("dim_value") or dim.dim_value < 0:
                name = re.sub(r"\W", "_", dim.dim_param) if dim.dim_param else f"in{number}_{axis}"
                dim.dim_param = name if name[0].isalpha() else f"d_{name}"
                symbols.add(dim.dim_param)
    counted = [name for node in model.graph.node if node.op_type != "Constant" for name in node.output if name]
    return model, frozenset(symbols), counted


def compare(path: Path, verbose: bool) -> list[str]:
    """The rows of one model, and, if asked for, what others know more."""
    model, symbols, counted = prepared(path)
    producer = {name: node.op_type for node in model.graph.node for name in node.output}
    rows, results = [], {}
    for name, tool in TOOLS.items():
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        try:
            known = tool(copy, symbols)
        except ImportError as error:
            rows.append(f"| {path.stem} | {name} | not installed: {error.name} | | | | |")
            continue
        except Exception as error:  # noqa: BLE001  whatever makes another tool fail is its result
            rows.append(f"| {path.stem} | {name} | failed: {type(error).__name__} | | | | |")
            continue
        results[name] = known
        ranked, full, data = (
            sum(value in found for value in counted) for found in (known.shapes, known.full_shapes(), known.full_data())
        )
        rows.append(f"| {path.stem} | {name} | {len(counted)} | {ranked} | {full} | {data} | {known.seconds:.2f} |")
    if verbose and "foldproof" in results:
        ours = results.pop("foldproof")
        for name, theirs in results.items():
            rows += differences(name, ours, theirs, counted, producer)
    return rows


def differences(name: str, ours: Known, theirs: Known, counted: Iterable[str], producer: dict[str, str]) -> list[str]:
    """Where another tool knows more than Foldproof, and where the two contradict each other in a number."""
    lines = []
    for kind, full, mine, other in (
        ("shape", ours.full_shapes(), ours.shapes, theirs.shapes),
        ("data", ours.full_data(), ours.data, theirs.data),
    ):
        known = theirs.full_shapes() if kind == "shape" else theirs.full_data()
        for value in counted:
            where = f"{producer[value]} {value}: {kind} {other.get(value)} of {name}, {mine.get(value)} of foldproof"
            if value in known and value not in full:
                lines.append(f"    more: {where}")
            elif value in known and any(
                isinstance(a, int) and isinstance(b, int) and a != b
                for a, b in zip(mine[value], other[value], strict=False)
            ):
                lines.append(f"    contradiction: {where}")
    return lines


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path)
    parser.add_argument("--verbose", action="store_true", help="list where others know more, or something else")
    arguments = parser.parse_args()
    logging.disable(logging.ERROR)
    warnings.simplefilter("ignore")
    write = sys.stdout.write
    write("| model | tool | values | rank | full shape | data | s |\n| --- | --- | --- | --- | --- | --- | --- |\n")
    for path in arguments.models:
        write("\n".join(compare(path, arguments.verbose)) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
