from __future__ import annotations

import base64
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from click.testing import CliRunner

import foldproof
from foldproof.certificates.checker import check
from foldproof.certificates.document import claim_to_dict
from foldproof.certificates.sides import Sides
from foldproof.cli import main
from foldproof.errors import CertificateError, ModelError
from foldproof.rewriting import Forward, rule
from tests.certificates.helpers import certified, changed, restated
from tests.helpers import parse

BODY = "g (float[N,4] x) => (float[N,4] y, int64 s) <float[4] k = {1, 2, 3, 4}> { a = Neg(x) b = Identity(a) c = Relu(b) d = Add(c, k) y = Neg(d) e = Shape(x) f = Size(e) s = Add(f, f) }"


@rule("Relu", exact=True)
def no_relu(node: ir.Node, facts: foldproof.facts.Facts) -> Forward:
    """Relu(x) = x, which is wrong."""
    return Forward(node.inputs[0])


def test_the_checker_takes_nothing_of_what_it_checks() -> None:
    program = (
        "import sys, foldproof.certificates.checker\n"
        "print([name for name in sys.modules if name.startswith(('foldproof.rewriting', 'foldproof.folding', "
        "'foldproof.facts', 'foldproof_rules'))])"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_a_certificate_holds(tmp_path: Path) -> None:
    found = check(*certified(parse(BODY), tmp_path))
    assert found.problems == ()
    assert found.holds
    assert found.files == 2
    assert found.entries["claim"] >= 2
    assert found.claims >= 1
    assert found.instances >= found.claims
    assert found.not_restated == ()
    assert found.verification is not None
    assert found.verification.status == "same"
    assert found.notes == ()


@pytest.mark.parametrize("which", [1, 2])
def test_a_changed_byte_of_a_model_is_found_and_named(tmp_path: Path, which: int) -> None:
    paths = certified(parse(BODY), tmp_path)
    content = bytearray(paths[which].read_bytes())
    content[len(content) // 2] ^= 1
    paths[which].write_bytes(content)
    (problem,) = check(*paths).problems
    assert problem.startswith(f"{paths[which]} is not the file {paths[which].name!r} of the certificate")


@pytest.mark.parametrize("which", ["in.data", "out.onnx.data"])
def test_a_changed_byte_of_a_data_file_is_found_and_named(tmp_path: Path, which: str) -> None:
    model = parse("g (float[N,32] x) => (float[N,32] y) { a = Identity(x) y = MatMul(a, w) }")
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.eye(32, dtype=np.float32), "w"))
    onnx.save(model, tmp_path / "in.onnx", save_as_external_data=True, location="in.data", size_threshold=0)
    certificate, output = tmp_path / "certificate.json", tmp_path / "out.onnx"
    foldproof.optimize_file(tmp_path / "in.onnx", output, certificate=certificate)
    found = check(certificate, tmp_path / "in.onnx", output)
    assert (found.problems, found.files) == ((), 4)
    content = bytearray((tmp_path / which).read_bytes())
    content[7] ^= 1
    (tmp_path / which).write_bytes(content)
    (problem,) = check(certificate, tmp_path / "in.onnx", output).problems
    assert which in problem
    (tmp_path / which).unlink()
    (problem,) = check(certificate, tmp_path / "in.onnx", output).problems
    assert problem == f"{tmp_path / which} is not there"


@pytest.mark.parametrize("which", ["in.onnx", "out.onnx"])
def test_a_model_that_is_not_there_is_an_error(tmp_path: Path, which: str) -> None:
    certificate, source, output = certified(parse(BODY), tmp_path)
    {"in.onnx": source, "out.onnx": output}[which].unlink()
    with pytest.raises(ModelError, match="there is no file") as caught:
        check(certificate, source, output)
    assert caught.value.exit_status == 3


