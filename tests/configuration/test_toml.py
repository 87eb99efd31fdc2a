from __future__ import annotations

import textwrap

import pytest

from foldproof.configuration import toml

DOCUMENT = textwrap.dedent(
    '''\
    # a comment
    a = 1
    list = [
      "[not.a.table]",   # x = 1
    ]
    text = """
    b = 2
    [c]
    """
    d.e = {f = 1, g = 2}

    [ table . "in.ner" ]
    x = 1
    [[array]]
    y = 1
    [[array]]

    y = 2
    [array.of]
    z = 3
    [[array.deep]]
    w = 4
    [after]
    v = 5
    '''
)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_each_key_has_its_line(end: str) -> None:
    expected = {
        ("a",): 2,
        ("list",): 3,
        ("text",): 6,
        ("d", "e", "f"): 10,
        ("d", "e", "g"): 10,
        ("table", "in.ner"): 12,
        ("table", "in.ner", "x"): 13,
        ("array", 0): 14,
        ("array", 0, "y"): 15,
        ("array", 1): 16,
        ("array", 1, "y"): 18,
        ("array", 1, "of", "z"): 20,
        ("array", 1, "deep", 0, "w"): 22,
        ("after", "v"): 24,
    }
    lines = toml.lines_of(DOCUMENT.replace("\n", end))
    assert {path: lines.get(path) for path in expected} == expected
    assert ("b",) not in lines
    assert ("c",) not in lines


def test_no_path_is_made_up() -> None:
    content = toml.loads(DOCUMENT)
    for path in toml.lines_of(DOCUMENT):
        inner = content
        for key in path:
            inner = inner[key]
