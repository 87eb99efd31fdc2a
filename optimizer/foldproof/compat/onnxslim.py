"""`slim`, with the parameters of onnxslim's."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from foldproof import model_file
from foldproof.compat.given_inputs import folder_of
from foldproof.compat.rule_names import CONSTANT_FOLDING, CONV_BATCH_NORMALIZATION
from foldproof.compat.shapes import shape_in, sizes_of_dims
from foldproof.compat.without_counterpart import WithoutCounterpart, check
from foldproof.errors import UsageError
from foldproof.options import Options
from foldproof.pipeline import Optimizer

WITHOUT_COUNTERPART = {
    "inputs": WithoutCounterpart("Inputs are the model's contract. Change them in the model before", (), True),
    "outputs": WithoutCounterpart("Outputs are the model's contract. Change them in the model before", (), True),
    "dtype": WithoutCounterpart("Types are part of the model's contract. Convert it before", None, True),
    "no_shape_infer": WithoutCounterpart("nothing can be proven without it", False),
    "size_threshold": WithoutCounterpart("Options.max_growth says by how much a model may grow"),
    "inspect": WithoutCounterpart("Use the command `foldproof explain`", False, True),
    "dump_to_disk": WithoutCounterpart("Use the command `foldproof explain --json`", False, True),
}
"""The parameters that are accepted and not followed."""

OPTIMIZATIONS = {
    "constant_folding": CONSTANT_FOLDING,
    "dead_node_elimination": ("dead_node", "unused_initializer"),
    "subexpression_elimination": ("same_computation",),
    "weight_tying": ("same_initializer",),
}
"""The rules that do what an optimization does. `graph_fusion` is all of level 2."""

FUSION_PATTERNS = {
    "EliminationConcat": ("nested_concat",),
    "EliminationReshape": ("one_reshape",),
    "EliminationReshapeAs": ("reshape_target",),
    "EliminationSlice": ("slice_of_slice",),
    "EliminationTranspose": ("transpose_of_transpose",),
    "EliminationTransposeAsReshape": ("transpose_of_ones",),
    "EliminationTransposeViewTranspose": ("transpose_between_reshapes",),
    "EliminationUnsqueeze": ("one_reshape",),
    "FusionConcatReshape": ("reshape_target",),
    "FusionConvAdd": CONV_BATCH_NORMALIZATION,
    "FusionConvBN": CONV_BATCH_NORMALIZATION,
    "FusionConvMul": CONV_BATCH_NORMALIZATION,
    "FusionConvTransposeAdd": CONV_BATCH_NORMALIZATION,
    "FusionConvTransposeBN": CONV_BATCH_NORMALIZATION,
    "FusionConvTransposeMul": CONV_BATCH_NORMALIZATION,
    "FusionGemm": ("matmul_add", "rows_into_gemm"),
    "FusionGemmAdd": ("add_into_gemm",),
    "FusionGemmMul": ("affine_into_gemm",),
    "FusionPadConv": ("pad_into_conv",),
    "FusionReduce": ("reshape_of_reduction",),
}
"""The rules that do what a pattern does; some do more."""


def slim(
    model: onnx.ModelProto | str | os.PathLike[str],
    output_model: str | os.PathLike[str] | None = None,
    *,
    model_check: bool = False,
    input_shapes: Sequence[str] | Mapping[str | None, Sequence[int]] | None = None,
    skip_optimizations: Sequence[str] | None = None,
    skip_fusion_patterns: Sequence[str] | None = None,
    save_as_external_data: bool = False,
    model_check_inputs: Sequence[str] | None = None,
    verbose: bool = False,
    **others: Any,
) -> onnx.ModelProto | None:
    """Optimizes a model as `foldproof.optimize` and `foldproof.optimize_file` do, called as onnxslim's function.

    Args:
        model: The model, or the path of its file. It is not changed.
        output_model: The file to write.
        model_check: Nothing hangs on it: the result is always verified.
        input_shapes: Binds the symbolic dims of inputs for good: such as `["x:1,3,224,224"]`, or by the input's name.
        skip_optimizations: The names of `OPTIMIZATIONS`, and `graph_fusion`.
        skip_fusion_patterns: The names of `FUSION_PATTERNS`.
        save_as_external_data: Put the weights into a file beside the model, where it is written.
        model_check_inputs: Sizes of the symbolic dims to verify at, such as `x:1,3,224,224`, or inputs to verify with,
            such as `x:data.npy`.
        verbose: Nothing hangs on it.
        others: The parameters in `WITHOUT_COUNTERPART`, which are refused where the result would be another one, and
            warned of otherwise.

    Returns:
        The optimized model; None where a file is written.

    Raises:
        UsageError: A parameter can't be followed, or makes no sense for this model.
        FoldproofError: See `foldproof.optimize_file`.
    """
    check("slim", others, WITHOUT_COUNTERPART)
    if isinstance(model, list):
        raise UsageError("only one model is optimized at a time", hint="Call it for each, or use `foldproof diff`")
    proto = model if isinstance(model, onnx.ModelProto) else model_file.read(model).proto
    assert proto is not None
    shapes = input_shapes if isinstance(input_shapes, Mapping) else dict(map(shape_in, input_shapes or ()))
    skipped = [name for each in skip_optimizations or () for name in _rules_of(each, OPTIMIZATIONS, ("graph_fusion",))]
    skipped += [name for each in skip_fusion_patterns or () for name in _rules_of(each, FUSION_PATTERNS)]
    given = [text for text in model_check_inputs or () if text.endswith(".npy")]
    sizes = dict(shape_in(text) for text in model_check_inputs or () if text not in given)
    with folder_of(dict(map(_array_in, given))) as feeds:
        options = Options(
            level=1 if "graph_fusion" in (skip_optimizations or ()) else 2,
            skip_rules=skipped,
            set_dim=sizes_of_dims(proto, shapes),
            bind={name: [size] for name, size in sizes_of_dims(proto, sizes).items()},
            feeds=feeds,
            external_data="always" if save_as_external_data else "auto",
        )
        optimizer = Optimizer(options)
        if output_model is not None:
            is_proto = isinstance(model, onnx.ModelProto)
            optimizer.run_file(io.BytesIO(proto.SerializeToString()) if is_proto else model, output_model)
            return None
        optimized = optimizer.run(model if isinstance(model, onnx.ModelProto) else onnx.load(model)).model
    assert isinstance(optimized, onnx.ModelProto)
    return optimized


def _array_in(text: str) -> tuple[str, np.ndarray]:
    """Reads `x:data.npy`: the input's name, and the array in the file."""
    name, colon, path = text.partition(":")
    if not colon:
        raise UsageError(f"{text!r} names no input", hint="Write it as x:data.npy")
    try:
        return name, np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} can't be read: {error}", hint="Name a file that numpy.save has written") from error


def _rules_of(name: str, known: Mapping[str, Sequence[str]], besides: Sequence[str] = ()) -> Sequence[str]:
    """The rules to leave out for a name of onnxslim's."""
    if name not in known and name not in besides:
        raise UsageError(
            f"there is nothing called {name!r} to leave out", hint=f"There are: {', '.join((*known, *besides))}"
        )
    return known.get(name, ())
