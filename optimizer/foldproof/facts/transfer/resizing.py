"""Resize, Upsample, DepthToSpace and SpaceToDepth: images made larger and smaller."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from foldproof.facts.dim import DimLike, exact_div, floor_div
from foldproof.facts.fact import Element, Fact, exact, tensor_fact
from foldproof.facts.registry import NodeView, infers
from foldproof.facts.transfer._moves import axes_in, natural, parameter, quotient

_EASY = 1024
"""A scale p/q with p and q up to this is exact in float, and so is its product with a dim up to 2^14 at least."""


@infers("Resize")
def resize(node: NodeView) -> Fact | None:
    """Resize-10..19: the given sizes, or floor(dim * scale)."""
    data = node.input(0)
    if data.shape is None:
        return tensor_fact(data.dtype)
    rank = len(data.shape)
    named = axes_in(node.attribute("axes", range(rank)), rank)
    if named is None:
        return None
    dims = [data.shape[axis] for axis in named]
    scales = parameter(node, "scales", 1 if node.version < 11 else 2)
    sizes = parameter(node, "sizes", 3) if node.version > 10 else None
    found: Sequence[DimLike | None] = [None] * len(dims)
    if node.has_input(3) and node.version > 10 and not _is_given(scales):
        if sizes is not None and len(sizes) == len(dims):
            found = _sized(dims, sizes, node.attribute("keep_aspect_ratio_policy", "stretch"))
    # With tf_crop_and_resize, the specification multiplies by the part that is cropped; not all runtimes do.
    elif (
        scales is not None
        and len(scales) == len(dims)
        and node.attribute("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize"
    ):
        found = [scaled(dim, scale) for dim, scale in zip(dims, scales, strict=True)]
    shape = list(data.shape)
    for axis, dim in zip(named, found, strict=True):
        shape[axis] = node.fresh(axis) if dim is None else dim
    return tensor_fact(data.dtype, shape)


def _is_given(scales: tuple[Element, ...] | None) -> bool:
    """Whether scales are given: they may be left out, or empty."""
    return scales is not None and len(scales) > 0


def _sized(dims: Sequence[DimLike], sizes: Sequence[Element], policy: str) -> list[DimLike | None]:
    """The dims for given sizes: as they are, or with the ratio between the dims kept."""
    if policy == "stretch":
        return [natural(size) for size in sizes]
    known = [
        (dim, size)
        for dim, size in zip(dims, sizes, strict=True)
        if isinstance(dim, int) and isinstance(size, int) and dim > 0
    ]
    if len(known) != len(dims):
        return [None] * len(dims)
    ratios = [Fraction(size, dim) for dim, size in known]
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    return [_rounded(scale * dim) for dim, _ in known]


def _rounded(number: Fraction) -> int | None:
    """The nearest integer; None where float arithmetic may see it as a tie."""
    return None if abs(number % 1 - Fraction(1, 2)) < Fraction(1, 10000) else round(number)


def scaled(dim: DimLike, scale: Element) -> DimLike | None:
    """floor(dim * scale), for a scale in float; None where it is not proven."""
    if not isinstance(scale, (int, Fraction)) or scale < 0:
        return None
    if isinstance(dim, int):
        with np.errstate(over="ignore"):
            product = np.float32(dim) * np.float32(float(scale))
        if not np.isfinite(product):
            return None
        # The specification doesn't say in which precision: claimed only where it makes no difference.
        return int(product) if int(product) == dim * scale // 1 else None
    ratio = Fraction(scale)
    if ratio.numerator <= _EASY and ratio.denominator <= _EASY:
        return floor_div(dim * ratio.numerator, ratio.denominator)
    # A scale like 1/3, rounded up to a float: a dim that is divisible gives the quotient in any precision.
    near = ratio.limit_denominator(_EASY)
    if near > ratio or np.float32(float(near)) != np.float32(float(ratio)):
        return None
    return exact_div(dim * near.numerator, near.denominator)


@infers("Upsample")
def upsample(node: NodeView) -> Fact | None:
    """Upsample-1..10: floor(dim * scale)."""
    data = node.input(0)
    if data.shape is None:
        return tensor_fact(data.dtype)
    if node.version < 7:
        height, width = exact(node.attribute("height_scale", 1)), exact(node.attribute("width_scale", 1))
        scales: Sequence[Element] | None = (1, 1, height, width)
    elif node.version < 9:
        scales = [exact(scale) for scale in node.attribute("scales", ())]
    else:
        scales = parameter(node, "scales", 1)
    if scales is None:
        scales = [None] * len(data.shape)
    if len(scales) != len(data.shape):
        return None
    dims = [scaled(dim, scale) for dim, scale in zip(data.shape, scales, strict=True)]
    shape = [node.fresh(axis) if dim is None else dim for axis, dim in enumerate(dims)]
    return tensor_fact(data.dtype, shape)


@infers("DepthToSpace")
def depth_to_space(node: NodeView) -> Fact | None:
    """DepthToSpace-1..28: [N, C/b^2, H*b, W*b]."""
    data, block = node.input(0), node.attribute("blocksize", 0)
    if data.shape is None:
        return tensor_fact(data.dtype, node.fresh_shape(4))
    if len(data.shape) != 4 or block < 1:
        return None
    batch, depth, height, width = data.shape
    channels = quotient(depth, block * block)
    return tensor_fact(
        data.dtype, (batch, node.fresh(1) if channels is None else channels, height * block, width * block)
    )


@infers("SpaceToDepth")
def space_to_depth(node: NodeView) -> Fact | None:
    """SpaceToDepth-1..28: [N, C*b^2, H/b, W/b]."""
    data, block = node.input(0), node.attribute("blocksize", 0)
    if data.shape is None:
        return tensor_fact(data.dtype, node.fresh_shape(4))
    if len(data.shape) != 4 or block < 1:
        return None
    batch, depth, *spatial = data.shape
    sizes = [quotient(dim, block) for dim in spatial]
    return tensor_fact(
        data.dtype,
        (batch, depth * block * block, *(node.fresh(k + 2) if d is None else d for k, d in enumerate(sizes))),
    )
