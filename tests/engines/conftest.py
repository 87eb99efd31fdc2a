"""Small models as text, as in the tests of verification."""

from tests.verification.conftest import parse

__all__ = ["parse"]
