"""Sharding specs (IR version 11): each names an input or an output of its node, whatever that is called now."""

from __future__ import annotations

import onnx
import onnx_ir as ir
import pytest

import foldproof
from foldproof import model_file
from tests.helpers import parse


@pytest.fixture
def sharded() -> onnx.ModelProto:
    """Each input and output of each node has a spec, for a device of its own."""
    model = parse(
        """g (float[N] x, float[N] z, bool c) => (float[N] y) {
            i = Identity (x)  a = my.op (i, z)
            y = If (c) <then_branch = t () => (float[N] o) { o = Add (i, a) }, else_branch = e () => (float[N] p) {
                p = Neg (z) }> }""",
        ir_version=11,
        imports='"my": 1',
    )
    model.configuration.add(name="two", num_devices=2)
    branches = [attribute.g.node for attribute in model.graph.node[-1].attribute]
    for node in (*model.graph.node, *branches[0], *branches[1]):
        configuration = node.device_configurations.add(configuration_id="two", pipeline_stage=3)
        for device, name in enumerate([*node.input, *node.output]):
            configuration.sharding_spec.add(tensor_name=name, device=[device])
    return model


def specs(node: onnx.NodeProto) -> list[tuple[str, list[int]]]:
    (configuration,) = node.device_configurations
    assert (configuration.configuration_id, configuration.pipeline_stage) == ("two", 3)
    return [(spec.tensor_name, list(spec.device)) for spec in configuration.sharding_spec]


def test_a_spec_follows_the_input_that_another_value_takes_the_place_of(sharded) -> None:
    result = foldproof.Optimizer(foldproof.Options(verify=False)).run(sharded).model
    custom, choice = result.graph.node
    assert specs(custom) == [("x", [0]), ("z", [1]), ("a", [2])]
    then, otherwise = (attribute.g.node[0] for attribute in choice.attribute)
    assert specs(then) == [("x", [0]), ("a", [1]), ("o", [2])]
    assert choice.device_configurations == sharded.graph.node[-1].device_configurations
    assert otherwise == sharded.graph.node[-1].attribute[1].g.node[0]


def test_a_tensor_has_one_spec(sharded) -> None:
    source = model_file.from_proto(sharded)
    _node(source.model, "a").replace_input_with(0, source.model.graph.inputs[1])
    custom = model_file.to_proto(source.model, source).graph.node[1]
    assert list(custom.input) == ["z", "z"]
    assert specs(custom) == [("z", [1]), ("a", [2])]


def test_the_spec_of_an_input_that_is_left_out_goes(sharded) -> None:
    source = model_file.from_proto(sharded)
    _node(source.model, "a").replace_input_with(0, None)
    assert specs(model_file.to_proto(source.model, source).graph.node[1]) == [("z", [1]), ("a", [2])]


def test_a_spec_that_never_named_anything_stays(sharded) -> None:
    sharded.graph.node[1].device_configurations[0].sharding_spec.add(tensor_name="elsewhere", device=[5])
    source = model_file.from_proto(sharded)
    _node(source.model, "a").replace_input_with(0, source.model.graph.inputs[0])
    custom = model_file.to_proto(source.model, source).graph.node[1]
    assert specs(custom) == [("x", [0]), ("z", [1]), ("a", [2]), ("elsewhere", [5])]


def _node(model: ir.Model, output: str) -> ir.Node:
    return next(node for node in model.graph if node.outputs[0].name == output)
