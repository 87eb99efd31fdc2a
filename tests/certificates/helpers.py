"""Certificates of small models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir

import foldproof
from foldproof.certificates.document import self_digest
from foldproof.certificates.recorder import Recorder
from foldproof.certificates.restating import Claims, restate
from foldproof.certificates.tensors import Tensors
from foldproof.facts import Facts
from foldproof.rewriting import Rewriter, Rule
from foldproof.rewriting.packs import installed


def certified(model: onnx.ModelProto, folder: Path, *rules: Rule, **options: Any) -> tuple[Path, Path, Path]:
    """Optimizes a model's file; the certificate, the input and the output."""
    paths = folder / "certificate.json", folder / "in.onnx", folder / "out.onnx"
    onnx.save(model, paths[1])
    chosen = foldproof.Options(certificate=paths[0], **options)
    foldproof.Optimizer(chosen, rules=[*rules, *installed()]).run_file(paths[1], paths[2], force=True)
    return paths


def changed(certificate: Path, change: Any) -> None:
    """Changes a certificate, and gives it the digest that it should have then."""
    document = json.loads(certificate.read_text())
    change(document["predicate"])
    document["predicate"]["digest"]["sha256"] = self_digest(document)
    certificate.write_text(json.dumps(document))


def restated(model: onnx.ModelProto, *rules: Rule) -> tuple[Claims, Recorder, Tensors]:
    """The rewrites of rules (of all that are installed where none is given), restated."""
    copy = ir.from_proto(model)
    facts = Facts(copy)
    recorder, tensors = Recorder(copy, facts), Tensors(copy)
    chosen = rules or [rule for rule in installed() if not rule.on_request]
    rewriter = Rewriter(copy, facts, chosen, listeners=[recorder])
    rewriter.run()
    tensors.add_output(copy)
    return restate(rewriter.ledger.entries, recorder, tensors, int(model.ir_version)), recorder, tensors
