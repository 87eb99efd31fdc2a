"""Operators that sample images at computed places, and that find and read regions of them."""

from __future__ import annotations

import onnx_ir as ir

from foldproof.facts.dim import Dim, DimLike, at_least, product
from foldproof.facts.fact import Fact, tensor_fact
from foldproof.facts.registry import NodeView, infers
from foldproof.facts.transfer._moves import natural, parameter, quotient


def _dim(fact: Fact, axis: int) -> DimLike | None:
    """One dim of a tensor, None where it is not known."""
    return fact.shape[axis] if fact.shape is not None and axis < len(fact.shape) else None


def _shape(node: NodeView, *dims: DimLike | None) -> list[DimLike]:
    """The dims, with a new symbol for each that is None."""
    return [node.fresh(axis) if dim is None else dim for axis, dim in enumerate(dims)]


@infers("GridSample")
def grid_sample(node: NodeView) -> Fact | None:
    """GridSample-16..22: batch and channels of the image, and the grid's dims between its first and last."""
    image, grid = node.input(0), node.input(1)
    rank = image.rank if image.rank is not None else grid.rank
    if rank is None:
        return tensor_fact(image.dtype)
    if rank < 3 or (grid.rank is not None and grid.rank != rank):
        return None
    batch = _dim(image, 0)
    if not isinstance(batch, int) and _dim(grid, 0) is not None:
        batch = _dim(grid, 0) if batch is None or isinstance(_dim(grid, 0), int) else batch
    places = (_dim(grid, axis) for axis in range(1, rank - 1))
    return tensor_fact(image.dtype, _shape(node, batch, _dim(image, 1), *places))


@infers("AffineGrid")
def affine_grid(node: NodeView) -> Fact | None:
    """AffineGrid-20: [N, H, W, 2] or [N, D, H, W, 3] for a size of [N, C, H, W] or [N, C, D, H, W]."""
    theta, size = node.input(0), parameter(node, "size", 1)
    if size is None:
        rows = _dim(theta, 1)
        return tensor_fact(theta.dtype, node.fresh_shape(rows + 2) if isinstance(rows, int) else None)
    if len(size) not in (4, 5):
        return None
    batch, _, *spatial = (dim if isinstance(dim, (int, Dim)) and at_least(dim, 0) else None for dim in size)
    return tensor_fact(theta.dtype, _shape(node, batch, *spatial, len(spatial)))


@infers("Col2Im")
def col2im(node: NodeView) -> Fact | None:
    """Col2Im-18: [N, C, *image_shape], where the input is [N, C * blocks, L]."""
    data = node.input(0)
    image, block = parameter(node, "image_shape", 1), parameter(node, "block_shape", 2)
    if image is None:
        count = None if block is None else len(block)
        return tensor_fact(data.dtype, None if count is None else node.fresh_shape(count + 2))
    channels, size = _dim(data, 1), None
    if block is not None:
        sides = [natural(side) for side in block]
        size = product(side for side in sides if side is not None) if None not in sides else None
    depth = None if channels is None or size is None else quotient(channels, size)
    return tensor_fact(data.dtype, _shape(node, _dim(data, 0), depth, *(natural(dim) for dim in image)))


@infers("RoiAlign")
def roi_align(node: NodeView) -> Fact:
    """RoiAlign-10..22: [number of regions, C, output_height, output_width]."""
    data, regions = node.input(0), node.input(1)
    count = _dim(regions, 0)
    count = _dim(node.input(2), 0) if count is None else count
    size = (node.attribute("output_height", 1), node.attribute("output_width", 1))
    return tensor_fact(data.dtype, _shape(node, count, _dim(data, 1), *size))


@infers("MaxRoiPool")
def max_roi_pool(node: NodeView) -> Fact | None:
    """MaxRoiPool-1..22: [number of regions, C, *pooled_shape]."""
    data, regions = node.input(0), node.input(1)
    size = node.attribute("pooled_shape")
    if size is None or len(size) != 2:
        return None
    return tensor_fact(data.dtype, _shape(node, _dim(regions, 0), _dim(data, 1), *size))


@infers("NonMaxSuppression")
def non_max_suppression(node: NodeView) -> Fact:
    """NonMaxSuppression-10..11: [number of boxes chosen, 3]."""
    return tensor_fact(ir.DataType.INT64, (node.fresh(0), 3))


@infers("ImageDecoder")
def image_decoder(node: NodeView) -> Fact:
    """ImageDecoder-20: [height, width, channels]; what can't be decoded gives an empty matrix."""
    return tensor_fact(ir.DataType.UINT8, node.fresh_shape(3))


@infers("DeformConv")
def deform_conv(node: NodeView) -> Fact | None:
    """DeformConv-19..22: [N, output channels, *spatial dims of the offsets]."""
    data, weight, offset = node.input(0), node.input(1), node.input(2)
    rank = next((fact.rank for fact in (data, weight, offset) if fact.rank is not None), None)
    if rank is None:
        return tensor_fact(data.dtype)
    return tensor_fact(
        data.dtype, _shape(node, _dim(data, 0), _dim(weight, 0), *(_dim(offset, k) for k in range(2, rank)))
    )
