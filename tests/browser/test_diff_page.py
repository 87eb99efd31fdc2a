from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from foldproof import model_file
from foldproof.destinations import write_text
from foldproof.diffing import Comparison
from foldproof.reporting.html.diff_page import diff_page
from tests.browser.conftest import Browser
from tests.helpers import parse

NASTY = "</script><script>alert(1)</script>"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    body = "g (float[N,4] x) => (float[N,4] y) {{ v0 = Relu(x) {} y = Exp(v20) }}"
    before = " ".join(f"v{k + 1} = Softmax<axis=1>(v{k})" for k in range(20))
    a = parse(body.format(before))
    b = parse(
        body.format(
            before.replace("axis=1>(v7)", "axis=0>(v7)").replace("v19 = Softmax<axis=1>(v18)", "v19 = Sin(v18)")
        )
    )
    b.metadata_props.add(key="note", value=NASTY)
    for k in range(12):
        b.metadata_props.add(key=f"more{k}", value="1")
    path = tmp_path_factory.mktemp("diff") / "diff.html"
    write_text(diff_page(Comparison(model_file.from_proto(a), model_file.from_proto(b))), path)
    return path


def rows(browser: Browser) -> list[str]:
    return browser.texts("[data-table=differences] tbody tr")


def test_it_shows_the_differences_and_asks_for_nothing(
    browser: Browser, page: Path, shot: Callable[[str], Path]
) -> None:
    browser.look()
    browser.open(page)
    browser.screenshot(shot("diff"))
    assert browser.requests() == [page.as_uri()]
    assert browser.complaints() == []
    assert browser.texts("h1")[0].endswith("Different")
    # A Softmax went and a Sin came, one has another axis, one reads another value; and 13 entries of metadata.
    assert len(rows(browser)) == 4 + 13
    assert any(NASTY in row for row in rows(browser))


def test_search_and_filter(browser: Browser, page: Path) -> None:
    browser.look()
    browser.open(page)
    browser.type("[data-table=differences] input[type=search]", "axis")
    (row,) = rows(browser)
    assert "node changed" in row
    browser.type("[data-table=differences] input[type=search]", "sin(v18)")
    (row,) = rows(browser)
    assert "only in the second" in row


@pytest.mark.parametrize("dark", [False, True])
def test_it_can_be_used_by_all(browser: Browser, page: Path, dark: bool) -> None:
    browser.look(dark=dark)
    browser.open(page)
    assert browser.accessibility() == []


def test_it_fits_a_phone(browser: Browser, page: Path, shot: Callable[[str], Path]) -> None:
    browser.look(width=360, height=740)
    browser.open(page)
    browser.screenshot(shot("diff-phone"))
    assert browser.run("return document.documentElement.scrollWidth") <= 360


def test_a_difference_that_is_chosen_is_drawn(browser: Browser, page: Path, shot: Callable[[str], Path]) -> None:
    browser.look()
    browser.open(page)
    # The first one of a node at first: the Softmax that only the first model has, and the Sin in its place.
    assert browser.texts("#chosen-title") == ["node only in the first"]
    assert "\u2212 Softmax" in browser.texts("#picture-before g.node.removed .title")
    assert browser.texts("#picture-after g.node.added .title") == ["+ Sin"]
    place = next(k for k, row in enumerate(rows(browser)) if "attribute axis" in row)
    browser.click("[data-table=differences] tbody tr", place)
    browser.screenshot(shot("diff-chosen"))
    for side, axis in (("before", 1), ("after", 0)):
        (changed,) = browser.texts(f"#picture-{side} g.node.changed.core")
        assert f"axis={axis}" in changed
        assert "has other inputs or attributes" in changed
    browser.click("input[name=mode][value=whole]")
    assert len(browser.texts("#picture-before g.node.removed")) == 1
    assert len(browser.texts("#picture-before g.node")) == 22 + 2  # all nodes, an input and an output
    # What concerns no node says so, with no picture.
    browser.click("input[name=mode][value=place]")
    browser.click("[data-table=differences] tbody tr", len(rows(browser)) - 1)
    assert browser.texts("#picture-before .empty") == ["This difference is of no node."]
    assert browser.complaints() == []


def test_differences_of_no_node_have_no_pictures(browser: Browser, tmp_path: Path) -> None:
    a, b = (parse("g (float[N] x) => (float[N] y) { y = Relu(x) }") for _ in range(2))
    b.metadata_props.add(key="author", value="me")
    path = tmp_path / "diff.html"
    write_text(diff_page(Comparison(model_file.from_proto(a), model_file.from_proto(b))), path)
    browser.look()
    browser.open(path)
    assert browser.complaints() == []
    assert len(rows(browser)) == 1
    assert browser.texts("#panel") == []
