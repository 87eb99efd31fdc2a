"""The form of JUnit, which all services of continuous integration read: a test for each check of each model."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence

from foldproof.configuration.place import shown
from foldproof.gating.outcome import Gated, Outcome
from foldproof.reporting.visible import visible


def junit(models: Sequence[Gated]) -> str:
    """The document."""
    outcomes = [each for gated in models for each in gated.outcomes]
    counts = {
        "tests": str(len(outcomes)),
        "failures": str(sum(each.status == "failed" for each in outcomes)),
        "errors": str(sum(each.status == "error" for each in outcomes)),
        "time": f"{sum(gated.seconds for gated in models):.3f}",
    }
    root = ET.Element("testsuites", {"name": "foldproof gate", **counts})
    suite = ET.SubElement(root, "testsuite", {"name": "foldproof gate", **counts})
    for gated in models:
        for outcome in gated.outcomes:
            case = ET.SubElement(
                suite,
                "testcase",
                {
                    "classname": visible(shown(gated.model)),
                    "name": outcome.check,
                    "file": visible(shown(outcome.place.path)),
                    **({} if outcome.place.line is None else {"line": str(outcome.place.line)}),
                },
            )
            _add(case, outcome)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=False) + "\n"


def _add(case: ET.Element, outcome: Outcome) -> None:
    if outcome.status == "passed":
        ET.SubElement(case, "system-out").text = visible(outcome.message)
        return
    tag = "failure" if outcome.status == "failed" else "error"
    found = ET.SubElement(case, tag, {"type": outcome.check, "message": visible(outcome.message)})
    lines = [outcome.text, f"at {outcome.place}", *(f"node {name}" for name in outcome.nodes)]
    found.text = "\n".join(map(visible, lines))
