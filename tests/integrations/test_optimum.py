"""Folders of models: by themselves, and by optimum's own flow."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.external_data_helper import set_external_data

import foldproof
from foldproof.integrations.optimum import optimize_folder
from tests.helpers import operators, parse

WEIGHTS = np.arange(600, dtype=np.float32)


def model_with(path: Path, operator: str, data: str, *, offset: int = 0) -> None:
    """A model whose 300 weights lie in a file beside it, `offset` numbers behind its start."""
    proto = parse(f"g (float[N,300] x) => (float[N,300] y) {{ i = Identity(x) y = {operator}(i, w) }}")
    weights = onnx.numpy_helper.from_array(WEIGHTS[offset : offset + 300], "w")
    set_external_data(weights, data, offset * 4, 1200)
    weights.ClearField("raw_data")
    proto.graph.initializer.append(weights)
    path.write_bytes(proto.SerializeToString())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two models that share a data file which bears the name of one of them, one that has its own, and other files."""
    folder = tmp_path / "exported"
    (folder / "more").mkdir(parents=True)
    (folder / "model.onnx_data").write_bytes(WEIGHTS.tobytes())
    (folder / "more" / "own.data").write_bytes(WEIGHTS.tobytes())
    model_with(folder / "model.onnx", "Mul", "model.onnx_data")
    model_with(folder / "other.onnx", "Add", "model.onnx_data", offset=300)
    model_with(folder / "more" / "third.onnx", "Sub", "own.data")
    (folder / "config.json").write_text('{"architectures": ["T"]}')
    (folder / "more" / "vocab.txt").write_text("a\nb")
    return folder


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def check(folder: Path) -> None:
    for name, operator, weights in (
        ("model.onnx", "Mul", WEIGHTS[:300]),
        ("other.onnx", "Add", WEIGHTS[300:]),
        ("more/third.onnx", "Sub", WEIGHTS[:300]),
    ):
        model = onnx.load(folder / name)
        assert operators(model) == {operator: 1}
        np.testing.assert_array_equal(onnx.numpy_helper.to_array(model.graph.initializer[0]), weights)


def test_all_models_are_optimized_and_all_other_files_kept(folder: Path, tmp_path: Path) -> None:
    before = content(folder)
    reports = optimize_folder(folder, tmp_path / "new" / "optimized")
    assert content(folder) == before
    assert set(reports) == {"model.onnx", "other.onnx", "more/third.onnx"}
    assert all(report.verdict == "verified" and Path(report.output).is_file() for report in reports.values())
    made = content(tmp_path / "new" / "optimized")
    check(tmp_path / "new" / "optimized")
    assert made["config.json"] == before["config.json"]
    assert made["more/vocab.txt"] == before["more/vocab.txt"]
    assert made["model.onnx_data"] == before["model.onnx_data"]
    assert [name for name in made if name.endswith("data")] != []
    assert sum(map(len, made.values())) < sum(map(len, before.values()))  # what is shared is there once
    assert list((tmp_path / "new").iterdir()) == [tmp_path / "new" / "optimized"]


def test_a_folder_is_optimized_in_place(folder: Path) -> None:
    before = content(folder)
    optimize_folder(folder, in_place=True)
    check(folder)
    assert content(folder)["model.onnx_data"] == before["model.onnx_data"]
    assert content(folder)["config.json"] == before["config.json"]
    assert list(folder.parent.iterdir()) == [folder]
    once = content(folder)
    optimize_folder(folder, in_place=True)
    assert content(folder) == once


def test_a_shared_file_that_nothing_needs_any_more_goes(folder: Path, tmp_path: Path) -> None:
    for path in (folder / "model.onnx", folder / "other.onnx"):
        model = onnx.load(path, load_external_data=False)
        model.graph.node[1].CopyFrom(onnx.helper.make_node("Relu", ["i"], ["y"]))
        path.write_bytes(model.SerializeToString())
    optimize_folder(folder, tmp_path / "new")
    assert "model.onnx_data" not in content(tmp_path / "new")
    assert operators(onnx.load(tmp_path / "new" / "model.onnx")) == {"Relu": 1}


def test_weights_go_into_the_models_on_request(folder: Path, tmp_path: Path) -> None:
    optimize_folder(folder, tmp_path / "new", options=foldproof.Options(external_data="never"))
    check(tmp_path / "new")
    assert [name for name in content(tmp_path / "new") if "data" in name] == []


def test_links_of_a_hubs_cache_are_followed(folder: Path, tmp_path: Path) -> None:
    snapshot = tmp_path / "snapshot"
    for path in [each for each in folder.rglob("*") if each.is_file()]:
        link = snapshot / path.relative_to(folder)
        link.parent.mkdir(parents=True, exist_ok=True)
        blob = path.rename(tmp_path / f"blob-{path.name}")
        link.symlink_to(blob)
    optimize_folder(snapshot, tmp_path / "new")
    check(tmp_path / "new")
    assert not any(path.is_symlink() for path in (tmp_path / "new").rglob("*"))
    data = [name for name in content(tmp_path / "new") if "data" in name]
    assert sorted(data) == ["model.onnx_data", "more/third.onnx.data"]


