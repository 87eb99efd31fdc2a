"""Takes back what verification found guilty: the first rewrite with which the model differs from the original."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from foldproof.attempts import Attempts
from foldproof.bisection import first_bad
from foldproof.errors import VerificationError
from foldproof.optimization import Plan
from foldproof.reporting.report import Report, TakenBack
from foldproof.rewriting import Entry, Rule
from foldproof.run import Run

if TYPE_CHECKING:
    from foldproof.verification import Verification

MAX_TAKEN_BACK = 12
"""So many rewrites are taken back before the original is kept as it is."""

MAX_ROUNDINGS = 2
"""So many tolerant rewrites are taken back for a float that differs. Then no single one is at fault: tolerant rules
are left out."""


class Rollback:
    """Optimizes a model until it is verified.

    Args:
        attempts: Optimizes by plans, and verifies.
        found: Is told of each guilty rewrite, with the plan that it spoiled.
    """

    def __init__(self, attempts: Attempts, found: Callable[[Plan, TakenBack], None] | None = None) -> None:
        self._attempts = attempts
        self._found = found

    def run(self, plan: Plan) -> Run:
        """Optimizes by a plan, or by what is left of it when the guilty rewrites are taken back.

        Raises:
            VerificationError: The models differ, and no rewrite is the reason.
        """
        found: list[TakenBack] = []
        while True:
            try:
                run = self._attempts.attempt(plan)
            except VerificationError as error:
                guilty = self.find(plan, error)
                if guilty is None:
                    raise
                found.append(guilty)
                plan = Plan(()) if len(found) > MAX_TAKEN_BACK else _without(plan, found)
            else:
                run.taken_back = tuple(found)
                run.warnings.extend(_consequences(plan, found))
                return run

    def find(self, plan: Plan, error: VerificationError) -> TakenBack | None:
        """The first guilty rewrite of a plan that failed, by bisection over prefixes of its ledger.

        A prefix is run on the one feed only at which the difference showed.

        Returns:
            The rewrite; None where the model differs without any.
        """
        ledger = cast("Report", error.report).ledger
        verification = cast("Verification", error.verification)
        # Whether floats are compared bit for bit, the whole ledger decides: a prefix is held to the same.
        plan = dataclasses.replace(plan, exact=all(entry.exact for entry in ledger))
        found = {len(ledger): verification}

        def is_bad(length: int) -> bool:
            different = self._difference(plan, length, verification.differences[0].run)
            if different is not None:
                found[length] = different
            return different is not None

        bad = first_bad(len(ledger), is_bad)
        if not ledger or (bad == 1 and is_bad(0)):
            return None
        guilty = taken_back(ledger[bad - 1], found[bad])
        if self._found is not None:
            self._found(plan, guilty)
        return guilty

    def _difference(self, plan: Plan, length: int, number: int | None) -> Verification | None:
        """What verification says of a prefix of the ledger; None where it finds no difference."""
        runs = None if number is None else [number]
        try:
            run = self._attempts.probe(dataclasses.replace(plan, stop_after=length), runs)
        except VerificationError as error:
            return cast("Verification", error.verification)
        run.close()
        return None


def taken_back(entry: Entry, verification: Verification) -> TakenBack:
    """A rewrite with the first difference that it makes."""
    first = verification.differences[0]
    return TakenBack(entry.rule, entry.exact, entry.place, entry.graph, entry.number, first)


def _without(plan: Plan, found: Sequence[TakenBack]) -> Plan:
    """What is left of a plan: a rule that was guilty at two places is wrong, and so is a sum of many roundings."""
    last = found[-1]
    roundings = sum(not each.exact and isinstance(each.difference.original, float) for each in found)
    if roundings > MAX_ROUNDINGS:
        return dataclasses.replace(plan, rules=_exact(plan.rules))
    if sum(each.rule == last.rule for each in found) > 1:
        return dataclasses.replace(plan, rules=tuple(rule for rule in plan.rules if rule.name != last.rule))
    return dataclasses.replace(plan, taken_back=plan.taken_back | {(last.rule, last.place)})


def _exact(rules: Sequence[Rule]) -> tuple[Rule, ...]:
    return tuple(rule for rule in rules if rule.exact)


def _consequences(plan: Plan, found: Sequence[TakenBack]) -> list[str]:
    """What the person should know of a run from which something was taken back."""
    texts = [str(each) for each in found]
    twice = sorted({each.rule for each in found if sum(other.rule == each.rule for other in found) > 1})
    if len(found) > MAX_TAKEN_BACK:
        return [*texts, f"more than {MAX_TAKEN_BACK} rewrites were found guilty: the original is kept"]
    kept = {rule.name for rule in plan.rules}
    texts += [
        f"all rewrites of the rule {name!r} were taken back, as two were guilty" for name in twice if name not in kept
    ]
    if all(rule.exact for rule in plan.rules) and any(not each.exact for each in found):
        texts.append("tolerant rules were left out, since with them floats differ by more than their own noise")
    return texts
