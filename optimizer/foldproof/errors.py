"""All errors and warnings that Foldproof raises on purpose.

Each says what happened, where (node and operator, if there is one) and what the person can do about it. The command
turns an error into its `exit_status`; a library user catches `FoldproofError`.
"""

from __future__ import annotations


def in_brief(text: object, most: int) -> str:
    """What somebody else's error says, on one line of so many characters at most."""
    words = " ".join(str(text).split())
    return words if len(words) <= most else f"{words[: most - 4]} ..."


class FoldproofError(Exception):
    """The root of all errors of this package.

    Args:
        reason: What is wrong, as a sentence without its full stop.
        node: The name of the node at which it happened, or its first output where it has no name.
        operator: The operator of that node, such as `Size` or `com.microsoft::Gelu`.
        hint: What the person can do, as a sentence without its full stop.
    """

    exit_status = 5

    def __init__(
        self, reason: str, *, node: str | None = None, operator: str | None = None, hint: str | None = None
    ) -> None:
        self.reason = reason
        self.node = node
        self.operator = operator
        self.hint = hint
        super().__init__(reason)

    def __str__(self) -> str:
        where = " ".join(
            part
            for part in (f"node {self.node!r}" if self.node else "", f"({self.operator})" if self.operator else "")
            if part
        )
        text = f"{where}: {self.reason}" if where else self.reason
        # Somebody else's words in the reason may have their own full stop.
        return f"{text.removesuffix('.')}. {self.hint}." if self.hint else text


class UsageError(FoldproofError):
    """An option, a path or an argument that makes no sense, or an output that may not be written."""

    exit_status = 2


class WriteError(UsageError):
    """An output that the system can't write, such as for want of room on the disk."""


class ModelError(FoldproofError):
    """A model that can't be read, or that is invalid."""

    exit_status = 3


class CertificateError(FoldproofError):
    """A certificate that can't be read, or that is none."""

    exit_status = 3


class VerificationError(FoldproofError):
    """The optimized model differs from the original. Nothing was written.

    Attributes:
        verification: The `foldproof.Verification` with the differences.
        report: The `foldproof.Report` of the run.
    """

    exit_status = 1

    def __init__(
        self, reason: str, *, verification: object = None, report: object = None, hint: str | None = None
    ) -> None:
        super().__init__(reason, hint=hint)
        self.verification = verification
        self.report = report


class UnverifiedError(FoldproofError):
    """Nothing here can run the model, so the result can't be verified. Nothing was written.

    Attributes:
        report: The `foldproof.Report` of the run, where there was one.
    """

    exit_status = 4

    def __init__(self, reason: str, *, report: object = None, hint: str | None = None) -> None:
        super().__init__(reason, hint=hint)
        self.report = report


class RuleError(FoldproofError):
    """A rule failed at a node: a fault of Foldproof or of a rule pack, not of the model."""


class UnverifiedWarning(UserWarning):
    """The model was optimized by exact rules alone, and nothing could run it to verify the result."""


class OriginalUsedWarning(UserWarning):
    """A session runs the original model, as there is no optimized one that is verified."""
