"""`simplify`, with the parameters of onnxsim's."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx

from foldproof import model_file
from foldproof.compat.given_inputs import folder_of
from foldproof.compat.rule_names import CONSTANT_FOLDING, CONV_BATCH_NORMALIZATION
from foldproof.compat.shapes import sizes_of_dims
from foldproof.compat.without_counterpart import WithoutCounterpart, check
from foldproof.errors import UnverifiedWarning, UsageError, VerificationError
from foldproof.options import Options
from foldproof.pipeline import Optimizer

_OWN_RULES = "Write a rule of your own, and name its module in Options.rules_from"
_QUIET = "--report and --measure of the command show what a run does"

WITHOUT_COUNTERPART = {
    "skipped_optimizers": WithoutCounterpart("its rules have other names, which `foldproof rules` lists", ()),
    "skip_shape_inference": WithoutCounterpart("nothing can be proven without it", False),
    "dynamic_input_shape": WithoutCounterpart("dims are symbolic as long as nothing binds them", False),
    "custom_lib": WithoutCounterpart("models with operators of its own are optimized, but can't be verified"),
    "unused_output": WithoutCounterpart("The outputs are the model's contract. Take them out of it before", (), True),
    "tensor_size_threshold": WithoutCounterpart("Options.max_growth says by how much a model may grow", "1.5GB"),
    "initializers_as_constants": WithoutCounterpart("List the initializers that may change as inputs", True, True),
    "import_custom_schemas": WithoutCounterpart("an unknown operator is left alone", True),
    "target_opset_version": WithoutCounterpart("Convert the model with onnx.version_converter first", None, True),
    "extra_optimizers": WithoutCounterpart(_OWN_RULES, (), True),
    "custom_rewriter": WithoutCounterpart(_OWN_RULES, None, True),
    "function_rewrite_rules": WithoutCounterpart(_OWN_RULES, (), True),
    "check_rtol": WithoutCounterpart("verification measures the noise of the original", 1e-4),
    "check_atol": WithoutCounterpart("verification measures the noise of the original", 1e-5),
    "input_fill": WithoutCounterpart("verification draws inputs of several kinds", "random"),
    "providers": WithoutCounterpart("constants are computed on the CPU"),
    "gemm_fusion_backend": WithoutCounterpart("Options.skip_rules can leave out matmul_add", "ort_cpu"),
    "profile": WithoutCounterpart(_QUIET),
    "ort_profile": WithoutCounterpart(_QUIET),
    "merge_ort_profile": WithoutCounterpart(_QUIET, False),
    "output_path": WithoutCounterpart("Write a file with foldproof.optimize_file", None, True),
    "external_data_threshold": WithoutCounterpart("foldproof.optimize_file has external_data", "100MB"),
    "range_opt": WithoutCounterpart("what is proven of values is always used", False),
    "certify": WithoutCounterpart("foldproof.optimize_file writes a certificate", None),
    "check_hazards": WithoutCounterpart("no model is looked through for NaN and infinity", False),
    "check_gradients": WithoutCounterpart("no model is looked through for gradients", False),
    "gradient_precision": WithoutCounterpart("no model is looked through for gradients", "fp32"),
}
"""The parameters that are accepted and not followed."""

Shapes = Mapping[str | None, Sequence[int]] | Sequence[int]
"""Shapes by the input's name; one shape alone is that of the only input."""


