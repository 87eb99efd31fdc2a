"""The skeleton of a page: style, scripts and data in one file, under a policy that lets nothing else load or run."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

from foldproof.reporting.visible import visible, visible_data

if TYPE_CHECKING:
    import jinja2

_PACKAGE = "foldproof.reporting.html"

# What could end a script element or start a comment in one, and two line ends that JavaScript had and JSON has not.
_UNSAFE = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def page(
    template: str,
    *,
    title: str,
    data: Mapping[str, Any],
    scripts: Sequence[str],
    context: Mapping[str, Any] | None = None,
) -> str:
    """A page.

    Args:
        template: The name of its template, which extends `page.html.j2`.
        title: Its title.
        data: What its scripts read, as JSON: by `JSON.parse` of the element `data`. Nothing in it is taken for markup.
        scripts: The names of its scripts in `static`, in their order. `dagre` is the vendored layout of graphs.
        context: What the template shows by itself. All of it is escaped.

    Returns:
        HTML.
    """
    script = "\n".join(_script(name) for name in scripts)
    style = _text("static", "style.css")
    return (
        _environment()
        .get_template(template)
        .render(
            **(context or {}),
            title=title,
            style=style,
            script=script,
            policy=_policy(style, script),
            data=embedded(visible_data(data)),
        )
    )


def embedded(data: object) -> str:
    """Data as JSON that may stand in a script element, whatever its strings say."""
    return json.dumps(data, separators=(",", ":")).translate(_UNSAFE)


def _policy(style: str, script: str) -> str:
    """The content security policy: no request at all, and no script or style but the page's own."""
    rest = "base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; {rest}"


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _script(name: str) -> str:
    if name != "dagre":
        return _text("static", f"{name}.js")
    return f"/*!\n{_text('vendor', 'dagre.LICENSE.txt')}*/\n{_text('vendor', 'dagre.min.js')}"


@functools.cache
def _text(*path: str) -> str:
    return resources.files(_PACKAGE).joinpath(*path).read_text(encoding="utf-8")


@functools.cache
def _environment() -> jinja2.Environment:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader(_PACKAGE),
        autoescape=True,
        finalize=lambda value: visible(value) if type(value) is str else value,  # what is markup is ours
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
