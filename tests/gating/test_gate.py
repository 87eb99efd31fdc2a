"""A repository with models and a configuration: the gate passes, and fails for each of its causes."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import onnx
import pytest
from click.testing import CliRunner, Result

from foldproof.cli import main
from tests.helpers import parse

MODEL = "g (float[N,3] x) => (float[N,3] y, int64 s) { a = Relu(x) y = Identity(a) s = Size(x) }"
CONFIGURATION = """\
require_certificate = true

[[model]]
path = "models/*.opt.onnx"
bind = {N = [2, 5]}
original = "exports/small.onnx"

[model.budget]
nodes = 2
bytes = "1 kB"
latency_ms = 5_000
"""


def command(*arguments: object, **environment: str | None) -> Result:
    environment = {"GITHUB_ACTIONS": None, **environment}
    return CliRunner().invoke(main, [str(argument) for argument in arguments], env=environment)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository in which all is as it should be."""
    folder = tmp_path_factory.mktemp("repository")
    for name in ("exports", "models"):
        (folder / name).mkdir()
    onnx.save(parse(MODEL), folder / "exports" / "small.onnx")
    (folder / "foldproof.toml").write_text(CONFIGURATION)
    arguments = [folder / "exports/small.onnx", "-o", folder / "models/small.opt.onnx", "--no-config"]
    result = command("optimize", *arguments, "--certificate", folder / "models/small.json", "--bind", "N=2")
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture
def repository(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, which is the working folder."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def configure(old: str, new: str) -> None:
    file = Path("foldproof.toml")
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def failures(*arguments: object) -> list[dict[str, object]]:
    """What failed, from the JSON."""
    result = command("gate", "--json", "-", *arguments)
    assert result.exit_code == 1, result.output
    found = json.loads(result.output)
    assert not found["passed"]
    return [each for model in found["models"] for each in model["checks"] if each["status"] != "passed"]


def test_it_passes(repository: Path) -> None:
    before = {path: path.read_bytes() for path in repository.rglob("*") if path.is_file()}
    result = command("gate")
    assert result.exit_code == 0, result.output
    for words in (
        "passed  models/small.opt.onnx",
        "it has 2 nodes, within its budget of 2",
        "within its budget of 1.00 kB (1000 bytes)",
        "`optimize` would not change it",
        "its certificate models/small.json holds",
        "generated inputs at N=5",
        "1 of 1 models passed",
    ):
        assert words in result.output
    assert "::error" not in result.output
    assert {path: path.read_bytes() for path in repository.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("old", "new", "check", "line", "words"),
    [
        ("nodes = 2", "nodes = 1", "nodes", 9, "it has 2 nodes, 1 more than its budget of 1"),
        ('"1 kB"', "99", "bytes", 10, "more than its budget of 99 bytes"),
        ("5_000", "0.000001", "latency", 11, "more than its budget of 1e-06 ms"),
    ],
)
def test_a_budget_that_is_exceeded_names_its_line(
    repository: Path, old: str, new: str, check: str, line: int, words: str
) -> None:
    configure(old, new)
    (failure,) = failures("--skip", "optimized", "--skip", "certificate")
    assert failure["check"] == check
    assert failure["place"] == {"file": "foldproof.toml", "line": line}
    assert words in str(failure["message"])


def test_a_budget_at_the_top_is_for_each_model_and_a_section_may_say_otherwise(repository: Path) -> None:
    configure("require_certificate = true", "budget = {nodes = 0, bytes = 1}")
    (failure,) = failures("exports/small.onnx", "models/small.opt.onnx", "--skip", "optimized", "--skip", "nodes")
    assert failure["place"] == {"file": "foldproof.toml", "line": 1}


def test_a_model_that_is_not_optimized_names_the_nodes(repository: Path) -> None:
    (failure,) = failures("exports/small.onnx", "--skip", "certificate")
    assert failure["check"] == "optimized"
    assert failure["place"] == {"file": "exports/small.onnx", "line": None}
    assert failure["nodes"] == ["y"]
    assert "1 rewrite: " in str(failure["message"])


def test_the_options_of_optimize_decide_what_optimized_is(repository: Path) -> None:
    configure("require_certificate = true", "rules = ['none']")
    assert command("gate", "exports/small.onnx").exit_code == 0
    configure("rules = ['none']", "set_dim = {N = 2, batch = 1}")
    (failure,) = failures("--skip", "certificate")
    assert "would bind N=2" in str(failure["message"])  # and there is no dim `batch` that could be bound


def test_the_hint_to_a_result_keeps_its_name(repository: Path) -> None:
    shutil.copy("exports/small.onnx", "models/other.opt.onnx")
    (failure,) = failures("models/other.opt.onnx", "--skip", "certificate", "--skip", "nodes")
    said = str(failure["hint"]).split("`")[1]
    assert said == "foldproof optimize models/other.opt.onnx --in-place"
    assert command(*said.split()[1:]).exit_code == 0
    assert command("gate", "models/other.opt.onnx", "--skip", "certificate").exit_code == 0


@pytest.mark.parametrize("count", [0, 1])
def test_what_stops_after_some_rewrites_can_not_be_checked(repository: Path, count: int) -> None:
    configure("require_certificate = true", f"[optimize]\nstop_after = {count}")
    (failure,) = failures("exports/small.onnx")
    assert (failure["check"], failure["status"]) == ("optimized", "error")
    assert "`stop_after` counts the rewrites of the original" in str(failure["message"])
    assert command("gate", "exports/small.onnx", "--skip", "optimized").exit_code == 0


def test_rewrites_that_verification_takes_back_do_not_count(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.test_pipeline import tolerant_size

    monkeypatch.setattr("foldproof.pipeline.installed", lambda *_: [tolerant_size])
    result = command("gate", "models/small.opt.onnx", "--skip", "certificate")
    assert result.exit_code == 0, result.output
    assert "verification takes back all rewrites" in result.output
    configure("require_certificate = true", "no_verify = true")
    (failure,) = failures("models/small.opt.onnx")
    assert failure["nodes"] == ["s"]


def test_a_model_without_a_certificate(repository: Path) -> None:
    Path("models/small.json").unlink()
    (failure,) = failures("--skip", "optimized")
    assert failure["check"] == "certificate"
    assert failure["place"] == {"file": "models/small.opt.onnx", "line": None}
    assert "it has no certificate" in str(failure["message"])
    configure("require_certificate = true\n", "")
    assert command("gate").exit_code == 0


def test_a_section_says_what_is_demanded_of_its_models(repository: Path) -> None:
    Path("models/small.json").unlink()
    onnx.save(parse("g (float[N] x) => (float[N] y) { y = Relu(x) }"), "models/other.onnx")
    text = "[[model]]\npath = 'models/*.onnx'\nskip = ['optimized']\n[[model]]\npath = '**/small.opt.onnx'\n"
    Path("foldproof.toml").write_text(f"{text}require_certificate = true\n")
    (failure,) = failures()
    assert (failure["check"], failure["place"]) == ("certificate", {"file": "models/small.opt.onnx", "line": None})
    assert command("gate", "--skip", "certificate").exit_code == 0
    assert command("gate", FOLDPROOF_REQUIRE_CERTIFICATE="0").exit_code == 0
    Path("foldproof.toml").write_text(f"{text}junit = 'a.xml'\n")
    result = command("gate")
    assert result.exit_code == 2
    assert "foldproof.toml:6: 'junit' is not about one model. Write it above the sections." in result.output


def test_a_model_that_changed_since_it_was_certified(repository: Path) -> None:
    configure("require_certificate = true\n", "")
    model = onnx.load("models/small.opt.onnx")
    model.doc_string = "changed"
    onnx.save(model, "models/small.opt.onnx")
    (failure,) = failures("--skip", "optimized")
    assert failure["check"] == "certificate"
    assert failure["place"] == {"file": "models/small.json", "line": None}
    assert "models/small.opt.onnx does not have the digest that was certified" in str(failure["message"])


def test_an_original_that_changed_since_it_was_certified(repository: Path) -> None:
    model = onnx.load("exports/small.onnx")
    model.doc_string = "changed"
    onnx.save(model, "exports/small.onnx")
    (failure,) = failures("--skip", "optimized")
    assert "does not hold" in str(failure["message"])
    assert "exports/small.onnx is not the file" in str(failure["message"])


def test_a_certificate_that_does_not_hold(repository: Path) -> None:
    """One that is about two models that do not do the same."""
    from foldproof.certificates.digests import sha256_of
    from foldproof.certificates.document import self_digest

    path = Path("models/small.opt.onnx")
    onnx.save(parse(MODEL.replace("Relu", "Neg")), path)
    statement = json.loads(Path("models/small.json").read_text())
    statement["subject"][0]["digest"]["sha256"] = sha256_of(path)
    statement["predicate"]["digest"]["sha256"] = self_digest(statement)
    Path("models/small.json").write_text(json.dumps(statement))
    (failure,) = failures("--skip", "optimized", "--skip", "nodes")
    assert "its certificate models/small.json does not hold" in str(failure["message"])
    assert "the models differ at" in str(failure["message"])


def test_a_certificate_without_its_original(repository: Path) -> None:
    configure('original = "exports/small.onnx"\n', "")
    (failure,) = failures("--skip", "optimized")
    assert "can't be checked without the original 'small.onnx'" in str(failure["message"])
    configure("require_certificate = true\n", "")
    assert command("gate").exit_code == 0


def test_an_original_of_the_same_name_is_not_the_model_itself(repository: Path) -> None:
    Path("foldproof.toml").unlink()
    arguments = ["exports/small.onnx", "-o", "models/small.onnx", "--certificate", "models/own.json"]
    assert command("optimize", *arguments, "--bind", "N=2").exit_code == 0
    result = command("gate", "models/small.onnx", "--skip", "optimized")
    assert result.exit_code == 0, result.output
    assert "can't be checked without the original 'small.onnx'" in result.output
    Path("foldproof.toml").write_text("[[model]]\npath = 'models/small.onnx'\noriginal = 'exports/small.onnx'\n")
    assert "its certificate models/own.json holds" in command("gate", "--skip", "optimized").output


def test_a_certificate_that_is_configured_names_the_line_where_it_is_none(repository: Path) -> None:
    configure("[model.budget]", 'certificate = "models/none.json"\n[model.budget]')
    for content in (None, "{}"):
        if content is not None:
            Path("models/none.json").write_text(content)
        (failure,) = failures("--skip", "optimized")
        assert failure["place"] == {"file": "foldproof.toml", "line": 8}
        assert "its certificate models/none.json" in str(failure["message"])


def test_a_model_that_can_not_be_read_spoils_no_other(repository: Path) -> None:
    Path("models/broken.opt.onnx").write_bytes(b"junk")
    result = command("gate", "--json", "-")
    assert result.exit_code == 3, result.output
    broken, small = json.loads(result.output)["models"]
    assert [(each["check"], each["status"]) for each in broken["checks"]] == [("readable", "error")]
    assert small["passed"]


def test_an_option_that_makes_no_sense_for_a_model_spoils_no_other(repository: Path) -> None:
    configure("require_certificate = true\n", "keep_node = ['missing']\n")
    (failure,) = failures("--skip", "certificate")
    assert (failure["check"], failure["status"]) == ("optimized", "error")
    assert "no node 'missing'" in str(failure["message"])


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        ("budget = {nods = 1}", "foldproof.toml:3: there is no budget of 'nods'. The nearest name is 'nodes'."),
        ("budget = {nodes = 1.5}", "foldproof.toml:3: the budget of nodes is 1.5. Give a whole number."),
        ("budget = {bytes = '3 miles'}", "the budget of bytes is '3 miles'"),
        ("budget = {latency_ms = -1}", "the budget of latency_ms is -1"),
        ("budget = {latency_ms = nan}", "the budget of latency_ms is nan"),
        ("budget = 3", "foldproof.toml:3: 'budget' is 3. Give a table."),
        ("original = 3", "foldproof.toml:3: 'original' is 3"),
    ],
)
def test_a_budget_that_makes_no_sense_is_wrong_usage(repository: Path, budget: str, words: str) -> None:
    Path("foldproof.toml").write_text(f"[[model]]\npath = 'other.onnx'\n{budget}\n")
    result = command("gate", "models/small.opt.onnx")
    assert result.exit_code == 2, result.output
    assert words in result.output


