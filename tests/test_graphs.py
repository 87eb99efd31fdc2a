"""What is asked about nodes, graphs and schemas."""

from __future__ import annotations

import onnx
import pytest

from foldproof.graphs import admitted_types


def test_the_admitted_types_are_those_that_onnx_tells() -> None:
    """But for maps, which its two answers spell in different ways."""
    for schema in onnx.defs.get_all_schemas_with_history():
        for formal in [*schema.inputs, *schema.outputs]:
            try:
                told = set(formal.types)
            except TypeError:
                pytest.skip("this version of onnx can't hand out the types of a parameter")
            admitted = admitted_types(schema, formal)
            if not any("map(" in each for each in told):
                assert admitted == told, (schema.name, schema.since_version, formal.name)
