"""The registry of reference kernels: which function computes which operator, and from which version on.

A kernel is the operator's definition on numpy arrays. It is registered for the version that introduced its
signature and serves all later versions until a newer one takes over; the types that each version admits are
read from the operator's own schema, so no list of types is kept here.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from foldproof.graphs import admitted_types, tensor_type

KernelFunction = Callable[..., np.ndarray]

_registry: dict[tuple[str, str], dict[int, KernelFunction]] = {}


@dataclasses.dataclass(frozen=True)
class Kernel:
    """A reference kernel at one version of its operator.

    Attributes:
        op_type: The operator's name.
        version: The operator's own version (`since_version`) that this stands for, such as 13 for `Size` at
            opset 17.
        domain: The operator's domain; `""` is ai.onnx.
        function: The registered function.
    """

    op_type: str
    version: int
    domain: str
    function: KernelFunction

    def __call__(self, *inputs: Any, **attributes: Any) -> np.ndarray:
        """Compute the operator's output.

        Args:
            inputs: The inputs in order, as numpy arrays.
            attributes: The attributes by name. Those left out take the operator's defaults.

        Raises:
            TypeError: An input or attribute that this version of the operator lacks.
        """
        return self.function(*inputs, **attributes)

    def admits(self, dtype: ir.DataType) -> bool:
        """Whether this version of the operator takes a first input of `dtype`; without inputs, gives one."""
        return dtype in _admitted(self.op_type, self.version, self.domain)


def kernel(op_type: str, since: int, domain: str = "") -> Callable[[KernelFunction], KernelFunction]:
    """Register the decorated function as reference kernel of `op_type`, from version `since` on.

    Args:
        op_type: The operator's name.
        since: The first version of the operator that the function computes. A function registered for a
            later version takes over from there.
        domain: The operator's domain; `""` is ai.onnx.
    """

    def register(function: KernelFunction) -> KernelFunction:
        versions = _registry.setdefault((domain, op_type), {})
        if since in versions:
            raise ValueError(f"two kernels for {domain}::{op_type} since {since}")
        versions[since] = function
        return function

    return register


@functools.cache
def lookup(op_type: str, version: int, domain: str = "") -> Kernel | None:
    """The kernel that computes an operator: the newest one of that version or an older one.

    Args:
        op_type: The operator's name.
        version: An opset version (or an operator's own version: both find the same).
        domain: The operator's domain; `""` and `"ai.onnx"` are the same.
    """
    domain = "" if domain == "ai.onnx" else domain
    versions = _registry.get((domain, op_type), {})
    since = max((each for each in versions if each <= version), default=None)
    if since is None:
        return None
    try:
        own_version = onnx.defs.get_schema(op_type, version, domain).since_version
    except onnx.defs.SchemaError:
        own_version = since
    return Kernel(op_type, own_version, domain, versions[since])


@functools.cache
def _admitted(op_type: str, version: int, domain: str) -> frozenset[ir.DataType]:
    try:
        schema = onnx.defs.get_schema(op_type, version, domain)
    except onnx.defs.SchemaError:
        return frozenset()
    described = schema.inputs[0] if schema.inputs else schema.outputs[0]
    admitted = admitted_types(schema, described)
    return frozenset(dtype for dtype in ir.DataType if tensor_type(dtype) in admitted)
