"""Where new nodes come from: what nodes tell of their source stays with what takes their place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import onnx_ir as ir


def hand_down(origins: Sequence[ir.Node], nodes: Iterable[ir.Node]) -> None:
    """Gives new nodes the metadata and the doc string of the nodes that they replace.

    Of each key the first value counts that is not empty, as in onnxscript: the exporter's hints of one layer
    (`pkg.torch.onnx.*`) are not mixed with those of another.

    Args:
        origins: The nodes that go, the one at which the rewrite happens first.
        nodes: The new nodes. What they tell themselves stays.
    """
    merged: dict[str, str] = {}
    doc_string = next((origin.doc_string for origin in origins if origin.doc_string), None)
    for origin in origins:
        merged.update((key, value) for key, value in origin.metadata_props.items() if value and not merged.get(key))
    for node in nodes:
        node.metadata_props.update((key, value) for key, value in merged.items() if not node.metadata_props.get(key))
        node.doc_string = node.doc_string or doc_string


def orphans(values: Iterable[ir.Value | None]) -> list[ir.Node]:
    """The nodes that make values which nothing reads any more, and those above that only such ones read.

    Args:
        values: Values that have just lost a reader.

    Returns:
        The nodes, the nearest first.
    """
    found: dict[ir.Node, None] = {}
    queue = [value.producer() for value in values if value is not None]
    for node in queue:  # it grows meanwhile
        if node is not None and node not in found and not _is_read(node, found):
            found[node] = None
            queue.extend(value.producer() for value in node.inputs if value is not None)
    return list(found)


def _is_read(node: ir.Node, found: dict[ir.Node, None]) -> bool:
    return any(
        output.is_graph_output() or any(use.node not in found for use in output.uses()) for output in node.outputs
    )
