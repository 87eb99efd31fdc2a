from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

import foldproof
from foldproof.destinations import write_text
from foldproof.reporting.html.report_page import report_page
from foldproof.rewriting.packs import installed
from tests.browser.conftest import Browser
from tests.helpers import parse

NASTY = "<script>alert(1)</script>"
FARTHEST = "]]>--></script><img src=x onerror=alert(2)>{{7*7}}\u2028`${alert(3)}"
LARGE = 5000


def page_of(model: onnx.ModelProto | Path, folder: Path, *, verify: bool = True) -> tuple[Path, foldproof.Report]:
    target = folder / "report.html"
    optimizer = foldproof.Optimizer(foldproof.Options(verify=verify, report=target))
    return target, optimizer.run(model).report


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, foldproof.Report]:
    models = Path(__file__).parents[2] / "models"
    return page_of(models / "mean_pooling.onnx", tmp_path_factory.mktemp("sample"))


def large_model() -> onnx.ModelProto:
    """Blocks of ten nodes side by side: of each a few fold, and a few stay."""
    blocks = [
        f"""
        one{k} = Constant <value_float = {float(k)}> ()
        shape{k} = Shape (x)
        count{k} = Size (weight)
        real{k} = Cast <to = 1> (count{k})
        scale{k} = Mul (real{k}, one{k})
        same{k} = Identity (x)
        moved{k} = Add (same{k}, scale{k})
        shaped{k} = Reshape (moved{k}, shape{k})
        more{k} = Sigmoid (shaped{k})
        y{k} = Tanh (more{k})"""
        for k in range(LARGE // 10)
    ]
    sum_of = ", ".join(f"y{k}" for k in range(len(blocks)))
    weight = ", ".join(["0"] * 16)
    return parse(
        f"large (float[batch, 8] x) => (float[batch, 8] y) <float[4, 4] weight = {{{weight}}}>"
        f"{{ {''.join(blocks)} y = Sum ({sum_of}) }}"
    )


def rows(browser: Browser, table: str) -> list[str]:
    return browser.texts(f"[data-table={table}] tbody tr")


def test_it_opens_from_a_file_and_asks_for_nothing(browser: Browser, sample: tuple[Path, foldproof.Report]) -> None:
    path, report = sample
    browser.look()
    browser.open(path)
    assert browser.requests() == [path.as_uri()]
    assert browser.complaints() == []
    assert browser.texts("h1")[0].endswith("Verified")
    assert len(rows(browser, "ledger")) == len(report.ledger)


def test_the_policy_refuses_what_is_not_of_the_page(browser: Browser, sample: tuple[Path, foldproof.Report]) -> None:
    browser.open(sample[0])
    browser.run("const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s)")
    browser.run("const i = new Image(); i.src = 'http://127.0.0.1:9/x.png'; document.body.append(i)")
    time.sleep(0.2)
    assert browser.run("return window.ran") is None
    assert any("Content Security Policy" in each for each in browser.complaints())


def test_search_and_filters(browser: Browser, sample: tuple[Path, foldproof.Report]) -> None:
    path, report = sample
    browser.look()
    browser.open(path)
    folds = [entry for entry in report.ledger if entry.rule == "constant_folding"]
    assert 0 < len(folds) < len(report.ledger)
    browser.type("[data-table=ledger] input", "Constant_Folding")
    assert len(rows(browser, "ledger")) == len(folds)
    assert browser.texts("[data-table=ledger] .count") == [f"{len(folds)} of {len(report.ledger)} rewrites"]
    browser.type("[data-table=ledger] input", "no such thing")
    assert rows(browser, "ledger") == ["No rewrite is like that."]
    browser.type("[data-table=ledger] input", " ")
    tolerant = [entry for entry in report.ledger if not entry.exact]
    browser.run(
        """const menu = [...document.querySelectorAll("[data-table=ledger] select")]
             .find((each) => [...each.options].some((option) => option.text.startsWith("tolerant")));
           menu.value = [...menu.options].find((option) => option.text.startsWith("tolerant")).value;
           menu.dispatchEvent(new Event("change"))"""
    )
    assert len(rows(browser, "ledger")) == len(tolerant) > 0


def test_a_click_on_a_row_shows_its_picture(browser: Browser, sample: tuple[Path, foldproof.Report]) -> None:
    path, report = sample
    browser.look()
    browser.open(path)
    place = next(k for k, entry in enumerate(report.ledger) if entry.rule == "matmul_add")
    browser.click("[data-table=ledger] tbody tr", place)
    assert report.ledger[place].rule in browser.texts("#chosen-title")[0]
    assert any("Add" in text for text in browser.texts("#picture-before g.node.removed .title"))
    assert any("Gemm" in text for text in browser.texts("#picture-after g.node.added .title"))
    assert browser.run("return document.querySelector('tr.chosen').rowIndex") == place + 1
    assert browser.texts("#live") == [f"Picture of rewrite {place + 1}, matmul_add at {report.ledger[place].place}"]
    # Once more by the keyboard: from the row's button one down, and Enter.
    from selenium.webdriver.common.keys import Keys

    browser.run("document.querySelectorAll('button.row')[0].focus()")
    browser.driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert report.ledger[1].rule in browser.texts("#chosen-title")[0]
    # The whole graph has all nodes of both models.
    browser.click("input[name=mode][value=whole]")
    assert len(browser.texts("#picture-before g.node.removed")) > 3
    assert "Size" in browser.texts("#picture-after g.node .title")


def test_what_is_not_shown_comes_by_a_click(browser: Browser, sample: tuple[Path, foldproof.Report]) -> None:
    browser.look()
    browser.open(sample[0])
    browser.click("input[name=mode][value=place]")
    count = len(browser.texts("#picture-before g.node"))
    for _ in range(20):
        if not browser.texts("#picture-before g.node.button"):
            break
        browser.run(
            """document.querySelector("#picture-before g.node.button")
                 .dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true, cancelable: true}))"""
        )
        more = len(browser.texts("#picture-before g.node"))
        assert more > count
        count = more
    # In the end all nodes of the model are there, and its two inputs and its output.
    assert browser.texts("#picture-before .note") == ["21 of 21 nodes"]
    assert count == 21 + 2 + 1


def test_rewrites_of_initializers_alone_have_no_picture(browser: Browser, tmp_path: Path) -> None:
    model = parse("g (float[2] x) => (float[2] y) <float[2] w = {1.0, 2.0}, float[2] v = {1.0, 3.0}> { y = Add(x, w) }")
    path, report = page_of(model, tmp_path)
    assert [entry.removed for entry in report.ledger] == [("initializer v",)]
    browser.look()
    browser.open(path)
    assert browser.complaints() == []
    assert len(rows(browser, "ledger")) == 1
    assert browser.texts("#panel") == []


def test_pan_and_zoom(browser: Browser, sample: tuple[Path, foldproof.Report]) -> None:
    browser.look()
    browser.open(sample[0])
    where = "return document.querySelector('#picture-before svg > g').getAttribute('transform')"
    first = browser.run(where)
    browser.click("#picture-before .zoom button", 0)
    zoomed = browser.run(where)
    assert zoomed != first
    browser.run(
        """const svg = document.querySelector("#picture-before svg");
           const press = (key) => svg.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true}));
           press("ArrowLeft")"""
    )
    assert browser.run(where) not in (first, zoomed)
    browser.click("#picture-before .zoom button", 2)
    assert browser.run(where) == first


def test_names_of_the_model_are_never_taken_for_markup(browser: Browser, tmp_path: Path) -> None:
    model = parse(
        "g (float[N,3] x) => (float[N,3] y) { a = Identity(x) b = Size(x) c = Size(b) d = Cast<to=1>(c) y = Add(a, d) }"
    )
    names = {"a": NASTY, "b": f"{NASTY}2", "c": FARTHEST, "x": f"{NASTY}x", "y": f"{FARTHEST}y"}
    graph = model.graph
    graph.name = NASTY
    for value in (*graph.input, *graph.output):
        value.name = names[value.name]
    graph.input[0].type.tensor_type.shape.dim[0].dim_param = "<b>N</b>"
    graph.output[0].type.tensor_type.shape.dim[0].dim_param = "<b>N</b>"
    for node in graph.node:
        node.name = f"{NASTY}{node.op_type}"
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
    path, report = page_of(model, tmp_path)
    browser.look()
    browser.open(path)
    for mode in ("place", "whole", "step"):
        browser.click(f"input[name=mode][value={mode}]")
        for row in range(len(report.ledger)):
            browser.click("[data-table=ledger] tbody tr", row)
            assert browser.run("return document.querySelectorAll('main img, main script, main b').length") == len(
                browser.texts(".notices b")
            )
    assert browser.requests() == [path.as_uri()]
    assert browser.complaints() == []  # an alert would have raised in the driver too
    assert any(NASTY in text for text in rows(browser, "ledger"))
    assert FARTHEST.replace("\u2028", r"\u2028") in "".join(rows(browser, "ledger"))


def luminance(color: str) -> float:
    red, green, blue = (int(part) / 255 for part in color[color.index("(") + 1 : color.index(")")].split(",")[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize(("width", "dark"), [(1440, False), (1440, True), (360, False)])
def test_dark_and_narrow_views(
    browser: Browser, sample: tuple[Path, foldproof.Report], shot: Callable[[str], Path], width: int, dark: bool
) -> None:
    browser.look(width=width, dark=dark)
    browser.open(sample[0])
    background = luminance(browser.run("return getComputedStyle(document.body).backgroundColor"))
    ink = luminance(browser.run("return getComputedStyle(document.body).color"))
    assert (background < 0.2 < 0.7 < ink) if dark else (ink < 0.2 < 0.7 < background)
    assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")
    assert browser.accessibility() == []
    for part in ("header", "#numbers", "#ledger", "#panel", "#fates", "#verification"):
        browser.run("document.querySelector(arguments[0]).scrollIntoView({behavior: 'instant'})", part)
        browser.screenshot(shot(f"{width}-{'dark' if dark else 'light'}-{part.strip('#')}"))
    path = shot(f"{width}-{'dark' if dark else 'light'}-header")
    assert path.stat().st_size > 5000  # something is on it


def test_at_5000_nodes_it_is_small_and_ready_at_once(browser: Browser, tmp_path: Path) -> None:
    path, report = page_of(large_model(), tmp_path, verify=False)
    assert sum(report.nodes_before.values()) >= LARGE * 0.9
    assert len(report.ledger) > 1000
    assert path.stat().st_size < 15_000_000
    browser.look()
    assert browser.open(path) < 10  # 1.2 s on a machine that does nothing else
    start = time.perf_counter()
    browser.click("input[name=mode][value=place]")
    browser.click("[data-table=ledger] tbody tr", 60)
    assert len(browser.texts("#picture-before g.node")) > 1
    browser.type("[data-table=ledger] input", "moved77")
    assert 0 < len(rows(browser, "ledger")) < 20
    assert time.perf_counter() - start < 10


def test_a_difference_is_told_first(browser: Browser, tmp_path: Path, sample: tuple[Path, foldproof.Report]) -> None:
    import dataclasses

    from foldproof.verification.results import Difference, Verification

    difference = Difference("y<", "value", "1.0 became 2.0", {"batch": 3})
    report = dataclasses.replace(
        sample[1], verdict="different", verification=Verification("different", differences=(difference,)), story=None
    )
    path = tmp_path / "different.html"
    write_text(report_page(report, installed()), path)
    browser.look()
    browser.open(path)
    assert browser.texts("h1")[0].endswith("Different")
    assert "y<" in browser.texts(".notices li")[0]
    assert "1.0 became 2.0" in browser.texts(".notices li")[0]
    assert browser.texts("#panel") == []
    assert len(rows(browser, "ledger")) == len(report.ledger)


def test_outputs_have_the_names_that_they_had_then(browser: Browser, tmp_path: Path) -> None:
    model = parse(
        "g (float[N] x) => (float[N] y, float[N] z) { a, b = Split<num_outputs=2>(x) y = Identity(a) z = Identity(b) }"
    )
    path, report = page_of(model, tmp_path, verify=False)
    assert [entry.rule for entry in report.ledger] == ["identity", "identity"]
    browser.look()
    browser.open(path)
    outputs = "#picture-{} g.node.output .title"
    shown = []
    for row in range(2):
        browser.click("[data-table=ledger] tbody tr", row)
        shown.append([sorted(browser.texts(outputs.format(side))) for side in ("before", "after")])
    assert shown == [[["y"], ["y"]], [["y", "z"], ["y", "z"]]]
