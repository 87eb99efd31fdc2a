from __future__ import annotations

import dataclasses
import io
import json

from rich.console import Console

import foldproof
from foldproof.facts.claims import Contradiction
from foldproof.measuring import Measured, Timings
from foldproof.reporting import terminal
from foldproof.reporting.report import Fate, Report
from tests.helpers import parse


def report_of(body: str, **options: object) -> Report:
    return foldproof.Optimizer(foldproof.Options(**options)).run(parse(body)).report


def shown(report: Report, **options: bool) -> str:
    stream = io.StringIO()
    terminal.show(report, console=Console(file=stream, width=200, highlight=False), **options)
    return stream.getvalue()


def test_the_report_is_json() -> None:
    report = report_of("g (float[2,3] x, float[N] y) => (int64 s, int64 t) { s = Size(x) t = Size(y) }")
    content = json.loads(json.dumps(report.to_dict()))
    assert content["format"] == 1
    assert content["foldproof"] == foldproof.__version__
    assert set(content["seconds"]) >= {"load", "optimize", "verify"}
    assert content["fates"][0] == {
        "node": "s",
        "operator": "Size",
        "graph": "g",
        "outcome": "folded",
        "why": "x has the shape [2, 3] by input contract",
        "value": 6,
        "values": [],
    }


def test_each_size_has_its_fate() -> None:
    report = report_of(
        """g (float[2,3] x, float[N] y, bool c) => (int64 s, int64 t, int64 u) {
            s = Size(x) t = Size(y) dead = Size(y)
            u = If (c) <then_branch = a () => (int64 p) { p = Size(x) }, else_branch = b () => (int64 q) { q = Size(y) }>
        }""",
        skip_rules=["same_computation", "same_elements"],
    )
    fates = {fate.node: fate for fate in report.fates}
    assert {name: fate.outcome for name, fate in fates.items()} == {
        "s": "folded",
        "t": "evaluated",
        "dead": "removed",
        "p": "folded",
        "q": "evaluated",
    }
    assert fates["q"].graph == "g/b"
    assert fates["dead"].why == "nothing reads it"


def test_a_size_that_a_rule_puts_in_is_evaluated_too() -> None:
    report = report_of("g (float[N] x) => (int64 s) { a = Relu(x) b = Size(a) s = Identity(b) }")
    assert [(fate.node, fate.outcome) for fate in report.fates] == [("b", "replaced"), ("s", "evaluated")]
    assert all(value == binding["N"] for binding, value in report.fates[1].values)
    assert len(report.fates[1].values) >= 2


def screen(report: Report, **options: bool) -> list[str]:
    """The lines of a summary in a terminal of 80 columns."""
    stream = io.StringIO()
    terminal.show(report, console=Console(file=stream, width=80, highlight=False), **options)
    return stream.getvalue().splitlines()


def test_the_summary_fits_a_screen() -> None:
    nodes = " ".join(
        f"v{k + 1} = {op}(v{k})" for k, op in enumerate(["Relu", "Exp", "Log", "Abs", "Neg", "Sin", "Cos"] * 3)
    )
    sizes = " ".join(f"s{k} = Size(v{k})" for k in range(20))
    outputs = ", ".join(f"int64 s{k}" for k in range(20))
    report = report_of(f"g (float[N] v0) => (float[N] v21, {outputs}) {{ {nodes} {sizes} }}", rules=[])
    assert len(screen(report)) <= 22
    assert "  17 more; -v shows all" in screen(report)
    everything = screen(report, verbose=True)
    assert len(everything) > 24
    assert not any("more" in line for line in everything)
    assert {line.split()[0] for line in everything if line} >= {f"s{k}" for k in range(20)}


def test_a_summary_with_much_to_warn_of_fits_a_screen_too() -> None:
    report = report_of("g (float[N] x) => (int64 s) { s = Size(x) }")
    claims = tuple(Contradiction(f"v{k}", "FLOAT[2, 3]", "FLOAT[N, 3]") for k in range(30))
    report = dataclasses.replace(report, warnings=tuple(f"warning {k}" for k in range(30)), contradictions=claims)
    lines = screen(report)
    assert len(lines) <= 22
    assert "28 more wrong declarations; -v shows all" in lines
    assert "28 more warnings; -v shows all" in lines
    assert sum("warning: " in line for line in screen(report, verbose=True)) == 30


def test_text_of_the_model_is_harmless_in_a_terminal() -> None:
    assert terminal.safe("a\x1b[31mb\n[bold]c") == "a\\x1b[31mb\\n\\[bold]c"
    fate = Fate("[red]s", "Size", "g", "left", "its element count is [N]")
    report = Report("not asked", None, None, {}, {}, None, None, (fate,), (), None, {})
    assert "[red]s" in shown(report)
    assert "[N]" in shown(report)


def test_what_was_not_asked_for_is_said() -> None:
    assert "verification: not asked for" in shown(
        report_of("g (float[2] x) => (int64 s) { s = Size(x) }", verify=False)
    )


def test_the_summary_tells_what_was_measured() -> None:
    report = report_of("g (float[N] x) => (float[N] y) { a = Identity(x) y = Relu(a) }")
    assert "measured" not in shown(report)
    times = Timings((0.08,) * 6, (0.002,) * 10), Timings((0.02,) * 6, (0.0019,) * 6 + (0.0021,) * 4)
    text = shown(dataclasses.replace(report, measured=Measured(*times, {"N": 3})))
    assert "measured: load 80 ms -> 20 ms (-75 %); latency 2 ms -> 1.9 ms (no clear difference); at N=3\n" in text
