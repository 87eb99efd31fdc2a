"""Families of operators, and the neighbourhoods in which exporters put them."""

from tests.fuzzing.families import (  # noqa: F401  an import registers the steps
    affine,
    blocks,
    casts,
    control,
    draws,
    elementwise,
    indexing,
    joining,
    layers,
    layout,
    logic,
    quantization,
    reductions,
    reshaping,
    shapes,
)
