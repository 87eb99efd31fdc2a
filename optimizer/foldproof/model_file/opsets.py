"""Opset imports: a domain may be spelled in two ways, listed twice, or implied."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import onnx

from foldproof.validation import OPSET_IMPLIED_BELOW_IR, canonical_domain


def effective_imports(entries: Iterable[onnx.OperatorSetIdProto], ir_version: int) -> dict[str, int]:
    """The opset of each domain: of several entries for one domain the last counts, as onnxruntime has it.

    Args:
        entries: The imports as listed.
        ir_version: The model's IR version: below 3, no imports at all mean opset 1 of the default domain.
    """
    imports = {canonical_domain(entry.domain): entry.version for entry in entries}
    return imports if imports or ir_version >= OPSET_IMPLIED_BELOW_IR else {"": 1}


def restore_imports(
    target: Any, entries: Iterable[onnx.OperatorSetIdProto], imports: Mapping[str, int], ir_version: int
) -> None:
    """Fills the repeated field `target` with `entries` as they stand, and what `imports` has beyond them.

    Args:
        target: The empty `opset_import` of a model or function.
        entries: The original's imports.
        imports: The opset of each domain now. A changed version replaces all entries of its domain; a domain
            that is no longer imported goes.
        ir_version: The model's IR version.
    """
    before = effective_imports(entries, ir_version)
    written = set()
    for entry in entries:
        domain = canonical_domain(entry.domain)
        version = imports.get(domain)
        if version == before[domain]:
            target.add().CopyFrom(entry)
        elif version is not None and domain not in written:
            target.add(domain=entry.domain, version=version)
        written.add(domain)
    for domain, version in imports.items():
        if domain not in written and before.get(domain) != version:
            target.add(domain=domain, version=version)