@pytest.mark.parametrize(
    ("given", "most"), [("1", 1), ("'7'", 7), ("'2 kB'", 2000), ("'1.5MB'", 1500000), ("'1 MiB'", 1048576)]
)
def test_sizes(tmp_path: Path, given: str, most: int) -> None:
    from foldproof.configuration import read
    from foldproof.gating.demands import Demands

    file = tmp_path / "foldproof.toml"
    file.write_text(f"budget = {{bytes = {given}}}\n")
    assert Demands.of(read(file), tmp_path / "model.onnx").budget["bytes"].most == most


def test_without_models_it_says_so(repository: Path) -> None:
    configure("models/*.opt.onnx", "nowhere/*.onnx")
    result = command("gate")
    assert result.exit_code == 2
    assert "foldproof.toml:4: no file is there that this section is about" in result.output
    assert "there is no model to check" in result.output


def test_results_never_replace_what_is_not_ours(repository: Path) -> None:
    model = Path("models/small.opt.onnx").read_bytes()
    Path("mine.xml").write_text("mine")
    for arguments in (
        ["--junit", "models/small.opt.onnx", "--force"],
        ["--sarif", "models/small.opt.onnx", "--force"],
        ["--junit", "mine.xml"],
        ["--junit", "-"],
        ["--junit", "a", "--sarif", "a"],
    ):
        assert command("gate", "models/small.opt.onnx", *arguments).exit_code == 2
    assert Path("models/small.opt.onnx").read_bytes() == model
    assert Path("mine.xml").read_text() == "mine"


