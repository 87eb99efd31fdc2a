"""The site builds without a warning, and opens from disk: it asks nobody for anything, and its search works."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from foldproof.rewriting.packs import installed
from tests.browser.conftest import Browser

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("material", reason="mkdocs-material is not installed: install foldproof[docs]")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    # What these packages have to say of each other's future is for who reads their changes.
    quiet = {"NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, **quiet}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


def test_no_page_names_a_place_to_load_from(site: Path) -> None:
    for page in site.rglob("*.html"):
        tags = re.findall(r"<(?:script|link|img|iframe|source|video)\b[^>]*>", page.read_text(encoding="utf-8"))
        assert [tag for tag in tags if re.search(r"""(?:src|href)=["']?(?:https?:)?//""", tag)] == [], page
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(\s*['\"]?https?:|@import", style.read_text(encoding="utf-8")), style


def test_each_rule_is_in_the_catalogue(site: Path) -> None:
    index = (site / "reference" / "rules" / "index.html").read_text(encoding="utf-8")
    for rule in installed():
        page = (site / "reference" / "rules" / f"{rule.family}.html").read_text(encoding="utf-8")
        assert f'id="{rule.name}"' in page
        assert f'href="{rule.family}.html#{rule.name}"' in index


def test_it_opens_from_disk_and_can_be_searched(site: Path, browser: Browser) -> None:
    browser.requests()
    browser.driver.get((site / "index.html").as_uri())
    browser.click("label[for=__search]")
    browser.type("input[name=query]", "static_size")
    found = browser.driver.execute_async_script(
        """const done = arguments[0], end = Date.now() + 20000;
        (function look() {
            const found = [...document.querySelectorAll(".md-search-result__link")].map((each) => each.href);
            if (found.length || Date.now() > end) done(found); else setTimeout(look, 50);
        })();"""
    )
    assert any("reference/rules/size.html#static_size" in each for each in found), browser.complaints()
    asked = [each for each in browser.requests() if not each.startswith("chrome://")]  # the browser's own empty page
    assert [each for each in asked if not each.startswith(("file://", "data:", "blob:", "about:"))] == []