def test_what_is_no_file_is_kept_too(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "notes").write_text("mine")
    (folder / "empty").mkdir()
    (folder / "more" / "out").symlink_to("../../elsewhere")
    (folder / "in").symlink_to("more")
    (folder / "nowhere").symlink_to("gone")
    for new in (tmp_path / "a" / "new", folder):
        optimize_folder(folder, **({"in_place": True} if new == folder else {"destination": new}))
        check(new)
        assert (new / "empty").is_dir()
        assert (new / "more" / "out" / "notes").read_text() == "mine"
        assert (new / "in").readlink() == Path("more")
        assert (new / "nowhere").readlink() == Path("gone")
    assert (folder / "more" / "out").readlink() == Path("../../elsewhere")
    os.mkfifo(folder / "pipe")
    with pytest.raises(foldproof.UsageError, match="pipe is neither a file nor a folder"):
        optimize_folder(folder, in_place=True)
    assert (folder / "pipe").exists()


def test_where_one_model_fails_nothing_is_written(folder: Path, tmp_path: Path) -> None:
    (folder / "more" / "broken.onnx").write_bytes(b"broken")
    before = content(folder)
    with pytest.raises(foldproof.ModelError, match=r"more/broken.onnx"):
        optimize_folder(folder, in_place=True)
    onnx.save(parse("g (float[3] x) => (float y) <int64 k = {5}> { i = Identity(x) y = Gather(i, k) }"),
              folder / "more" / "broken.onnx")  # fmt: skip
    before["more/broken.onnx"] = (folder / "more" / "broken.onnx").read_bytes()
    for where in ({"destination": tmp_path / "new"}, {"in_place": True}):
        with pytest.raises(foldproof.UnverifiedError, match=r"more/broken.onnx"):
            optimize_folder(folder, **where)
    assert content(folder) == before
    assert list(tmp_path.iterdir()) == [folder]


@pytest.mark.parametrize("data", ["model.onnx_data", "more/own.data"])  # of two models, and of one
def test_data_that_is_not_there_is_told(folder: Path, tmp_path: Path, data: str) -> None:
    (folder / data).unlink()
    with pytest.raises(foldproof.ModelError, match=rf"\.onnx: its data file {folder / data} is not there"):
        optimize_folder(folder, tmp_path / "new")
    assert list(tmp_path.iterdir()) == [folder]


def test_wrong_usage_is_told(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes").write_text("mine")
    for arguments, words in (
        ((folder,), "either to another one or in place"),
        ((folder, tmp_path / "full"), "is not an empty folder"),
        ((folder, folder / "new"), "lies in"),
        ((tmp_path / "no", tmp_path / "new"), "there is no folder"),
        ((tmp_path / "full", tmp_path / "new"), "has no model in it"),
    ):
        with pytest.raises(foldproof.UsageError, match=words):
            optimize_folder(*arguments)
    with pytest.raises(foldproof.UsageError, match="certificate is about one model"):
        optimize_folder(folder, in_place=True, options=foldproof.Options(certificate=Path("c.json")))


@pytest.fixture
def torch() -> Any:
    """torch, with the rest of what optimum's export needs."""
    for name in ("optimum.onnxruntime", "optimum.exporters.onnx", "transformers"):
        pytest.importorskip(name, reason="optimum-onnx is not installed: .ci/integrations has it")
    import torch

    torch.manual_seed(0)
    return torch


def test_optimum_loads_an_optimized_classifier(torch: Any, tmp_path: Path) -> None:
    from optimum.exporters.onnx import onnx_export_from_model
    from optimum.onnxruntime import ORTModelForSequenceClassification
    from transformers import BertConfig, BertForSequenceClassification

    sizes = {"vocab_size": 64, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    model = BertForSequenceClassification(BertConfig(**sizes, intermediate_size=32)).eval()
    onnx_export_from_model(model, tmp_path / "bert", task="text-classification", do_validation=False)
    reports = optimize_folder(tmp_path / "bert", tmp_path / "optimized")
    assert len(reports["model.onnx"].ledger) > 10
    inputs = {"input_ids": torch.randint(0, 64, (3, 7)), "attention_mask": torch.ones(3, 7, dtype=torch.int64)}
    inputs["token_type_ids"] = torch.zeros_like(inputs["input_ids"])
    loaded = ORTModelForSequenceClassification.from_pretrained(tmp_path / "optimized")
    assert json.loads((tmp_path / "optimized" / "config.json").read_text())["model_type"] == "bert"
    torch.testing.assert_close(loaded(**inputs).logits, model(**inputs).logits.detach(), rtol=1e-4, atol=1e-5)


def test_optimum_generates_by_an_optimized_encoder_and_decoder(torch: Any, tmp_path: Path) -> None:
    from optimum.exporters.onnx import onnx_export_from_model
    from optimum.onnxruntime import ORTModelForSeq2SeqLM
    from transformers import T5Config, T5ForConditionalGeneration

    sizes = {"vocab_size": 64, "d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2}
    model = T5ForConditionalGeneration(T5Config(**sizes, decoder_start_token_id=0)).eval()
    onnx_export_from_model(model, tmp_path / "t5", task="text2text-generation-with-past", do_validation=False)
    inputs = torch.randint(2, 64, (2, 6))
    expected = ORTModelForSeq2SeqLM.from_pretrained(tmp_path / "t5").generate(inputs, max_new_tokens=8, num_beams=2)
    reports = optimize_folder(tmp_path / "t5", in_place=True)
    assert {"encoder_model.onnx", "decoder_model.onnx", "decoder_model_merged.onnx"} <= set(reports)
    assert all(report.ledger for report in reports.values())
    found = ORTModelForSeq2SeqLM.from_pretrained(tmp_path / "t5").generate(inputs, max_new_tokens=8, num_beams=2)
    assert found.tolist() == expected.tolist()
