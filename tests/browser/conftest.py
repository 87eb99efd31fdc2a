"""A real browser without a window, that may ask nobody anything. Where there is none, these tests say so and are left out."""

from __future__ import annotations

import base64
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


class Browser:
    """A page at a time, with what a person would see and do there."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def look(self, *, width: int = 1440, height: int = 900, dark: bool = False) -> None:
        """The screen, and what the person prefers."""
        mobile = width < 600
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

    def open(self, path: Path) -> float:
        """Opens a file, and tells after how many seconds the page was ready to use."""
        self.driver.get_log("performance")
        start = time.perf_counter()
        self.driver.get(path.as_uri())
        assert self.run("return document.documentElement.dataset.ready") == "yes", self.complaints()
        taken = time.perf_counter() - start
        self.driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")
        return taken

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def texts(self, selector: str) -> list[str]:
        return self.run("return [...document.querySelectorAll(arguments[0])].map((each) => each.textContent)", selector)

    def click(self, selector: str, place: int = 0) -> None:
        self.run("document.querySelectorAll(arguments[0])[arguments[1]].click()", selector, place)

    def type(self, selector: str, text: str) -> None:
        field = self.driver.find_element("css selector", selector)
        field.clear()
        field.send_keys(text)

    def requests(self) -> list[str]:
        """All that was asked for since the page was opened."""
        events = [json.loads(each["message"])["message"] for each in self.driver.get_log("performance")]
        sent = (each["params"]["request"]["url"] for each in events if each["method"] == "Network.requestWillBeSent")
        return list(sent)

    def complaints(self) -> list[str]:
        """What the browser says of the page in its log: errors, and what the policy refused."""
        return [each["message"] for each in self.driver.get_log("browser")]

    def screenshot(self, path: Path) -> None:
        found = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"format": "png"})
        path.write_bytes(base64.b64decode(found["data"]))

    def accessibility(self) -> list[str]:
        """What axe finds wrong, as lines."""
        self.run(resources.files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
        found = self.driver.execute_async_script(
            "axe.run(document, {resultTypes: ['violations']}).then(arguments[arguments.length - 1])"
        )
        return [f"{each['id']}: {node['html'][:120]}" for each in found["violations"] for node in each["nodes"]]


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    chromedriver = shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        pytest.skip("there is no browser here: install chromium and its chromedriver")
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed: install foldproof[dev]")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('browser')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=chromedriver))
    try:
        yield Browser(driver)
    finally:
        driver.quit()


@pytest.fixture
def shot(tmp_path: Path) -> Callable[[str], Path]:
    """Where a screenshot goes: to the folder that FOLDPROOF_SCREENSHOTS names, for a person to look at."""
    folder = Path(os.environ.get("FOLDPROOF_SCREENSHOTS", tmp_path))
    folder.mkdir(parents=True, exist_ok=True)
    return lambda name: folder / f"{name}.png"
