"""Pages and fragments, as text; `tests/browser` opens them."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import onnx
import pytest

import foldproof
from foldproof.measuring import Measured, Timings
from foldproof.reporting.html.numbers import Number, numbers_of
from foldproof.reporting.html.page import embedded
from foldproof.reporting.terminal import seconds_text
from foldproof.rewriting.packs import installed
from tests.helpers import parse
from tests.test_rollback import no_relu

NASTY = "</script><b>&\u2028"
RELU = "g (float[N,3] x) => (float[N,3] y) { a = Relu(x) y = Neg(a) }"


class Elements(HTMLParser):
    """The elements of a page: their names with their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def page(folder: Path, model: onnx.ModelProto | Path, **options: object) -> str:
    target = folder / "report.html"
    foldproof.Optimizer(foldproof.Options(report=target, **options)).run(model)
    return target.read_text(encoding="utf-8")


def test_data_can_end_no_element_and_is_the_same_after_parsing() -> None:
    text = embedded({"name": NASTY})
    assert not set(text) & set("<>&\u2028\u2029")
    assert json.loads(text) == {"name": NASTY}


def test_the_page_stands_alone(tmp_path: Path, models: Path) -> None:
    text = page(tmp_path, models / "mean_pooling.onnx")
    elements = Elements(text).found
    assert all(name not in attributes for _, attributes in elements for name in ("src", "srcset", "style", "onclick"))
    assert all((attributes.get("href") or "#").startswith("#") for _, attributes in elements)
    assert not {"link", "iframe", "object", "embed", "form", "base"} & {tag for tag, _ in elements}
    assert not re.search(r"@import|url\((?!#)", text.split("</style>")[0])