def test_bytes_are_those_of_data_files_too(repository: Path) -> None:
    import numpy as np

    model = parse("g (float[N,300] x) => (float[N,300] y) { y = Add(x, w) }")
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(300, np.float32), "w"))
    onnx.save(model, "models/big.onnx", save_as_external_data=True, location="big.data", size_threshold=0)
    Path("foldproof.toml").write_text("budget = {bytes = 1200}\n")
    (failure,) = failures("models/big.onnx", "--skip", "optimized")
    size = sum(Path("models", name).stat().st_size for name in ("big.onnx", "big.data"))
    assert size > 1200
    assert f"({size} bytes)" in str(failure["message"])


def test_the_configuration_that_is_named_holds_for_all_of_it(repository: Path) -> None:
    Path("foldproof.toml").rename("other.toml")
    assert command("gate", "exports/small.onnx", "--skip", "certificate").exit_code == 1
    with Path("other.toml").open("a") as file:
        file.write("[[model]]\npath = 'exports/*'\nrules = ['none']\nbudget = {nodes = 3}\n")
    arguments = ["gate", "exports/small.onnx", "--skip", "certificate"]
    assert command(*arguments, "--config", "other.toml").exit_code == 0
    assert command(*arguments, FOLDPROOF_CONFIG="other.toml").exit_code == 0
    assert command(*arguments, FOLDPROOF_CONFIG="other.toml", FOLDPROOF_RULES="no_such_rule").exit_code == 1
    assert command(*arguments, "--no-config", FOLDPROOF_CONFIG="other.toml").exit_code == 1
