"""Puts together what there is to say of nodes, values and rules."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence

import onnx_ir as ir

from foldproof import model_file
from foldproof.dims import bind_dims
from foldproof.engines import Worker
from foldproof.explaining.binding import Bindings, Sizes
from foldproof.explaining.derivation import MAX_STEPS, Deriver
from foldproof.explaining.explanation import (
    Explanation,
    Explanations,
    Outcome,
    RuleExplanation,
    Suggestion,
    binding_arguments,
)
from foldproof.explaining.search import Search
from foldproof.explaining.sizes import Sizes as Examples
from foldproof.explaining.sizes import find_sizes
from foldproof.explaining.subjects import Directory, Subject
from foldproof.explaining.trial import Trial, try_out
from foldproof.explaining.wording import content_text, fact_text, source_text
from foldproof.facts import Facts
from foldproof.graphs import operator_name
from foldproof.kernels import CROSS_CHECKED
from foldproof.optimization import overridable_names
from foldproof.options import Options
from foldproof.pipeline import Optimizer
from foldproof.provenance import Gone, Record
from foldproof.rewriting import Rule
from foldproof.rewriting.packs import chosen, installed
from foldproof.verification.limits import limits_of

MANY = 20
"""Where more nodes than these are explained, derivations are cut off early."""

FEW_STEPS = 30
"""After so many steps."""


def explain(
    path: str | os.PathLike[str],
    options: Options | None = None,
    *,
    nodes: Sequence[str] = (),
    operators: Sequence[str] = (),
) -> Explanations:
    """Explains nodes and values of a model. Nothing is written.

    Args:
        path: The model's file.
        options: How it would be optimized.
        nodes: Names of nodes or of values; in a model that was optimized with `--provenance`, of the original's too.
        operators: Names of operators: all their nodes. Where neither is given, `Size` and `Shape`.

    Raises:
        UsageError: Nothing has a name that is asked for, or an option makes no sense for this model.
        ModelError: The model can't be read, or is invalid.
        RuleError: A rule failed.
    """
    options = options or Options()
    explainer = _Explainer(path, options)
    subjects: dict[Subject, None] = {}
    gone: dict[Gone, None] = {}
    for name in nodes:
        found, went = explainer.directory.named(name, explainer.record)
        subjects.update(dict.fromkeys(found))
        gone.update(dict.fromkeys(went))
    for operator in operators or (() if nodes else sorted(CROSS_CHECKED)):
        subjects.update(dict.fromkeys(explainer.directory.of_operator(operator)))
    limit = MAX_STEPS if len(subjects) <= MANY else FEW_STEPS
    with Worker() as worker, worker.lent():
        explanations = tuple(explainer.explain(subject, limit) for subject in subjects)
    dims, given = explainer.bindings.dims, tuple(_given(options))
    return Explanations(str(path), dict(options.set_dim), dims, explanations, tuple(gone), given)


def _given(options: Options) -> Iterator[str]:
    """What of the options a command has to repeat for a suggestion to hold."""
    yield from binding_arguments(options.set_dim)
    if options.level != Options().level:
        yield f"-O{options.level}"
    if options.exact:
        yield "--exact"
    for module in options.rules_from:
        yield from ("--rules-from", str(module))


def explain_rule(path: str | os.PathLike[str], rule: str, options: Options | None = None) -> RuleExplanation:
    """Explains where in a model a rule applies, and where it does not and why.

    Args:
        path: The model's file.
        rule: The rule's name.
        options: How the model would be optimized.

    Raises:
        UsageError: There is no such rule.
        FoldproofError: See `explain`.
    """
    options = options or Options()
    asked = chosen(installed(options.rules_from), [rule], ())[0]
    rules = Optimizer(options).rules
    note = ""
    if all(each.name != rule for each in rules):
        note = _why_not_tried(asked, options)
    explainer = _Explainer(path, options)
    trial = explainer.trial((), inline=False)
    refused: dict[str, list[str]] = {}
    silent = 0
    for subject in explainer.directory.subjects:
        if subject.number in trial.reasons and rule in trial.reasons[subject.number]:
            refused.setdefault(str(trial.reasons[subject.number][rule]), []).append(str(subject.value.name))
        elif subject.number in trial.left and subject.number not in trial.entries:
            silent += _is_tried(asked, subject, explainer.facts)
    return RuleExplanation(
        str(path),
        rule,
        asked.equation,
        note,
        tuple(entry for entry in trial.ledger if entry.rule == rule),
        {reason: tuple(places) for reason, places in refused.items()},
        0 if note else silent,
    )


def _why_not_tried(rule: Rule, options: Options) -> str:
    if rule.on_request:
        option = "--inline-functions or " if rule.name == "inline_functions" else ""
        return f"it is applied only on request, with {option}--rules {rule.name}"
    return f"it is applied from -O{rule.level} on" if rule.level > options.level else "it is not exact"


class _Explainer:
    """Explains one model.

    Args:
        path: The model's file.
        options: How it would be optimized.

    Attributes:
        facts: What is known of the model as it is.
        directory: Its nodes and values.
        record: Its provenance, where it tells.
        bindings: Its dims.
    """

    def __init__(self, path: str | os.PathLike[str], options: Options) -> None:
        self._load = functools.partial(model_file.read, path)
        self._options = dataclasses.replace(options, verify=False)
        self._rules = Optimizer(self._options).rules
        model = self._load().model
        bind_dims(model, options.set_dim)
        self.facts = Facts(model, overridable_names(model, options))
        self.directory = Directory(model)
        self.record = Record.read(model)

        def find(wanted: Mapping[str, int]) -> Examples:
            return find_sizes(path, wanted, options.set_dim, limits_of(model, self.facts))

        self.bindings = Bindings(model, self.facts, find)
        self._search = Search(model, self.bindings)
        self._deriver = Deriver(self.facts)
        self._trials: dict[tuple[Sizes, bool], Trial] = {}

    def trial(self, sizes: Sizes, *, inline: bool) -> Trial:
        """What becomes of the model if dims are bound; asked twice, it is tried once."""
        if (sizes, inline) not in self._trials:
            options = dataclasses.replace(
                self._options,
                set_dim={**self._options.set_dim, **dict(sizes)},
                inline_functions=self._options.inline_functions or inline,
            )
            self._trials[sizes, inline] = try_out(
                self._load, options, Optimizer(options).rules if inline else self._rules
            )
        return self._trials[sizes, inline]

    def explain(self, subject: Subject, limit: int) -> Explanation:
        """All that there is to say of a node or a value, with so many steps of its derivation at most."""
        value, node = subject.value, subject.node
        contexts = [(call, facts) for call, facts in self._search.contexts(subject, self.facts) if call]
        facts, deriver = (contexts[0][1], Deriver(contexts[0][1])) if contexts else (self.facts, self._deriver)
        outputs = [value] if node is None else [output for output in node.outputs if output.name]
        told = Explanation(
            value=str(value.name),
            name="" if node is None else node.name or "",
            operator="" if node is None else operator_name(node),
            source=source_text(value, facts),
            graph=subject.graph,
            known={str(output.name): fact_text(facts.of(output)) for output in outputs},
            derivation=deriver.derive(value, limit),
            calls={call: fact_text(inner.of(value)) for call, inner in contexts},
        )
        return told if node is None else self._with_outcome(told, subject, node)

    def _with_outcome(self, told: Explanation, subject: Subject, node: ir.Node) -> Explanation:
        trial = self.trial((), inline=False)
        entry = trial.entries.get(subject.number)
        reasons = {rule: str(reason) for rule, reason in trial.reasons.get(subject.number, {}).items()}
        outcome = self._outcome(subject, node, trial)
        tried = sum(_is_tried(rule, subject, self.facts) for rule in self._rules)
        told = dataclasses.replace(
            told,
            outcome=outcome,
            entry=entry,
            reasons=reasons if outcome == "stays" else {},
            silent=max(tried - len(reasons), 0) if outcome == "stays" else 0,
            origin=None if self.record is None else self.record.nodes.get(node),
        )
        return told if outcome in ("folded", "removed") else self._with_suggestion(told, subject)

    def _outcome(self, subject: Subject, node: ir.Node, trial: Trial) -> Outcome:
        entry = trial.entries.get(subject.number)
        if entry is None and subject.number in trial.left:
            return "stays"
        if not any(output.uses() or output.is_graph_output() for output in node.outputs):
            return "removed"
        if self._search.cause(subject, self.bindings.bound(())) is None:
            return "folded"
        return "replaced" if entry is not None and entry.added else "removed"

    def _with_suggestion(self, told: Explanation, subject: Subject) -> Explanation:
        """Says what would make a node go, after it was tried."""
        sizes = self._search.to_fold(subject)
        if sizes is None:
            cause = self._search.cause_at_best(subject)
            return dataclasses.replace(
                told, why_not=None if cause is None else cause.text, static_shape=self._static_shape(subject)
            )
        inline = bool(told.calls) and not self._options.inline_functions
        if not sizes and not inline:
            why = f"it is constant, but {next(iter(told.reasons.values()), 'no rule folds it')}"
            return dataclasses.replace(told, why_not=why)
        trial = self.trial(sizes, inline=inline)
        if told.operator in trial.left.get(subject.number, ()):
            why = next((str(each) for each in trial.reasons.get(subject.number, {}).values()), "no rule folds it")
            bound = ", ".join(name for name, _ in sizes)
            return dataclasses.replace(told, why_not=f"with {bound} bound it is constant, but {why}" if bound else why)
        contexts = self._search.contexts(subject, self.bindings.bound(sizes).facts)
        values = dict.fromkeys(content_text(facts.of(subject.value)) or "a constant" for _, facts in contexts)
        return dataclasses.replace(told, suggestion=self._suggestion(sizes, inline, values))

    def _suggestion(self, sizes: Sizes, inline: bool, values: Iterable[str]) -> Suggestion:
        runs = bool(sizes) and self.bindings.examples.are_admitted
        return Suggestion(dict(sizes), inline, ", ".join(values), runs)

    def _static_shape(self, subject: Subject) -> dict[str, int] | None:
        sizes = self._search.to_know_shape(subject)
        return dict(sizes) if sizes else None


def _is_tried(rule: Rule, subject: Subject, facts: Facts) -> bool:
    node = subject.node
    return (
        node is not None
        and not rule.of_initializers
        and rule.is_for(node.domain, node.op_type, facts.opset_version(node))
    )
