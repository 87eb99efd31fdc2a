"""The rules that do what a part of another tool does, so that both can be left out alike."""

from __future__ import annotations

CONSTANT_FOLDING = ("constant_folding", "known_elements", "static_shape", "static_size")
CONV_BATCH_NORMALIZATION = ("affine_into_conv",)