def test_any_changed_byte_of_a_certificate_is_found(tmp_path: Path) -> None:
    certificate, source, output = certified(parse(BODY), tmp_path)
    text = certificate.read_bytes()
    for place in range(40, len(text), len(text) // 40):
        if text[place : place + 1].isspace():
            continue  # what stands between the fields means nothing
        other = bytearray(text)
        other[place] ^= 1
        certificate.write_bytes(other)
        with pytest.raises(CertificateError):
            check(certificate, source, output)


def test_a_claim_of_a_wrong_rule_is_refuted_though_all_digests_are_right(tmp_path: Path) -> None:
    paths = certified(parse(BODY), tmp_path)
    wrong = parse("g (float[N,4] x) => (float[N,4] y) { a = Neg(x) b = Relu(a) y = Neg(b) }")
    _, recorder, tensors = restated(wrong, no_relu)
    claim = Sides(recorder.snapshots[0], 0, tensors, 10, stores=False).claim()

    def replace(predicate: dict[str, Any]) -> None:
        predicate["claims"][0] = claim_to_dict(claim)

    changed(paths[0], replace)
    (problem,) = check(*paths).problems
    assert problem.startswith("claim 0 (rewrite ")
    assert "does not hold: at " in problem


@pytest.mark.parametrize("field", ["before", "after"])
def test_a_claim_that_can_not_be_run_does_not_pass(tmp_path: Path, field: str) -> None:
    paths = certified(parse(BODY), tmp_path)

    def spoil(predicate: dict[str, Any]) -> None:
        predicate["claims"][0][field] = base64.b64encode(b"no model").decode()

    changed(paths[0], spoil)
    assert any(each.startswith("claim 0 ") for each in check(*paths).problems)


def test_a_claim_about_values_that_can_not_be_does_not_pass(tmp_path: Path) -> None:
    paths = certified(parse(BODY), tmp_path)

    def spoil(predicate: dict[str, Any]) -> None:
        for claim in predicate["claims"]:
            for known in claim["boundary"]:
                known["dims"] = ["0 - 1"]

    changed(paths[0], spoil)
    assert any("can not be checked: no instance of it can be made" in each for each in check(*paths).problems)


def test_models_that_differ_are_found_whatever_the_claims_say(tmp_path: Path) -> None:
    paths = certified(parse(BODY), tmp_path, no_relu, verify=False)
    found = check(*paths)
    assert any(each.startswith("the models differ at N=1") for each in found.problems)
    assert any("no_relu" in each for each in found.not_restated)
    assert any("'not asked'" in each for each in found.notes)


def test_a_constant_that_a_claim_names_has_to_be_there(tmp_path: Path) -> None:
    model = parse("g (float[N,32] x) => (float[N,32] y) { t = Transpose(w) y = MatMul(x, t) }")
    weight = np.random.default_rng(0).random((32, 32), np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    paths = certified(model, tmp_path)
    claims = json.loads(paths[0].read_text())["predicate"]["claims"]
    assert {each["file"] for claim in claims for each in claim["stored"]} == {"input", "output"}
    assert check(*paths).problems == ()

    def spoil(predicate: dict[str, Any]) -> None:
        for claim in predicate["claims"]:
            for stored in claim["stored"]:
                stored["sha256"] = "0" * 64

    changed(paths[0], spoil)
    assert any("rests on a constant" in each for each in check(*paths).problems)


def test_bound_dims_are_bound_again(tmp_path: Path) -> None:
    found = check(*certified(parse(BODY), tmp_path, set_dim={"N": 6}))
    assert found.problems == ()
    assert found.verification is not None
    assert {run.binding["N"] for run in found.verification.runs} == {6}


def test_the_sizes_that_a_person_verified_at_are_run_again(tmp_path: Path) -> None:
    found = check(*certified(parse(BODY), tmp_path, bind={"N": [5, 9]}))
    assert found.problems == ()
    assert found.verification is not None
    assert {run.binding["N"] for run in found.verification.runs} == {5, 9}


def test_the_persons_inputs_are_recorded_and_checked(tmp_path: Path) -> None:
    feeds = tmp_path / "feeds"
    feeds.mkdir()
    np.savez(feeds / "a.npz", x=np.ones((3, 4), np.float32))
    paths = certified(parse(BODY), tmp_path, feeds=feeds)
    assert any("1 files of inputs" in each for each in check(*paths).notes)
    assert check(*paths, feeds=feeds).notes == ()
    np.savez(feeds / "a.npz", x=np.zeros((3, 4), np.float32))
    (problem,) = check(*paths, feeds=feeds).problems
    assert "a.npz" in problem


def test_other_versions_are_a_note(tmp_path: Path) -> None:
    paths = certified(parse(BODY), tmp_path)
    changed(paths[0], lambda predicate: predicate["packages"].update(onnx="0.1"))
    found = check(*paths)
    assert found.holds
    assert any(each.endswith("and was 0.1") for each in found.notes)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is no JSON"),
        ("[]", "the certificate is no object"),
        ('{"_type": "https://in-toto.io/Statement/v0.1"}', "'_type'|_type"),
        ('{"_type": "https://in-toto.io/Statement/v1", "predicateType": "urn:foldproof:optimization:99"}', "optimization:99"),
        ('{"_type": "https://in-toto.io/Statement/v1", "predicateType": "urn:foldproof:optimization:1"}', "'predicate'"),
    ],
)  # fmt: skip
def test_what_is_no_certificate_is_refused(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "certificate.json"
    path.write_text(content)
    with pytest.raises(CertificateError, match=words):
        check(path, path, path)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("number", 7), ("kind", "tolerant"), ("kind", "proven"), ("claim", 99), ("claim", -1), ("claim", True),
        ("exact", None), ("rule", 3),
    ],
)  # fmt: skip
def test_an_entry_that_contradicts_itself_is_refused(tmp_path: Path, field: str, value: object) -> None:
    paths = certified(parse(BODY), tmp_path)

    def spoil(predicate: dict[str, Any]) -> None:
        entry = next(each for each in predicate["ledger"] if each["kind"] == "claim")
        entry[field] = value

    changed(paths[0], spoil)
    with pytest.raises(CertificateError):
        check(*paths)


def test_the_command_tells_and_has_an_exit_status(tmp_path: Path) -> None:
    certificate, source, output = map(str, certified(parse(BODY), tmp_path))
    done = CliRunner().invoke(main, ["check", certificate, source, output])
    assert (done.exit_code, done.output.splitlines()[-1]) == (0, "the certificate holds")
    done = CliRunner().invoke(main, ["check", certificate, source, output, "--json", "-"])
    assert json.loads(done.output)["holds"] is True
    done = CliRunner().invoke(main, ["check", certificate, output, source])
    assert (done.exit_code, done.output.splitlines()[-1]) == (1, "the certificate does not hold")
    assert CliRunner().invoke(main, ["check", certificate, source]).exit_code == 2
    assert CliRunner().invoke(main, ["check", source, source, output]).exit_code == 3
    assert CliRunner().invoke(main, ["check", certificate, source, output, "--json", source]).exit_code == 2