def test_the_policy_admits_the_style_and_the_script_of_the_page_and_nothing_else(tmp_path: Path, models: Path) -> None:
    text = page(tmp_path, models / "static_mean.onnx", verify=False)
    policy = next(a["content"] for tag, a in Elements(text).found if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    for tag in ("style", "script"):
        content = re.findall(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)
        assert len(content) == 1
        digest = base64.b64encode(hashlib.sha256(content[0].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_the_licence_of_the_layout_is_in_the_page(tmp_path: Path, models: Path) -> None:
    text = page(tmp_path, models / "static_mean.onnx", verify=False)
    assert "Permission is hereby granted, free of charge" in text
    assert text.index("Chris Pettitt") < text.index("var dagre=")


def test_a_page_is_never_written_over_a_model(tmp_path: Path, models: Path) -> None:
    source, target = tmp_path / "in.onnx", tmp_path / "out.onnx"
    source.write_bytes((models / "static_mean.onnx").read_bytes())
    before = source.read_bytes()
    for place in (source, target):
        with pytest.raises(foldproof.UsageError, match="is a file of the same run"):
            foldproof.optimize_file(source, target, report=place, force=True)
    (tmp_path / "link.html").symlink_to(source)
    with pytest.raises(foldproof.UsageError, match="is a file of the same run"):
        foldproof.optimize_file(source, target, report=tmp_path / "link.html", force=True)
    mine = tmp_path / "mine.html"
    mine.write_text("mine")
    with pytest.raises(foldproof.UsageError, match="is there already"):
        foldproof.optimize_file(source, target, report=mine)
    with pytest.raises(foldproof.UsageError, match="is a file of the same run"):
        foldproof.optimize_file(source, target, report=tmp_path / "a", certificate=tmp_path / "a")
    with pytest.raises(foldproof.UsageError, match="standard output"):
        foldproof.optimize_file(source, target, report="-")
    with pytest.raises(foldproof.UsageError, match="no folder"):
        foldproof.optimize_file(source, target, report=tmp_path / "no" / "report.html")
    assert (source.read_bytes(), mine.read_text(), target.exists()) == (before, "mine", False)


def test_a_page_is_never_written_over_the_weights_of_a_model(tmp_path: Path) -> None:
    model = parse("g (float[N,300] x) => (float[N,300] y) <float[300] w> { y = Add(x, w) }")
    model.graph.initializer.append(onnx.numpy_helper.from_array(__import__("numpy").ones(300, "float32"), "w"))
    source = tmp_path / "in.onnx"
    onnx.save_model(model, source, save_as_external_data=True, location="weights.html", size_threshold=0)
    before = (tmp_path / "weights.html").read_bytes()
    with pytest.raises(foldproof.UsageError, match="never overwritten|is a file of the same run"):
        foldproof.optimize_file(source, tmp_path / "out.onnx", report=tmp_path / "weights.html", force=True)
    assert (tmp_path / "weights.html").read_bytes() == before


def test_a_difference_has_a_page_though_nothing_is_written(tmp_path: Path) -> None:
    source, target = tmp_path / "in.onnx", tmp_path / "report.html"
    onnx.save(parse(RELU), source)
    optimizer = foldproof.Optimizer(foldproof.Options(strict=True, report=target), rules=[no_relu, *installed()])
    with pytest.raises(foldproof.VerificationError):
        optimizer.run_file(source, tmp_path / "out.onnx")
    assert not (tmp_path / "out.onnx").exists()
    text = target.read_text(encoding="utf-8")
    assert "Nothing was written." in text
    assert "no_relu" in text


def test_a_notebook_shows_a_report_and_a_result() -> None:
    result = foldproof.Optimizer(foldproof.Options()).run(parse(RELU.replace("Neg(a)", "Identity(a)")))
    text = result._repr_html_()
    assert text == result.report._repr_html_()
    assert "Verified." in text
    assert "Identity" in text
    tags = {tag for tag, _ in Elements(text).found}
    assert not tags & {"script", "style", "link", "iframe"}
    assert text.startswith("<div>")
    assert text.endswith("</div>")


def test_a_notebook_takes_no_name_for_markup() -> None:
    import dataclasses

    report = foldproof.Optimizer(foldproof.Options(verify=False)).run(parse(RELU)).report
    report = dataclasses.replace(
        report, output=NASTY, warnings=(NASTY,), nodes_before={NASTY: 2}, nodes_after={f"{NASTY}2": 1}
    )
    assert "b" not in {tag for tag, _ in Elements(report._repr_html_()).found}
    assert "&lt;/script&gt;&lt;b&gt;&amp;" in report._repr_html_()


def test_numbers_say_how_much_changed(models: Path) -> None:
    import dataclasses

    report = foldproof.Optimizer(foldproof.Options(verify=False)).run(models / "static_mean.onnx").report
    report = dataclasses.replace(
        report, nodes_before={"Add": 10}, nodes_after={"Add": 5}, bytes_before=1000, bytes_after=1100
    )
    known = {number.title: number for number in numbers_of(report)}
    assert known["nodes"] == Number("nodes", "10", "5", "\u221250 %", "better")
    assert known["file size"] == Number("file size", "1.00 kB", "1.10 kB", "+10 %", "worse")
    assert "latency" not in known


@pytest.mark.parametrize(
    ("runs", "change", "kind"),
    [
        ((0.001,) * 10, "\u221250 %", "better"),
        ((0.003,) * 10, "+50 %", "worse"),
        ((0.0019,) * 6 + (0.0021,) * 4, "no clear difference", "same"),
    ],
)
def test_a_latency_counts_where_most_pairs_say_the_same(
    models: Path, runs: tuple[float, ...], change: str, kind: str
) -> None:
    import dataclasses

    report = foldproof.Optimizer(foldproof.Options(verify=False)).run(models / "static_mean.onnx").report
    measured = Measured(Timings((0.1,) * 5, (0.002,) * 10), Timings((0.2,) * 3 + (0.09,) * 2, runs), {"N": 3})
    known = {number.title: number for number in numbers_of(dataclasses.replace(report, measured=measured))}
    assert (known["latency"].change, known["latency"].kind) == (change, kind)
    assert known["load time"].change == "no clear difference"


def test_times_have_fitting_units() -> None:
    assert [seconds_text(each) for each in (1.5, 0.0125, 0.0000421)] == ["1.5 s", "12.5 ms", "42.1 µs"]
