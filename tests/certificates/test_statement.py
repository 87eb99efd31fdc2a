from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import jsonschema
import onnx
import pytest

import foldproof
from tests.certificates.helpers import certified
from tests.helpers import parse

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "certificate.schema.json").read_text())
BODY = "g (float[N,4] x) => (float[N,4] y, int64 s) { a = Identity(x) y = Relu(a) z = Shape(x) s = Size(z) }"


def written(folder: Path, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(certified(parse(BODY), folder, **options)[0].read_text())
    return found


def test_it_is_an_in_toto_statement_about_the_files_that_were_written(tmp_path: Path) -> None:
    document = written(tmp_path)
    assert document["_type"] == "https://in-toto.io/Statement/v1"
    for files, name in ((document["subject"], "out.onnx"), (document["predicate"]["input"], "in.onnx")):
        digest = hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()
        assert files == [{"name": name, "digest": {"sha256": digest}}]


def test_it_says_what_was_done_and_how_it_was_verified(tmp_path: Path) -> None:
    predicate = written(tmp_path, seed=5)["predicate"]
    assert predicate["verdict"] == "verified"
    assert predicate["tool"] == {"name": "foldproof", "version": foldproof.__version__}
    assert predicate["packages"]["onnx"] == onnx.__version__
    assert predicate["verification"]["feeds"]["seed"] == predicate["options"]["seed"] == 5
    assert {run["binding"]["N"] for run in predicate["verification"]["runs"]} > {1}
    entry = next(each for each in predicate["ledger"] if each["place"] == "s")
    assert entry["equation"]
    assert entry["kind"] == "claim"


def test_it_is_the_same_but_for_the_time(tmp_path: Path) -> None:
    first, second = written(tmp_path), written(tmp_path)
    for each in (first, second):
        del each["predicate"]["finished"], each["predicate"]["digest"]
    assert first == second


def test_it_names_no_path_of_the_machine(tmp_path: Path) -> None:
    rules = tmp_path / "mine.py"
    rules.write_text("import foldproof_rules\n\nrules = foldproof_rules.rules\n")
    document = written(tmp_path, rules_from=[str(rules)])
    assert document["predicate"]["options"]["rules_from"] == ["mine.py"]
    assert str(tmp_path) not in json.dumps(document)


def test_it_follows_its_schema(tmp_path: Path) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(written(tmp_path), SCHEMA)


@pytest.mark.parametrize(
    "path",
    [["subject"], ["predicate", "ledger"], ["predicate", "digest"], ["predicate", "verification", "feeds"]],
    ids=".".join,
)
def test_the_schema_misses_what_is_missing(tmp_path: Path, path: list[str]) -> None:
    document = written(tmp_path)
    inner = document
    for name in path[:-1]:
        inner = inner[name]
    del inner[path[-1]]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, SCHEMA)


def test_to_ask_for_a_certificate_changes_nothing_else(tmp_path: Path) -> None:
    _, source, output = certified(parse(BODY), tmp_path)
    foldproof.optimize_file(source, tmp_path / "other.onnx")
    assert output.read_bytes() == (tmp_path / "other.onnx").read_bytes()


def test_it_is_never_written_over_a_file_of_the_person(tmp_path: Path) -> None:
    source, mine = tmp_path / "in.onnx", tmp_path / "notes.json"
    onnx.save(parse(BODY), source)
    mine.write_text("{}")
    for certificate in (mine, source, tmp_path / "out.onnx", tmp_path / "missing" / "c.json"):
        with pytest.raises(foldproof.UsageError, match="certificate|is there already|is a file of the same run"):
            foldproof.optimize_file(source, tmp_path / "out.onnx", certificate=certificate)
    assert mine.read_text() == "{}"
    assert not (tmp_path / "out.onnx").exists()


def test_a_result_in_memory_has_none(tmp_path: Path) -> None:
    with pytest.raises(foldproof.UsageError, match="about files"):
        foldproof.optimize(parse(BODY), certificate=tmp_path / "c.json")
