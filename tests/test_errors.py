"""What the errors say."""

from __future__ import annotations

import pytest

from foldproof.errors import FoldproofError, in_brief


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (FoldproofError("it is bad"), "it is bad"),
        (FoldproofError("it is bad", hint="Export it again"), "it is bad. Export it again."),
        (FoldproofError("it said: Bad.", hint="Export it again"), "it said: Bad. Export it again."),
        (FoldproofError("it is bad", node="a", operator="Size"), "node 'a' (Size): it is bad"),
        (FoldproofError("it is bad", operator="Size", hint="Mend it"), "(Size): it is bad. Mend it."),
    ],
)
def test_an_error_says_where_and_what_to_do(error, text):
    assert str(error) == text


def test_other_peoples_words_stand_on_one_line():
    assert in_brief("a\n  b", 10) == "a b"
    assert in_brief("a" * 20, 10) == "aaaaaa ..."
