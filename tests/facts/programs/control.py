"""Bodies: If, Loop and Scan. And sequences."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper

from tests.facts.programs.scalars import Scalars


class Control(Scalars):
    """Steps with bodies or sequences."""

    def add_control(self) -> None:
        """One of them."""
        self.rng.choice((self._branches, self._loop, self._scan, self._sequence))()

    def _branches(self) -> None:
        branches = []
        for branch in ("then", "else"):
            inside = f"b{len(self.nodes)}_{branch}"
            node = helper.make_node(self.rng.choice(("Identity", "Neg", "Abs")), [self.scalar()], [inside])
            output = helper.make_tensor_value_info(inside, TensorProto.INT64, [])
            branches.append(helper.make_graph([node], branch, [], [output]))
        condition = self.condition()
        self.scalars.append(self.op("If", condition, then_branch=branches[0], else_branch=branches[1]))

    def _loop(self) -> None:
        """Carries a tensor and a number, gathers another."""
        name, rank = self.tensor(1)
        prefix = f"l{len(self.nodes)}"
        grows = self.rng.random() < 0.3
        following = [f"{prefix}_x", name] if grows else [f"{prefix}_x"]
        gathered = name if grows else self.rng.choice((name, f"{prefix}_x"))
        body_nodes = [
            helper.make_node("Identity", [f"{prefix}_go_in"], [f"{prefix}_go"]),
            helper.make_node("Concat", following, [f"{prefix}_next"], axis=0),
            helper.make_node("Add", [f"{prefix}_n", self.scalar()], [f"{prefix}_sum"]),
            helper.make_node("Abs", [gathered], [f"{prefix}_each"]),
        ]
        unknown = [None] * rank
        body = helper.make_graph(
            body_nodes,
            prefix,
            [
                helper.make_tensor_value_info(f"{prefix}_i", TensorProto.INT64, []),
                helper.make_tensor_value_info(f"{prefix}_go_in", TensorProto.BOOL, []),
                helper.make_tensor_value_info(f"{prefix}_x", TensorProto.FLOAT, unknown),
                helper.make_tensor_value_info(f"{prefix}_n", TensorProto.INT64, []),
            ],
            [
                helper.make_tensor_value_info(f"{prefix}_go", TensorProto.BOOL, []),
                helper.make_tensor_value_info(f"{prefix}_next", TensorProto.FLOAT, unknown),
                helper.make_tensor_value_info(f"{prefix}_sum", TensorProto.INT64, []),
                helper.make_tensor_value_info(f"{prefix}_each", TensorProto.FLOAT, unknown),
            ],
        )
        trips = self.clipped(self.number(), 0, 3)
        go = self.const(True, np.bool_) if self.rng.random() < 0.7 else ""
        carried, number, each = self.node("Loop", [trips, go, name, self.number()], 3, body=body)
        self.tensors.append((carried, rank))
        self.scalars.append(number)
        if rank < 4:
            self.tensors.append((each, rank + 1))

    def _scan(self) -> None:
        """Sums up over an axis, and gathers each slice. No slice is empty: onnxruntime wouldn't survive that."""
        rank = 2
        flat = self.op("Reshape", self.tensor(1)[0], self.const([-1]))
        axis = self.rng.randrange(rank)
        name = self.op("Unsqueeze", flat, self.const([1 - axis]))
        state = self.op("ReduceSum", name, self.const([axis]), keepdims=0)
        prefix = f"s{len(self.nodes)}"
        unknown = [None] * (rank - 1)
        infos = {
            end: helper.make_tensor_value_info(f"{prefix}_{end}", TensorProto.FLOAT, unknown)
            for end in ("state", "slice", "sum", "out")
        }
        body = helper.make_graph(
            [
                helper.make_node("Add", [f"{prefix}_state", f"{prefix}_slice"], [f"{prefix}_sum"]),
                helper.make_node("Neg", [f"{prefix}_slice"], [f"{prefix}_out"]),
            ],
            prefix,
            [infos["state"], infos["slice"]],
            [infos["sum"], infos["out"]],
        )
        total, each = self.node(
            "Scan",
            [state, name],
            2,
            body=body,
            num_scan_inputs=1,
            scan_input_axes=[axis],
            scan_output_axes=[self.rng.randrange(rank)],
            scan_input_directions=[self.rng.randint(0, 1)],
        )
        self.tensors += [(total, rank - 1), (each, rank)]

    def _sequence(self) -> None:
        name, rank = self.tensor(1)
        axis = self.axis(rank)
        parts = self.op("SplitToSequence", name, self.const(self.rng.randint(1, 2)), axis=axis)
        if self.rng.random() < 0.5:
            self.tensors.append((self.op("ConcatFromSequence", parts, axis=axis), rank))
        else:
            self.tensors.append((self.op("SequenceAt", parts, self.const(0)), rank))
