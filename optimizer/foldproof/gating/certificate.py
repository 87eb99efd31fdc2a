"""Whether a model is what its certificate says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from foldproof.certificates import document
from foldproof.certificates.checker import check
from foldproof.certificates.digests import sha256_of
from foldproof.certificates.document import STATEMENT_TYPE, Certificate
from foldproof.configuration.place import Place, shown
from foldproof.errors import CertificateError, FoldproofError
from foldproof.gating.demands import Demands
from foldproof.gating.outcome import Outcome

# So far into a file the mark of a statement is looked for: a folder may have large files of other kinds.
_HEAD = 4096


def check_certificate(model: Path, demands: Demands, *, required: bool, feeds: Path | None = None) -> Outcome:
    """Checks the certificate of a model: the one that is configured, or one beside the model that is about it.

    Args:
        model: The model's file.
        demands: Which certificate that is, and where the original lies.
        required: Whether there has to be one.
        feeds: The person's own inputs.

    Raises:
        FoldproofError: See `foldproof.certificates.checker.check`.
    """
    try:
        found = _certificate_of(model, demands)
    except CertificateError as error:
        assert demands.certificate is not None, "others are passed over"
        path, place = demands.certificate
        return Outcome("certificate", "failed", f"its certificate {shown(path)}: {error}".rstrip("."), place)
    how = f"Run `foldproof optimize` again, with --certificate {shown(model.with_suffix('.json'))}"
    if found is None:
        message = "it has no certificate"
        return Outcome("certificate", "failed" if required else "passed", message, Place(model), hint=how)
    path, made = found
    place = Place(path)
    for problem in _changes(model, made):
        message = f"it changed without a valid certificate: {problem}"
        return Outcome("certificate", "failed", message, place, hint=how)
    original = demands.original or _original_of(model, path, made)
    if original is None:
        message = (
            f"it is the model of {shown(path)}, which can't be checked without the original {made.input[0].name!r}"
        )
        hint = "Say in a section for the model where that is: original = ..."
        return Outcome("certificate", "failed" if required else "passed", message, place, hint=hint)
    checked = check(path, original, model, feeds=feeds if made.feed_files else None)
    if checked.problems:
        more = f" (and {len(checked.problems) - 1} more)" if len(checked.problems) > 1 else ""
        message = f"its certificate {shown(path)} does not hold: {checked.problems[0]}{more}"
        return Outcome("certificate", "failed", message, place, hint=how)
    return Outcome("certificate", "passed", f"its certificate {shown(path)} holds: {checked.claims} claims", place)


def _certificate_of(model: Path, demands: Demands) -> tuple[Path, Certificate] | None:
    """The certificate of a model; of several beside it, the one with its digest.

    Raises:
        CertificateError: The one that is configured is none.
    """
    if demands.certificate is not None:
        path = demands.certificate[0]
        return path, document.read(path)
    found = None
    for path, made in _beside(model):
        if not list(_changes(model, made)):
            return path, made
        found = found or (path, made)
    return found


def _beside(model: Path) -> Iterator[tuple[Path, Certificate]]:
    """The certificates in a model's folder that are about a model of its name."""
    for path in sorted(each for each in model.absolute().parent.glob("*.json") if each.is_file()):
        try:
            with path.open("rb") as file:
                if STATEMENT_TYPE.encode() not in file.read(_HEAD):
                    continue
            made = document.read(path)
        except (OSError, FoldproofError):
            continue  # that of another tool
        if made.subject[0].name == model.name:
            yield path, made


def _changes(model: Path, made: Certificate) -> Iterator[str]:
    """In what a model is not the one that a certificate is about."""
    for number, each in enumerate(made.subject):
        path = model.parent / each.name if number else model
        if not path.is_file():
            yield f"{shown(path)} is not there"
        elif sha256_of(path) != each.sha256:
            yield f"{shown(path)} does not have the digest that was certified"


def _original_of(model: Path, certificate: Path, made: Certificate) -> Path | None:
    """The model that was optimized, if one of its name lies beside the certificate or the result."""
    for folder in (certificate.absolute().parent, model.absolute().parent):
        path = folder / made.input[0].name
        if path.is_file() and not path.samefile(model):
            return path
    return None
