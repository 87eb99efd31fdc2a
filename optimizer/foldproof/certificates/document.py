"""The form of a certificate: an in-toto statement, read from a file and looked over before anything else is done.

`docs/certificate.schema.json` says the same for other programs.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from onnx import TensorProto

from foldproof.certificates.claim import Claim, Known, Number, Stored, digest
from foldproof.certificates.digests import FileDigest
from foldproof.certificates.expressions import ExpressionError, symbols_of
from foldproof.errors import CertificateError

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
"""The statement layout of in-toto, which supply-chain tools carry and sign."""

PREDICATE_TYPE = "urn:foldproof:optimization:1"
"""The version of the form. It grows when a field changes its meaning or goes."""

KINDS = ("claim", "unread", "tolerant", "not restated")

_T = TypeVar("_T")


@dataclasses.dataclass(frozen=True)
class LedgerEntry:
    """A rewrite, as a certificate has it.

    Attributes:
        number: Its number.
        rule: The rule.
        exact: The rule's class.
        place: Where it happened.
        kind: One of `KINDS`.
        claim: The number of its claim, from 0.
        reason: Why it has none.
    """

    number: int
    rule: str
    exact: bool
    place: str
    kind: str
    claim: int | None
    reason: str


@dataclasses.dataclass(frozen=True)
class Certificate:
    """A certificate, read.

    Attributes:
        subject: The files that were written, the model first.
        input: The files that were read, the model first.
        packages: Versions of packages.
        sizes: The sizes that the person asked for, by the name of the dim: to bind it to, or to verify at.
        ledger: The rewrites.
        claims: The claims.
        exact: Whether the two models were compared bit for bit.
        seed: The seed of the inputs.
        feed_files: The person's own inputs.
        verdict: How verification ended.
        runs: The bindings at which both models ran, with where the inputs came from.
    """

    subject: tuple[FileDigest, ...]
    input: tuple[FileDigest, ...]
    packages: Mapping[str, str]
    sizes: Mapping[str, Sequence[int]]
    ledger: tuple[LedgerEntry, ...]
    claims: tuple[Claim, ...]
    exact: bool
    seed: int
    feed_files: tuple[FileDigest, ...]
    verdict: str
    runs: tuple[tuple[dict[str, int], str], ...]

    @property
    def bindings(self) -> list[dict[str, int]]:
        """The bindings at which both models ran, each once."""
        found: list[dict[str, int]] = []
        for binding, _ in self.runs:
            if binding not in found:
                found.append(binding)
        return found


def self_digest(document: Mapping[str, Any]) -> str:
    """The digest of a whole statement, but for the field `predicate.digest` that holds it.

    It tells that a byte was changed by accident. Against intent the statement has to be signed.
    """
    predicate = {name: value for name, value in document["predicate"].items() if name != "digest"}
    content = json.dumps({**document, "predicate": predicate}, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return digest(content.encode())


def read(path: Path) -> Certificate:
    """Reads a certificate.

    Raises:
        CertificateError: The file can't be read, or it is no certificate of this version.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CertificateError(f"{path} can't be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise CertificateError(f"{path} is no JSON: {error}") from error
    return parse(document)


def parse(document: Any) -> Certificate:
    """Looks a certificate over.

    Raises:
        CertificateError: It is no certificate of this version, or it was changed.
    """
    whole = _Reader(document, "the certificate")
    for name, expected in (("_type", STATEMENT_TYPE), ("predicateType", PREDICATE_TYPE)):
        found = whole.text(name)
        if found != expected:
            raise CertificateError(
                f"{name} is {found!r}, not {expected!r}", hint="Check it with the Foldproof that made it"
            )
    predicate = whole.inner("predicate")
    recorded = predicate.inner("digest").text("sha256")
    try:
        computed = self_digest(document)
    except ValueError as error:
        raise CertificateError(f"the certificate holds what JSON has not: {error}") from error
    if recorded != computed:
        raise CertificateError("the certificate was changed: it does not have the digest that it states")
    verification = predicate.inner("verification")
    feeds = verification.inner("feeds")
    claims = tuple(map(_claim, predicate.inners("claims")))
    return Certificate(
        subject=tuple(map(_file, whole.inners("subject", 1))),
        input=tuple(map(_file, predicate.inners("input", 1))),
        packages=predicate.inner("packages").mapping(str),
        sizes=_sizes(predicate.inner("options")),
        ledger=tuple(_entry(each, number, len(claims)) for number, each in enumerate(predicate.inners("ledger"), 1)),
        claims=claims,
        exact=verification.get("exact", bool),
        seed=feeds.get("seed", int),
        feed_files=tuple(map(_file, feeds.inners("files"))),
        verdict=predicate.text("verdict"),
        runs=tuple((each.inner("binding").mapping(int), each.text("feeds")) for each in verification.inners("runs")),
    )


def claim_to_dict(claim: Claim) -> dict[str, Any]:
    """A claim for JSON. Models are in base64."""
    return {
        "before": base64.b64encode(claim.before).decode(),
        "after": base64.b64encode(claim.after).decode(),
        "boundary": [dataclasses.asdict(each) for each in claim.boundary],
        "stored": [dataclasses.asdict(each) for each in claim.stored],
    }