def simplify(
    model: onnx.ModelProto | str | os.PathLike[str],
    check_n: int = 0,
    perform_optimization: bool = True,
    skip_fuse_bn: bool = False,
    overwrite_input_shapes: Shapes | None = None,
    test_input_shapes: Shapes | None = None,
    skipped_optimizers: Sequence[str] | None = None,
    skip_constant_folding: bool = False,
    skip_shape_inference: bool = False,
    input_data: Mapping[str, np.ndarray] | None = None,
    dynamic_input_shape: bool = False,
    custom_lib: str | None = None,
    include_subgraph: bool = False,
    unused_output: Sequence[str] | None = None,
    tensor_size_threshold: str = "1.5GB",
    mutable_initializer: bool = False,
    *,
    inline_functions: bool = False,
    input_shapes: Shapes | None = None,
    **others: Any,
) -> tuple[onnx.ModelProto, bool]:
    """Optimizes a model as `foldproof.optimize` does, called as onnxsim's function.

    Args:
        model: The model, or the path of its file. It is not changed.
        check_n: Nothing hangs on it: the result is always verified.
        perform_optimization: Apply rules beyond those that fold shapes and clean up.
        skip_fuse_bn: Put no BatchNormalization, and no other factors and sums, into a Conv.
        overwrite_input_shapes: Binds the symbolic dims of inputs for good.
        test_input_shapes: Sizes of the symbolic dims to verify at.
        skip_constant_folding: Fold no constants.
        input_data: Inputs to verify with, besides the generated ones.
        include_subgraph: Nothing hangs on it: bodies are always optimized.
        mutable_initializer: In a model of IR version 3, take initializers for inputs with defaults. In later ones those
            that are listed as inputs always are.
        inline_functions: Put the bodies of the model's own functions where they are called.
        input_shapes: The same as `overwrite_input_shapes`.
        others: The parameters in `WITHOUT_COUNTERPART`: as those of that name above, they are refused where the result
            would be another one, and warned of otherwise.
        skipped_optimizers: See `others`.
        skip_shape_inference: See `others`.
        dynamic_input_shape: See `others`.
        custom_lib: See `others`.
        unused_output: See `others`.
        tensor_size_threshold: See `others`.

    Returns:
        The optimized model, and whether it is verified. Where the two differ by more than taking back rewrites
        explains, it is the original.

    Raises:
        UsageError: A parameter can't be followed, or makes no sense for this model.
        FoldproofError: See `foldproof.optimize`.
    """
    unfollowed = {
        "skipped_optimizers": skipped_optimizers,
        "skip_shape_inference": skip_shape_inference,
        "dynamic_input_shape": dynamic_input_shape,
        "custom_lib": custom_lib,
        "unused_output": unused_output,
        "tensor_size_threshold": tensor_size_threshold,
        **others,
    }
    check("simplify", unfollowed, WITHOUT_COUNTERPART)
    if overwrite_input_shapes is not None and input_shapes is not None:
        raise UsageError("input_shapes and overwrite_input_shapes mean the same", hint="Leave out the former")
    proto = model if isinstance(model, onnx.ModelProto) else _loaded(model)
    overwrite = _by_name(input_shapes if overwrite_input_shapes is None else overwrite_input_shapes)
    skipped = (
        *(CONV_BATCH_NORMALIZATION if skip_fuse_bn else ()),
        *(CONSTANT_FOLDING if skip_constant_folding else ()),
    )
    with folder_of(input_data or {}) as feeds:
        options = Options(
            level=2 if perform_optimization else 1,
            skip_rules=skipped,
            set_dim=sizes_of_dims(proto, overwrite),
            bind={name: [size] for name, size in sizes_of_dims(proto, _by_name(test_input_shapes)).items()},
            feeds=feeds,
            inline_functions=inline_functions,
            ir3_initializers_are_constants=not mutable_initializer,
        )
        try:
            result = Optimizer(options).run(proto)
        except VerificationError as error:
            warnings.warn(f"the original is given back: {error}", UnverifiedWarning, stacklevel=2)
            return proto, False
    assert isinstance(result.model, onnx.ModelProto)
    return result.model, result.report.verdict == "verified"


def _by_name(shapes: Shapes | None) -> Mapping[str | None, Sequence[int]]:
    return shapes if isinstance(shapes, Mapping) else {} if shapes is None else {None: shapes}


def _loaded(path: str | os.PathLike[str]) -> onnx.ModelProto:
    """The model in a file, with its external data."""
    source = model_file.read(path)  # a file that is no sound model is refused with its reason
    return onnx.load(path) if source.data_files or source.proto is None else source.proto