class _Reader:
    """A JSON object, of which each field is looked at before it is used.

    Args:
        content: What should be an object.
        place: What to call it in an error.
    """

    def __init__(self, content: Any, place: str) -> None:
        if not isinstance(content, dict):
            raise CertificateError(f"{place} is no object")
        self._content = content
        self._place = place

    def get(self, name: str, kind: type[_T]) -> _T:
        value: Any = self._content.get(name)
        if not _is(value, kind):
            raise self.error(name, f"should be of type {kind.__name__}")
        found: _T = value
        return found

    def error(self, name: str, problem: str) -> CertificateError:
        return CertificateError(f"{name!r} of {self._place} {problem}", hint="The certificate is damaged")

    def text(self, name: str) -> str:
        return self.get(name, str)

    def optional(self, name: str, kind: type[_T]) -> _T | None:
        return None if self._content.get(name) is None else self.get(name, kind)

    def inner(self, name: str) -> _Reader:
        return _Reader(self.get(name, dict), f"{name!r} of {self._place}")

    def inners(self, name: str, least: int = 0) -> list[_Reader]:
        given = self.get(name, list)
        if len(given) < least:
            raise self.error(name, "is empty")
        return [_Reader(each, f"{name}[{number}]") for number, each in enumerate(given)]

    def mapping(self, kind: type[_T]) -> dict[str, _T]:
        return {name: self.get(name, kind) for name in self._content}

    def tuple_of(self, name: str, is_valid: Callable[[Any], bool]) -> tuple[Any, ...] | None:
        given = self._content.get(name)
        if given is None:
            return None
        if not isinstance(given, list) or not all(map(is_valid, given)):
            raise self.error(name, "is no list of the right kind")
        return tuple(given)

    def number(self, name: str) -> Number:
        given: Number = self._content.get(name)
        if not _is_number(given):
            raise self.error(name, "is neither a number nor an expression")
        return given

    def base64(self, name: str) -> bytes:
        try:
            return base64.b64decode(self.text(name), validate=True)
        except (binascii.Error, ValueError) as error:
            raise self.error(name, "is no base64") from error


def _is(value: Any, kind: type) -> bool:
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _is_dim(value: Any) -> bool:
    return (_is(value, int) and 0 <= value < 1 << 63) or _is_expression(value)


def _is_number(value: Any) -> bool:
    return value is None or _is(value, int) or _is(value, float) or _is_expression(value)


def _is_expression(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        symbols_of(value)
    except ExpressionError:
        return False
    return True


def _file(given: _Reader) -> FileDigest:
    return FileDigest(given.text("name"), given.inner("digest").text("sha256"))


def _sizes(options: _Reader) -> dict[str, Sequence[int]]:
    asked = options.inner("bind")
    found: dict[str, Sequence[int]] = {}
    for name in asked.mapping(list):
        found[name] = asked.tuple_of(name, lambda each: _is(each, int) and each >= 0) or ()
    return {**found, **{name: (size,) for name, size in options.inner("set_dim").mapping(int).items()}}


def _element_type(given: _Reader) -> int:
    code = given.get("element_type", int)
    if code not in TensorProto.DataType.values() or code == TensorProto.UNDEFINED:
        raise given.error("element_type", "is no type of a tensor")
    return code


def _entry(given: _Reader, number: int, claims: int) -> LedgerEntry:
    kind, claim, exact = given.text("kind"), given.optional("claim", int), given.get("exact", bool)
    if given.get("number", int) != number:
        raise given.error("number", f"should be {number}")
    if kind not in KINDS or (kind == "tolerant") == exact:
        raise given.error("kind", "is none, or not that of the rule's class")
    if (kind == "claim") != (claim is not None) or (claim is not None and not 0 <= claim < claims):
        raise given.error("claim", "is the number of no claim")
    return LedgerEntry(
        number, given.text("rule"), exact, given.text("place"), kind, claim, given.optional("reason", str) or ""
    )


def _claim(given: _Reader) -> Claim:
    return Claim(
        given.base64("before"),
        given.base64("after"),
        tuple(map(_known, given.inners("boundary"))),
        tuple(map(_stored, given.inners("stored"))),
    )


def _known(given: _Reader) -> Known:
    return Known(
        name=given.text("name"),
        element_type=_element_type(given),
        dims=given.tuple_of("dims", _is_dim),
        elements=given.tuple_of("elements", _is_number),
        fill=given.number("fill"),
        low=given.optional("low", int),
        high=given.optional("high", int),
        sequence=given.get("sequence", bool),
        length=given.optional("length", int),
    )


def _stored(given: _Reader) -> Stored:
    file, dims = given.text("file"), given.tuple_of("dims", lambda each: _is(each, int) and each >= 0)
    if file not in ("input", "output") or dims is None:
        raise given.error("file", "is neither input nor output, or there are no dims")
    return Stored(
        name=given.text("name"),
        file="input" if file == "input" else "output",
        source=given.text("source"),
        element_type=_element_type(given),
        dims=dims,
        sha256=given.text("sha256"),
    )
